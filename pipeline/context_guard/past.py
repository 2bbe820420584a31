"""Whether an output is behind the agent: out of date, or a failure that was got past."""

import re

from context_guard.candidates import Candidate
from context_guard.labels import first_text, read_args
from context_guard.span import Span
from context_guard.superseded import superseded_by

_FIXED = re.compile(
    r"\b(?:fixed|corrected|resolved|solved|repaired|(?:pass|passes|works|builds|compiles) now"
    r"|(?:now|all(?: \d+)?(?: \w+)?) (?:pass|passes|passed|work|works|green|succeeds?|builds|compiles))\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"(?:cd [^&;|]{1,200}(?:&&|;)\s*)?(?:(?:\w+=\S*|time|sudo|timeout \S+|uv run|poetry run|npx) )*(.*)", re.DOTALL
)
_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "make", "python", "python3", "gradle", "mvn"}
)
"""Programs whose next word says what is run."""


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
    program = _program(candidate.args)
    later = (call for call in span.calls if call.turn > candidate.turn and not call.failed)
    ran_well = program and any(_program(call.args) == program for call in later)
    return "the same program ran well later" if ran_well else ""


def _program(args: str) -> str:
    """What a command runs, its options and targets aside; empty for what is no command."""
    found = _PROGRAM.match(first_text(read_args(args), "command", "cmd").strip())
    words = [word for word in found[1].split()[:6] if not word.startswith("-")] if found else []
    return " ".join(words[: 2 if words[0] in _RUNNERS else 1]) if words else ""
