"""What a judge left unanswered, in a line for people."""

from collections.abc import Sequence

from context_guard.answers import Answered, Unanswered
from context_guard.text import one_line


def tell_silence(outcomes: Sequence[Answered]) -> str:
    """How many of the requests, and why; empty when all were answered."""
    silent = [outcome for outcome in outcomes if isinstance(outcome, Unanswered)]
    if not silent:
        return ""
    count = f"{len(silent)} of {len(outcomes)} requests"
    return f"the judge left {count} unanswered, what they ask about is kept: {tell_reason(silent)}"


def tell_reason(silent: Sequence[Unanswered]) -> str:
    said = next((outcome.detail for outcome in silent if outcome.detail), "")
    is_late = any(outcome.reason == "timeout" for outcome in silent)
    return one_line(said) or ("the time budget (timeoutMs) ran out" if is_late else "no reason given")
