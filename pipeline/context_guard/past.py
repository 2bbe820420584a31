"""Whether an output is behind the agent: out of date, or a failure that was got past."""

import re

from context_guard.candidates import Candidate
from context_guard.programs import covers, programs_of
from context_guard.span import Call, Span
from context_guard.superseded import superseded_by

_FIXED = re.compile(
    r"\b(?:fixed|corrected|resolved|solved|repaired|(?:pass|passes|works|builds|compiles) now"
    r"|(?:now|all(?: \d+)?(?: \w+)?) (?:pass|passes|passed|work|works|green|succeeds?|builds|compiles))\b",
    re.IGNORECASE,
)


def why_past(candidate: Candidate, span: Span, failed: bool) -> str:
    """Why it is; empty while it is not. `failed`: the output shows a failure."""
    if candidate.superseded or candidate.turn is None:
        return candidate.superseded
    if found := superseded_by(candidate.tool, candidate.args, candidate.turn, span.calls):
        return found
    if not failed:
        return ""
    if _FIXED.search(span.answer):
        return "the answer says that it is mended"
    later = [call for call in span.calls if call.turn > candidate.turn and not call.failed]
    return "the same program ran well later" if _ran_well(candidate.args, later) else ""


def _ran_well(args: str, later: list[Call]) -> bool:
    """Whether all that the command ran went well later: the same programs on the same targets, on more or on all."""
    earlier = programs_of(args)
    if not earlier:
        return False
    ran = [program for call in later for program in programs_of(call.args)]
    return all(any(covers(program, each) for program in ran) for each in earlier)
