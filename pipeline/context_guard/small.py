"""Small outputs of a run, judged whole: too short for chunks, too many to leave."""

from msgspec import Struct

from context_guard.candidates import is_old_enough, may_edit
from context_guard.config import Config
from context_guard.labels import tool_label
from context_guard.records import Phase
from context_guard.span import RunResult, Span
from context_guard.superseded import superseded_by
from context_guard.text import MARKER, format_chars, recall_hint, without_lone_surrogates


class SmallOutput(Struct, frozen=True):
    entry_id: str
    tool: str
    args: str
    label: str
    text: str
    stub: str
    """What the model sees when it goes."""
    turn: int
    is_error: bool
    superseded: str = ""
    run_id: str = ""


def pick_small(
    span: Span, config: Config, phase: Phase, judged: frozenset[str], cwd: str | None = None
) -> tuple[SmallOutput, ...]:
    """Outputs from `smallResultMinChars` up to `minResultChars` whose stub is shorter; mid-run only old ones."""
    if config.small_result_min_chars == 0:
        return ()
    found = (
        _to_small(result, span, cwd, config.recall_with)
        for result in span.results
        if config.small_result_min_chars <= len(result.text) < config.min_result_chars
        and may_edit(result, config)
        and result.entry_id not in judged
        and (phase == "run-end" or is_old_enough(result, result.turn or 0, span, config))
    )
    return tuple(item for item in found if len(item.stub) < len(item.text))


def _to_small(result: RunResult, span: Span, cwd: str | None, way: str) -> SmallOutput:
    turn = result.turn or 0
    label = tool_label(result.tool, result.args)
    stub = (
        f"{MARKER} Omitted the output of {label} ({format_chars(len(result.text))} chars): judged no longer needed. "
        f"{recall_hint('Full output', result.entry_id, way)}"
    )
    return SmallOutput(
        entry_id=result.entry_id,
        tool=result.tool,
        args=result.args,
        label=label,
        text=result.text,
        stub=without_lone_surrogates(stub),
        turn=turn,
        is_error=result.is_error,
        superseded=superseded_by(result.tool, result.args, turn, span.calls, cwd),
        run_id=span.start_id,
    )
