"""The command line as tests run it, in this process or in one of its own, and a small session for it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from build import lines
from click.testing import CliRunner, Result
from pi_sessions import calling, result, user

from context_guard_effects.cli import main

NEEDED = "def make_pool(size):  # the pool is made here"
LOG = "\n".join([lines(150), NEEDED, lines(150)])
EXCHANGE = [
    user("p1", "Where is the pool made?"),
    calling("a1", "call-1"),
    result("r1", "call-1", [{"type": "text", "text": LOG}]),
    {
        "type": "message",
        "id": "a2",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "make_pool makes the pool."}],
            "stopReason": "stop",
            "provider": "anthropic",
            "model": "claude",
        },
    },
]


def guard(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def spawn(*args: object, stdout: int | IO[str] = subprocess.PIPE, **more: str) -> "subprocess.CompletedProcess[str]":
    """The same as a process of its own; `more` is for its environment."""
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(root / "pipeline"), str(root / "effects")])
    return subprocess.run(
        [sys.executable, "-m", "context_guard_effects.cli", *map(str, args)],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8", **more},
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def complaint(run: "Result | subprocess.CompletedProcess[str]") -> str:
    """What an error said, which has to be one line."""
    assert run.stderr.startswith("context-guard: ")
    assert run.stderr.count("\n") == 1
    assert run.stderr.endswith("\n")
    return run.stderr
