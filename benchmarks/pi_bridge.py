"""What the guard adds to Pi: round trips through the real pipe to a real bridge, as the extension makes them.

    PYTHONPATH=pipeline:effects python benchmarks/pi_bridge.py [--turns 400] [--runs 40]

Each over a session file that grows between the messages as Pi's does. First behind a history of 10 MB (one with
compactions, so that the context is as large as a window holds, about 1 MB of text), with a new prompt every 40 turns:
- a turn's end with nothing to do, each turn with an answer told and a request marked as in Pi;
- of those, the ones whose old exchanges were not judged yet, since taking them out would not pay so early in a run;
- a request that goes out and gets its marks.
Then
- a run's end with five outputs of 20 KB that the embedded judge judges, 100 KB in all.
Prints median, 95th and 99th percentile in milliseconds, the CPU time of the bridge (which other work on the machine
changes less), and how long the start took (Pi does not wait for it).
"""

import argparse
import json
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
RUN_TURNS = 40
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
        self.messages: list[Json] = []
        """The request as the extension tells its shape."""
        self._write({"type": "session", "version": 3, "id": "bench", "timestamp": "", "cwd": "/project"})

    def add(self, **entry: Any) -> str:
        self._count += 1
        name = f"{self._count:08x}"
        written = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write({**entry, "id": name, "parentId": self.leaf, "timestamp": written})
        self.leaf = name
        return name

    def skeleton(self) -> Json:
        mark = {"type": "ephemeral"}
        *before, last = self.messages
        block = {**last["content"][-1], "cache_control": mark}
        return {
            "tools": [{"type": "tool"}, {"type": "tool", "cache_control": mark}],
            "system": [{"type": "text", "text": "x", "cache_control": mark}],
            "messages": [*before, {**last, "content": [*last["content"][:-1], block]}],
        }

    def prompt(self) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": "x"}]})
        self._message(role="user", content="Where is the handler of a request retried, and after which error?")

    def turn(self, chars: int) -> None:
        """A call and its output."""
        call = {"type": "toolCall", "id": f"c{self._count}", "name": "bash", "arguments": {"command": f"cat {chars}"}}
        self._assistant([{"type": "text", "text": "I look."}, call], "toolUse")
        text = "\n".join(prose(chars, self._random))
        shape = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "x"}]}
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "tool_use"}]})
        self.messages.append({"role": "user", "content": [shape]})
        result = {"toolCallId": call["id"], "toolName": "bash", "isError": False}
        self._message(role="toolResult", content=[{"type": "text", "text": text}], **result)

    def answer(self) -> None:
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": "x"}]})
        self._assistant(
            [{"type": "text", "text": "The handler retries the request after an error of the cache."}], "stop"
        )

    def compact(self) -> None:
        self.messages = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
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
        """Of the process so far; 0 where the system has no /proc."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Times:
    """Round trips of one kind, and what they took of the bridge's CPU, in milliseconds."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[tuple[float, float]] = []

    def time(self, bridge: Bridge, type: str, session: Session, **fields: Any) -> Json:
        before = bridge.cpu_ms()
        took, reply = bridge.call(type, session, **fields)
        self._found.append((took, bridge.cpu_ms() - before))
        return reply

    def drop_last(self) -> None:
        self._found.pop()

    def __str__(self) -> str:
        wall, cpu = (sorted(values) for values in zip(*self._found, strict=True))
        return (
            f"{self._name}: median {_at(wall, 0.5):.1f} ms, "
            f"p95 {_at(wall, 0.95):.1f} ms, p99 {_at(wall, 0.99):.1f} ms; "
            f"CPU {_at(cpu, 0.5):.1f} ms, p99 {_at(cpu, 0.99):.1f} ms (n={len(wall)})"
        )


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def measure_turns(folder: Path, turns: int) -> "tuple[Times, ...]":
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
    ends = Times("a turn's end with nothing to do")
    early = Times("a turn's end whose old exchanges do not pay yet")
    requests = Times("a request that gets its marks")
    judged = False
    for number in range(turns):
        if number % RUN_TURNS == 0:
            session.answer()
            session.prompt()
            judged = False
        requests.time(bridge, "outgoing", session, skeleton=session.skeleton())
        bridge.call("answered", session, usage={"input": 3, "output": 40, "cacheRead": 90_000, "cacheWrite": 900})
        session.turn(200)
        times = ends if judged else early
        reply = times.time(bridge, "boundary", session, phase="mid-run")
        for draft in reply["drafts"]:  # the old exchanges, judged once in the run; they are needed and stay
            judged = True
            session.add(**draft)
        if reply["drafts"]:
            times.drop_last()
    bridge.close()
    return (ends, early, requests)


def _work(session: Session) -> None:
    session.prompt()
    for _ in range(20):
        session.turn(6_000)
    session.answer()


def measure_run_ends(folder: Path, runs: int) -> Times:
    bridge = Bridge(folder)
    times = Times("a run's end, 100 KB judged by the embedded judge")
    for number in range(runs):
        session = Session(folder / f"run{number}.jsonl")
        session.prompt()
        for _ in range(OUTPUTS):
            session.turn(OUTPUT_CHARS)
        session.answer()
        bridge.call("hello", session)
        reply = times.time(bridge, "boundary", session, phase="run-end")
        assert reply["drafts"][-1]["data"]["requests"] >= OUTPUTS
    bridge.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "context-guard.json").write_text('{"runEndBreakEven": false, "exchangeBreakEven": false}')
        for times in (*measure_turns(folder, given.turns), measure_run_ends(folder, given.runs)):
            print(times)


if __name__ == "__main__":
    main()
