"""Stage 2. The large tool outputs of a run that may be edited."""

import re

import msgspec
from msgspec import Struct

from context_guard.config import Config
from context_guard.labels import first_text, read_args, tool_label
from context_guard.span import RunResult, Span
from context_guard.superseded import superseded_by
from context_guard.text import RECALL

MAX_LATER_CALLS = 30
_RECALLS = re.compile(
    r"(?:^|[;&|(\n]|-l?c [\"'])[ \t]*(?:(?:\w+=\S*|uvx|uv run|pipx run|poetry run|\S*python[0-9.]* -m) +)*"
    rf"(?:\S*/)?(?:context-guard|context_guard_effects(?:\.cli)?) (?:-\S+ )*{RECALL}\b"
)


_RECALL_TOOL = re.compile(rf"(?:^|__|guard[_./:]){RECALL}$")
"""`mcp__NAME__recall` (Claude Code), `context-guard_recall` (OpenCode), `recall` in a namespace (Codex)."""


class Candidate(Struct, frozen=True):
    entry_id: str
    tool: str
    args: str
    label: str
    text: str
    """What the model sees of the output; the same as the raw text, by the rules below."""
    is_error: bool
    turn: int | None
    run_id: str = ""
    """Prompt entry of the run that it belongs to."""
    later_calls: tuple[str, ...] = ()
    """Mid-run: labels of the calls after it, oldest first."""
    superseded: str = ""
    """Mid-run: how a later call made it out of date."""


def pick_candidates(span: Span, config: Config) -> tuple[Candidate, ...]:
    """The outputs from `minResultChars` on that the rules allow; none when together they are below `minRunChars`."""
    found = tuple(to_candidate(result, span) for result in span.results if is_large(result, config))
    return found if sum(len(candidate.text) for candidate in found) >= config.min_run_chars else ()


def pick_aged(span: Span, config: Config, judged: frozenset[str], cwd: str | None = None) -> tuple[Candidate, ...]:
    """Mid-run: the large outputs of calls made long enough ago that no checkpoint has judged yet."""
    return tuple(
        msgspec.structs.replace(
            to_candidate(result, span),
            later_calls=later_calls(span, result.turn),
            superseded=superseded_by(result.tool, result.args, result.turn, span.calls, cwd),
        )
        for result in span.results
        if is_large(result, config)
        and result.turn is not None
        and is_old_enough(result, result.turn, span, config)
        and result.entry_id not in judged
    )


def later_calls(span: Span, turn: int, limit: int = MAX_LATER_CALLS) -> tuple[str, ...]:
    """Labels of the calls of later turns; of too many, the first and the last with a line for the gap."""
    labels = [tool_label(call.name, call.args) for call in span.calls if call.turn > turn]
    if len(labels) <= limit:
        return tuple(labels)
    half = limit // 2
    return (*labels[:half], f"[… {len(labels) - 2 * half} more calls …]", *labels[-half:])


def is_old_enough(result: RunResult, turn: int, span: Span, config: Config) -> bool:
    """Mid-run: made enough turns ago, and not something that the agent has just asked back."""
    return turn <= span.turns - 1 - config.mid_run_min_age_turns and not is_recall(result)


def is_recall(result: RunResult) -> bool:
    """Whether the agent asked back what was taken out: by the recall tool, under the names that hosts give it, or by
    the command line in a shell."""
    if _RECALL_TOOL.search(result.tool):
        return True
    return _RECALLS.search(first_text(read_args(result.args), "command", "cmd")) is not None


def is_large(result: RunResult, config: Config) -> bool:
    return len(result.text) >= config.min_result_chars and may_edit(result, config)


def may_edit(result: RunResult, config: Config) -> bool:
    """Text only, not pinned, of a tool not excluded, seen as it was stored (so that recall can give back all of it)."""
    return (
        result.is_raw
        and not result.is_pinned
        and result.is_text_only
        and result.tool not in config.exclude_tools
        and not (config.keep_recalls and is_recall(result))
        and (config.distill_errors or not result.is_error)
    )


def to_candidate(result: RunResult, span: Span) -> Candidate:
    return Candidate(
        entry_id=result.entry_id,
        tool=result.tool,
        args=result.args,
        label=tool_label(result.tool, result.args),
        text=result.text,
        is_error=result.is_error,
        turn=result.turn,
        run_id=span.start_id,
    )
