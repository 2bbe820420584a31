"""Real Pi, installed by `scripts/install_pi.sh`, in a home of its own and with a scripted provider for its model.

    home = PiHome(folder, install_pi(), provider.url)
    with home.start(cwd) as pi:
        pi.prompt("Where is it?")
    home.session_files()

Pi sees none of the user's environment: no key, no settings, no proxy. When a `with` block is left, by an error too,
neither Pi nor anything that its tools started is alive.
"""

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from msgspec import Struct

from context_guard_effects.hosts.pi_install import extension_text
from outside.processes import kill_strays

REPO = Path(__file__).resolve().parents[2]
PROVIDER = "scripted"
MODEL = "scripted-model"

_NPM_UNREACHABLE = 3
_INSTALL_SECONDS = 600.0
_ANSWER_SECONDS = 60.0
_LEAVE_SECONDS = 10.0
_PRICES = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
"""US dollars for a million tokens; in the range of a middling model, so that a session's cost looks like one."""

Message = dict[str, Any]


class NpmUnreachable(Exception):
    """The one reason to do without Pi; its text says what was wrong."""


class PiFailed(Exception):
    """Pi said no, left, or did not answer in time."""


class Pi(Struct, frozen=True):
    """An installation."""

    node: Path
    cli: Path


def install_pi(version: str = "1.6.0") -> Pi:
    """Pi from the cache folder, fetched from npm when it is not there yet."""
    script = REPO / "scripts" / "install_pi.sh"
    command = ["bash", str(script), version]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    if done.returncode == _NPM_UNREACHABLE:
        raise NpmUnreachable(done.stderr.strip().splitlines()[-1])
    if done.returncode != 0:
        raise PiFailed(f"{script.name} failed:\n{done.stderr}")
    places = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return Pi(node=Path(places["node"]), cli=Path(places["pi"]))


