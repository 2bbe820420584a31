"""When a hard keep is over: what a later command must have run well to stand for an earlier one that failed."""

import json

import pytest
from build import answer, call, prompt, result, session

from context_guard.candidates import Candidate
from context_guard.config import Config
from context_guard.past import why_past
from context_guard.span import find_spans


def past(failed: str, *later: str, fails: bool = False) -> str:
    """Why a failure of the first command is behind the agent after the later ones."""
    pieces = [prompt("Make it pass."), call("bash", {"command": failed}), result("FAILED", error=True)]
    for command in later:
        pieces += [call("bash", {"command": command}), result("ok", error=fails)]
    (span,) = find_spans(session(*pieces, answer("So it is.")), Config())
    output = Candidate("e3", "bash", json.dumps({"command": failed}), "bash", "FAILED", is_error=True, turn=0)
    return why_past(output, span, failed=True)


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("pytest a.py", "pytest -x a.py"),
        ("pytest tests/a.py", "pytest tests/a.py tests/b.py"),
        ("pytest tests/a.py", "pytest tests"),
        ("pytest tests/a.py::test_one", "pytest ./tests/a.py -q 2>&1 | tail -5"),
        ("pytest tests/a.py", "python -m pytest"),
        ("cd app && .venv/bin/pytest a.py", "pytest a.py"),
        ("pytest -k pool", "pytest"),
        ("npm ci && npm test", "npm test"),
        ("npm test -- --reporter=dot", "npm test"),
        ("go test ./pool", "go test ./..."),
        ("make -j4", "make -j1"),
        ("cargo build --features=tls", "cargo build"),
        ("tsc -p . ; eslint src", "tsc -p . && eslint src/ || exit 1\ntsc"),
    ],
)
def test_a_run_of_the_same_program_on_as_much_ends_the_hold(failed: str, later: str) -> None:
    """The same targets, more of them, the folder that they are in, or no target at all."""
    assert past(failed, later) == "the same program ran well later"


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("pytest b.py", "pytest a.py"),
        ("pytest", "pytest a.py"),
        ("pytest", "pytest -k pool"),
        ("pytest -k 'pool or cache'", "pytest -k 'pool and cache'"),
        ("pytest a.py b.py", "pytest a.py"),
        ("npm test", "npm run lint"),
        ("npm test", "npm test --filter=pool"),
        ("make test", "make"),
        ("tsc -p . ; eslint src", "tsc -p ."),
        ("python migrate.py", "python seed.py"),
        ("pytest tests/a.py", "pytest tests/a"),
    ],
)
def test_a_run_of_something_else_ends_no_hold(failed: str, later: str) -> None:
    """Another file that passes says nothing about the one that failed."""
    assert past(failed, later) == ""


def test_a_run_that_failed_ends_no_hold() -> None:
    """It has to have run well."""
    assert past("pytest a.py", "pytest -v a.py", fails=True) == ""


def test_two_runs_can_end_the_hold_together() -> None:
    """Each program of the failed command has to have run well, in whatever command."""
    assert past("tsc -p . ; eslint src", "tsc -p .", "eslint src")
