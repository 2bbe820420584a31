"""What the guard adds to Pi: round trips through the real pipe to a real bridge, as the extension makes them.

    PYTHONPATH=pipeline:effects python benchmarks/pi_bridge.py [--turns 400] [--runs 40]

Two measurements, each over a session file that grows between the messages as Pi's does:
- a turn's end with nothing to do, behind a history of 10 MB (one with compactions, so that the context is as large as
  a window holds, about 1 MB of text);
- a run's end with five outputs of 20 KB that the embedded judge judges, 100 KB in all.
Prints median, 95th and 99th percentile in milliseconds, the mean CPU time of the bridge (which other work on the
machine does not change much), and how long the start took (Pi does not wait for it).
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.throughput import prose

Json = dict[str, Any]
HISTORY_BYTES = 10_000_000
CONTEXT_BYTES = 1_000_000
OUTPUT_CHARS = 20_000
OUTPUTS = 5
MODEL = {"provider": "anthropic", "id": "claude", "api": "anthropic-messages", "cost": {"input": 3.0, "cacheRead": 0.3}}


class Session:
    """A session file that is written as Pi writes it, an entry a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem
        self.leaf: str | None = None
        self.size = 0
        self._count = 0
        self._random = random.Random(5)
        self._file = path.open("w", encoding="utf-8")
        self._write({"type": "session", "version": 3, "id": "bench", "timestamp": "", "cwd": "/project"})

    def add(self, **entry: Any) -> str:
        self._count += 1
        name = f"{self._count:08x}"
        written = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write({**entry, "id": name, "parentId": self.leaf, "timestamp": written})
        self.leaf = name
        return name

    def prompt(self) -> None:
        self._message(role="user", content="Where is the handler of a request retried, and after which error?")

    def turn(self, chars: int) -> None:
        """A call and its output."""
        call = {"type": "toolCall", "id": f"c{self._count}", "name": "bash", "arguments": {"command": f"cat {chars}"}}
        self._assistant([{"type": "text", "text": "I look."}, call], "toolUse")
        text = "\n".join(prose(chars, self._random))
        result = {"toolCallId": call["id"], "toolName": "bash", "isError": False}
        self._message(role="toolResult", content=[{"type": "text", "text": text}], **result)

    def answer(self) -> None:
        self._assistant(
            [{"type": "text", "text": "The handler retries the request after an error of the cache."}], "stop"
        )

    def compact(self) -> None:
        self.add(type="compaction", summary="## Goal\nFind it.", firstKeptEntryId=self.leaf, tokensBefore=9)

    def _assistant(self, content: list[Json], stop: str) -> None:
        usage = {"input": 3, "output": 40, "cacheRead": 90_000, "cacheWrite": 900, "cost": {"total": 0.03}}
        who = {"provider": "anthropic", "model": "claude", "api": "anthropic-messages"}
        self._message(role="assistant", content=content, stopReason=stop, usage=usage, **who)

    def _message(self, **message: Any) -> None:
        self.add(type="message", message={**message, "timestamp": time.time_ns() // 1_000_000})

    def _write(self, line: Json) -> None:
        text = json.dumps(line, ensure_ascii=False) + "\n"
        self.size += len(text)
        self._file.write(text)
        self._file.flush()


class Bridge:
    """The process that Pi's extension starts, and the extension's side of the pipe."""

    def __init__(self, agent: Path) -> None:
        command = [sys.executable, "-m", "context_guard_effects.cli", "bridge"]
        environment = {"PI_CODING_AGENT_DIR": str(agent), "PYTHONPATH": ":".join(sys.path)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._count = 0

    def call(self, type: str, session: Session, **fields: Any) -> tuple[float, Json]:
        """Milliseconds, and the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._count += 1
        sync = {"session": session.name, "file": str(session.path), "leaf": session.leaf, "model": MODEL}
        began = time.perf_counter()
        self._process.stdin.write(
            json.dumps({"id": self._count, "type": type, "sync": sync, **fields}).encode() + b"\n"
        )
        self._process.stdin.flush()
        while True:
            reply = json.loads(self._process.stdout.readline())
            if reply.get("id") == self._count:
                return (time.perf_counter() - began) * 1_000, reply

    def cpu_ms(self) -> float:
        """Of the process so far, in steps of 10; 0 where the system has no /proc."""
        place = Path(f"/proc/{self._process.pid}/stat")
        if not place.exists():
            return 0.0
        fields = place.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measure_idle(folder: Path, turns: int) -> tuple[list[float], float]:
    session = Session(folder / "idle.jsonl")
    compacted = 0
    while session.size < HISTORY_BYTES:
        _work(session)
        if session.size - compacted > CONTEXT_BYTES:
            compacted = session.size
            session.compact()
    while session.size - compacted < CONTEXT_BYTES:
        _work(session)
    bridge = Bridge(folder)
    start, _ = bridge.call("hello", session)
    print(f"history of {session.size / 1e6:.1f} MB: start and first reading {start:.0f} ms (not waited for)")
    session.prompt()
    found = []
    before = bridge.cpu_ms()
    for _ in range(turns):
        session.turn(200)
        took, reply = bridge.call("boundary", session, phase="mid-run")
        if not reply["drafts"]:
            found.append(took)
        for draft in reply["drafts"]:  # the old exchanges, judged once in the run; they are needed and stay
            session.add(**draft)
    spent = bridge.cpu_ms() - before
    bridge.close()
    return found, spent / turns


def _work(session: Session) -> None:
    session.prompt()
    for _ in range(20):
        session.turn(6_000)
    session.answer()


def measure_run_end(folder: Path, runs: int) -> tuple[list[float], float]:
    bridge = Bridge(folder)
    found = []
    spent = 0.0
    for number in range(runs):
        session = Session(folder / f"run{number}.jsonl")
        session.prompt()
        for _ in range(OUTPUTS):
            session.turn(OUTPUT_CHARS)
        session.answer()
        bridge.call("hello", session)
        before = bridge.cpu_ms()
        took, reply = bridge.call("boundary", session, phase="run-end")
        spent += bridge.cpu_ms() - before
        assert reply["drafts"][-1]["data"]["requests"] >= OUTPUTS
        found.append(took)
    bridge.close()
    return found, spent / runs


def tell(name: str, found: list[float], cpu: float) -> None:
    found = sorted(found)
    at = {share: found[min(len(found) - 1, int(len(found) * share))] for share in (0.5, 0.95, 0.99)}
    print(
        f"{name}: median {at[0.5]:.1f} ms, p95 {at[0.95]:.1f} ms, p99 {at[0.99]:.1f} ms; "
        f"CPU {cpu:.1f} ms (n={len(found)})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "context-guard.json").write_text('{"runEndBreakEven": false, "exchangeBreakEven": false}')
        tell("a turn's end with nothing to do", *measure_idle(folder, given.turns))
        tell("a run's end, 100 KB judged by the embedded judge", *measure_run_end(folder, given.runs))


if __name__ == "__main__":
    main()