class PiHome:
    """A folder that holds all that Pi reads and writes beside the project: settings, sessions, scratch files."""

    def __init__(self, folder: Path, pi: Pi, provider_url: str) -> None:
        self.folder = folder
        self.sessions = folder / "sessions"
        self.scratch = folder / "scratch"
        self._pi = pi
        self.agent = folder / "agent"
        self.variables: dict[str, str] = {}
        """Of the environment, beside those that every home has."""
        for part in (self.agent, self.sessions, self.scratch):
            part.mkdir(parents=True, exist_ok=True)
        _write_json(self.agent / "settings.json", _settings())
        _write_json(self.agent / "models.json", _models(provider_url))

    def session_files(self) -> list[Path]:
        return sorted(self.sessions.glob("*.jsonl"))

    def settle(self, **settings: Any) -> None:
        """Writes the guard's settings file."""
        _write_json(self.agent / "context-guard.json", settings)

    def redirect(self, provider: str, url: str) -> None:
        """Sends what Pi asks of a provider that it knows elsewhere."""
        models = json.loads((self.agent / "models.json").read_text("utf-8"))
        models["providers"][provider] = {"baseUrl": url}
        _write_json(self.agent / "models.json", models)

    def log_in(self, provider: str, key: str) -> None:
        """As `/login` does with a key."""
        _write_json(self.agent / "auth.json", {provider: {"type": "api_key", "key": key}})

    def install_guard(self) -> Path:
        """Puts the extension where `context-guard install pi` puts it."""
        place = self.agent / "extensions" / "context-guard.js"
        place.parent.mkdir(exist_ok=True)
        place.write_text(extension_text(), "utf-8")
        return place

    def guard(self, *words: str) -> str:
        """The guard's command line in this home; raises when it fails."""
        command = [sys.executable, "-m", "context_guard_effects.cli", *words]
        done = subprocess.run(
            command, check=False, env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise PiFailed(f"context-guard left with {done.returncode}: {done.stderr}")
        return done.stdout

    def start(self, cwd: Path, session: Path | None = None, *options: str) -> "PiProcess":
        """Pi in RPC mode, with a new session or a stored one."""
        place = ["--session", str(session)] if session else ["--session-dir", str(self.sessions)]
        command = self.command("--mode", "rpc", *(options or place))
        return PiProcess(command, cwd, self.environment(), self.folder / "stderr.txt")

    def ask_once(self, cwd: Path, prompt: str, session: Path | None, *mode: str) -> str:
        """Pi in print mode: its last answer to one prompt, in a stored session or a new one."""
        place = ["--session", str(session)] if session else ["--session-dir", str(self.sessions)]
        command = self.command(*place, *(mode or ("-p",)), prompt)
        environment = self.environment()
        try:
            done = subprocess.run(
                command,
                check=False,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_ANSWER_SECONDS,
            )
        finally:
            kill_strays(environment)
        if done.returncode != 0:
            raise PiFailed(f"Pi left with {done.returncode}: {done.stderr}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        """All that Pi and its tools see. The tools find the `python` of whoever runs this."""
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.folder),
            "TMPDIR": str(self.scratch),
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(str(REPO / sources) for sources in ("pipeline", "effects")),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            **self.variables,
        }

    def command(self, *options: str) -> list[str]:
        return [str(self._pi.node), str(self._pi.cli), "--model", f"{PROVIDER}/{MODEL}", *options]


class PiProcess:
    """Pi in RPC mode: JSON lines both ways, an `id` for each command, events in between."""

    def __init__(self, command: list[str], cwd: Path, environment: dict[str, str], stderr: Path) -> None:
        self.events: list[Message] = []
        self._environment = environment
        self._stderr = stderr
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._commands = 0
        with stderr.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def prompt(self, text: str, **fields: Any) -> None:
        """Sends a prompt and waits until Pi has settled; raises when the last turn ended in an error."""
        answer = self.command("prompt", message=text, **fields)
        if answer["disposition"] == "started":
            self.wait_for(lambda event: event.get("type") == "agent_settled")
        ended = [event["message"] for event in self.events if event.get("type") == "message_end"]
        if ended and ended[-1].get("stopReason") == "error":
            raise PiFailed(f"the run ended in an error: {ended[-1].get('errorMessage')}")

    def command(self, kind: str, **fields: Any) -> Message:
        """Sends a command and gives back the data of its response."""
        self._commands += 1
        number = f"command-{self._commands}"
        self._stdin.write(json.dumps({"id": number, "type": kind, **fields}).encode() + b"\n")
        self._stdin.flush()
        answer = self.wait_for(lambda event: event.get("type") == "response" and event.get("id") == number)
        if not answer["success"]:
            raise PiFailed(f"{kind}: {answer.get('error')}")
        data: Message = answer.get("data") or {}
        return data

    def guard(self, words: str = "") -> str:
        """What `/guard …` tells the user."""
        seen = len(self.events)
        self.command("prompt", message=f"/guard {words}")
        told = [event["message"] for event in self.events[seen:] if event.get("method") == "notify"]
        return "\n".join(told)

    def status(self) -> str:
        """The guard's text in the status bar, without its colours."""
        shown = [event for event in self.events if event.get("method") == "setStatus"]
        return re.sub(r"\x1b\[[0-9;]*m", "", shown[-1].get("statusText") or "") if shown else ""

    def entries(self) -> list[Message]:
        """All of the session, as Pi has it in memory."""
        entries: list[Message] = self.command("get_entries")["entries"]
        return entries

    def wait_for(self, wanted: Callable[[Message], bool], seconds: float = _ANSWER_SECONDS) -> Message:
        deadline = time.monotonic() + seconds
        while True:
            try:
                event = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise PiFailed(f"nothing came in {seconds:.0f} s{self._complaints()}") from None
            if event is None:
                raise PiFailed(f"Pi left{self._complaints()}")
            self.events.append(event)
            if wanted(event):
                return event

    def close(self) -> None:
        """Lets Pi leave by itself, as when its client goes; what is then still alive is killed."""
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            self._stdin.close()
            self._process.wait(_LEAVE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends Pi and all that its tools started, at once."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        kill_strays(self._environment)
        self._reader.join(_LEAVE_SECONDS)
        self._stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if error is None else self.kill()

    def _read(self) -> None:
        for line in self._stdout:
            self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def _complaints(self) -> str:
        said = self._stderr.read_text(encoding="utf-8", errors="replace").strip()
        return f"; it said: {said}" if said else ""


def _settings() -> Message:
    """Nothing in the background: every request that the provider sees answers a prompt."""
    return {
        "cacheWarming": "off",
        "quietStartup": True,
        "enableInstallTelemetry": False,
        "compaction": {"keepRecentTokens": 200},
        "defaultProvider": PROVIDER,
        "defaultModel": MODEL,
    }


def _models(provider_url: str) -> Message:
    model = {
        "id": MODEL,
        "name": "Scripted",
        "contextWindow": 200_000,
        "input": ["text", "image"],
        "maxTokens": 16_000,
        "cost": _PRICES,
    }
    provider = {"baseUrl": provider_url, "api": "anthropic-messages", "apiKey": "none", "models": [model]}
    return {"providers": {PROVIDER: provider}}


def _write_json(path: Path, value: Message) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
