"""What a judge said about each piece of a large output, against the thresholds, and the step that decided."""

from msgspec import Struct

from context_guard.answers import Answered, Answers, ChoiceAnswer, Unanswered
from context_guard.chunks import Cut
from context_guard.config import Config
from context_guard.keep_sets import KeepSet
from context_guard.requests import FOCUS, KEEP_WHOLE, WHOLE, chunk_id
from context_guard.segments import Segment
from context_guard.stages import Plan, Settlement
from context_guard.text import format_probability as p
from context_guard.text import one_line


class ChunkVote(Struct, frozen=True, rename="camel"):
    id: str
    first_line: int
    last_line: int
    chars: int
    probability: float | None
    """None when the judge said nothing about it."""
    kept: bool
    files: tuple[str, ...] = ()


class SegmentVote(Struct, frozen=True, rename="camel"):
    id: str
    keep_whole: float | None
    focus: str
    """Option that was chosen; empty without an answer."""
    focus_probability: float | None
    step: str
    """Number and words of the step that decided."""
    reason: str
    chunks: tuple[ChunkVote, ...]


def read_votes(plan: Plan, settlement: Settlement, entry_id: str) -> tuple[SegmentVote, ...]:
    """One for each segment of the output, in order; none for an entry that is no large output of the pass."""
    outcomes = {outcome.request_id: outcome for outcome in settlement.outcomes}
    keep_sets = {(item.entry_id, item.segment): item for item in settlement.keep_sets}
    cut = next((cut for cut in plan.chunks if cut.entry_id == entry_id), None)
    if cut is None:
        return ()
    return tuple(
        _segment(segment, cut, outcomes.get(segment.id), keep_sets[entry_id, segment.index], plan.config)
        for segment in plan.segments
        if segment.entry_id == entry_id
    )


def _segment(segment: Segment, cut: Cut, outcome: Answered | None, keep_set: KeepSet, config: Config) -> SegmentVote:
    answers = outcome if isinstance(outcome, Answers) else None
    focus = answers.choice(FOCUS) if answers else None
    chunks = tuple(
        ChunkVote(
            id=chunk_id(index),
            first_line=cut.chunks[index].start + 1,
            last_line=cut.chunks[index].end,
            chars=len(cut.chunks[index].text),
            probability=answers.yes_no(chunk_id(index)) if answers else None,
            kept=index in keep_set.kept,
            files=tuple(map(one_line, cut.chunks[index].files)),
        )
        for index in segment.chunks
    )
    return SegmentVote(
        id=segment.id,
        keep_whole=answers.yes_no(KEEP_WHOLE) if answers else None,
        focus=focus.choice if focus else "",
        focus_probability=focus.probability_of(focus.choice) if focus else None,
        step=_step(keep_set, outcome, focus, chunks, config),
        reason=keep_set.reason,
        chunks=chunks,
    )


def _step(
    keep_set: KeepSet,
    outcome: Answered | None,
    focus: ChoiceAnswer | None,
    chunks: tuple[ChunkVote, ...],
    config: Config,
) -> str:
    """The first of the seven steps of `decide_keep_set` that applied."""
    match keep_set.reason:
        case "oversize":
            return "step 1: too large for a request, never asked about: all of it stays"
        case "timeout" | "error":
            said = one_line(outcome.detail) if isinstance(outcome, Unanswered) else ""
            return f"step 1: no answer ({keep_set.reason}{f', {said}' if said else ''}): all of it stays"
        case "no-answer":
            return "step 2: keep_whole or focus has no usable answer: all of it stays"
        case "whole-needed":
            return f"step 3: keep_whole reaches keepWholeThreshold {p(config.keep_whole_threshold)}: all of it stays"
    chosen = (focus.probability_of(focus.choice) if focus else None) or 0.0
    if keep_set.reason == "whole-chosen" and chosen >= config.focus_whole_threshold:
        return f"step 4: focus on whole reaches focusWholeThreshold {p(config.focus_whole_threshold)}: all of it stays"
    if keep_set.reason == "none-needed":
        return (
            f"step 6: no chunk passes, focus on none reaches noneThreshold {p(config.none_threshold)}: all of it goes"
        )
    if keep_set.reason == "whole-chosen":
        return f"step 7: no chunk passes, and focus, weak as it is, is on {WHOLE}: all of it stays"
    least = config.chunk_keep_threshold
    passing = any(
        chunk.probability is None or chunk.probability >= least or (focus and chunk.id == focus.choice)
        for chunk in chunks
    )
    if passing:
        return f"step 5: chunks from chunkKeepThreshold {p(least)} on stay, and the one that focus is on"
    return f"step 7: no chunk passes chunkKeepThreshold {p(least)}, and none is not sure: the best of focus stays"
