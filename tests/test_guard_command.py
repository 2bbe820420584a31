"""What `/guard` understands and says."""

import pytest
from build import answer, call, edit, lines, prompt, result, session

from context_guard.config import Config
from context_guard.guard_command import USAGE, Asked, guard_lines, read_command, report_lines, restored_by
from context_guard.savings import count_savings
from context_guard.status import UNRECORDED
from context_guard.text import MARKER
from context_guard.transcript import Transcript


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("", Asked("status")),
        ("  status ", Asked("status")),
        ("why e3", Asked("why", "e3")),
        ('restore "e3"', Asked("restore", "e3")),
    ],
)
def test_a_command_is_read(text: str, asked: Asked) -> None:
    assert asked == read_command(text).unwrap()


@pytest.mark.parametrize("text", ["dance", "why", "on now", "pin a b"])
def test_what_is_no_command_gets_the_usage(text: str) -> None:
    assert read_command(text).failure() == USAGE


def distilled() -> Transcript:
    return session(
        prompt("Where is the pool made?"),
        call("bash", {"command": "rg -n pool"}),
        result(lines(300)),
        answer("In src/pool.py."),
        edit("e3", f"{MARKER} Distilled the output"),
    )


def test_an_output_that_the_guard_changed_can_be_restored() -> None:
    assert restored_by(distilled(), "e3").unwrap() == ("e3",)


@pytest.mark.parametrize("entry_id", ["e1", "e4", "zz"])
def test_what_was_not_changed_says_so(entry_id: str) -> None:
    assert entry_id in restored_by(distilled(), entry_id).failure()


def test_the_status_names_state_judge_and_problem() -> None:
    """One line first that says all, then the figures."""
    transcript = distilled()
    first, *rest = guard_lines(transcript, count_savings(transcript), Config(), "no judge")
    assert first.startswith("context-guard is on (no judge) · judge local · 🛡 −")
    assert any("1 tool output" in line for line in rest)
    assert report_lines(transcript, count_savings(transcript)) == (UNRECORDED,)
