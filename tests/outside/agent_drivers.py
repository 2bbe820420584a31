"""Real coding agents (`scripts/install_agents.sh`), each in a home of its own, set up by `context-guard install`.

None sees the user's environment: no key, no settings, no proxy; telemetry and updates are off, where the agent can.
"""

import json
import os
import subprocess
import sysconfig
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from outside.pi_driver import REPO, NpmUnreachable
from outside.scripted_provider import Call

ROOTS = tuple(REPO / folder for folder in ("pipeline", "effects"))
UNREACHABLE = 3
INSTALL_SECONDS = 900
ANSWER_SECONDS = 90


class AgentFailed(Exception):
    """The agent left with an error, or did not answer in time; what it said."""


def install_agents() -> dict[str, str]:
    """Where each program is."""
    script = REPO / "scripts" / "install_agents.sh"
    done = subprocess.run(["bash", script], check=False, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    if done.returncode == UNREACHABLE:
        raise NpmUnreachable(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        raise AgentFailed(done.stderr)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def make_python(folder: Path) -> Path:
    """An interpreter in which this code is installed, so that it needs no variable: Codex gives its servers none."""
    venv.create(folder, symlinks=True)
    paths = [*map(str, ROOTS), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "this_code.pth").write_text("".join(f"{path}\n" for path in dict.fromkeys(paths)))
    return folder / "bin" / "python"


class Home(Struct, frozen=True):
    """One agent's own world: everything lies below the folder."""

    folder: Path
    python: Path
    """Which has the guard."""

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def store(self) -> Path:
        return self.folder / "store.db"

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join(["/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "CONTEXT_GUARD_STORE": str(self.store),
            **more,
        }

    def guard(self, *words: str) -> str:
        """The command line of the guard, for this home."""
        command = [str(self.python), "-m", "context_guard_effects.cli", *words]
        return run(command, self.environment(), self.folder)

    def write(self, name: str, text: str) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


class Agent(Struct, frozen=True):
    """How one agent is asked, and what its tools are called."""

    name: str
    """As `context-guard install` knows it."""
    prepare: Callable[[Home], None]
    """What a user of it has set up before."""
    command: Callable[[Mapping[str, str], str, bool], list[str]]
    """Programs, prompt, whether the last session goes on."""
    variables: dict[str, str]
    shell: Callable[[str], Call]
    recall: Callable[[str], Call]
    tools: tuple[str, ...]
    """Tools of the requests by which recall goes; empty where the agent hides them."""

    def ask(self, programs: Mapping[str, str], home: Home, prompt: str, goes_on: bool) -> str:
        environment = home.environment(**self.variables)
        return run(self.command(programs, prompt, goes_on), environment, home.work)


def run(command: list[str], environment: Mapping[str, str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AgentFailed(f"no answer: {command[0]}: {error.stdout!r} {error.stderr!r}") from error
    if done.returncode:
        raise AgentFailed(f"{command[0]} left with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return done.stdout


def _claude_command(programs: Mapping[str, str], prompt: str, goes_on: bool) -> list[str]:
    allowed = "Bash,mcp__context-guard__recall"
    go_on = ["--continue"] if goes_on else []
    return [programs["claude"], "-p", prompt, "--allowedTools", allowed, "--model", "claude-sonnet-5-5", *go_on]


def _codex_command(programs: Mapping[str, str], prompt: str, goes_on: bool) -> list[str]:
    # the scripted model calls at once, before Codex has the server's tools, unless it has to wait for them
    required = ["-c", "mcp_servers.context-guard.required=true"]
    options = ["--skip-git-repo-check", "-s", "danger-full-access", *required]
    return [programs["codex"], "exec", *options, *(["resume", "--last"] if goes_on else []), prompt]


def _opencode_command(programs: Mapping[str, str], prompt: str, goes_on: bool) -> list[str]:
    return [programs["opencode"], "run", *(["--continue"] if goes_on else ["--title", "a title"]), prompt]


def _nothing(_: Home) -> None:
    pass


def _codex_settings(home: Home) -> None:
    home.write(".codex/config.toml", '# mine\nmodel = "gpt-5.5-codex"\n\n[analytics]\nenabled = false\n')


def _opencode_settings(home: Home) -> None:
    schema = "https://opencode.ai/config.json"  # OpenCode adds it where it is missing
    mine = {
        "$schema": schema,
        "model": "anthropic/claude-sonnet-4-5",
        "small_model": "anthropic/claude-sonnet-4-5",
        "autoupdate": False,
    }
    home.write(".config/opencode/opencode.json", json.dumps(mine, indent=2))


AGENTS = (
    Agent(
        name="claude-code",
        prepare=_nothing,
        command=_claude_command,
        variables={
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        },
        shell=lambda command: Call("Bash", {"command": command, "description": "a log"}),
        recall=lambda id: Call("mcp__context-guard__recall", {"entryId": id}),
        tools=("mcp__context-guard__recall",),
    ),
    Agent(
        name="codex",
        prepare=_codex_settings,
        command=_codex_command,
        variables={"CODEX_API_KEY": "dummy", "OPENAI_API_KEY": "dummy"},
        shell=lambda command: Call("exec_command", {"cmd": command, "max_output_tokens": 50_000}),
        recall=lambda id: Call("recall", {"entryId": id}, namespace="mcp__context_guard"),
        tools=(),
    ),
    Agent(
        name="opencode",
        prepare=_opencode_settings,
        command=_opencode_command,
        variables={
            "ANTHROPIC_API_KEY": "dummy",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        shell=lambda command: Call("bash", {"command": command, "description": "a log"}),
        recall=lambda id: Call("context-guard_recall", {"entryId": id}),
        tools=("context-guard_recall",),
    ),
)
