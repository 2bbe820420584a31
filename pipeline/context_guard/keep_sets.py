"""Stage 7. Which chunks of a segment stay. No answer, or doubt, keeps all of them and says why."""

from typing import Literal

import msgspec
from msgspec import Struct

from context_guard.answers import Answered, Answers, ChoiceAnswer, Unanswered
from context_guard.config import Config
from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, WHOLE, chunk_id
from context_guard.segments import Segment
from context_guard.text import format_probability as p

KeepReason = Literal[
    "chunks", "none-needed", "whole-needed", "whole-chosen", "no-answer", "error", "timeout", "oversize"
]


class KeepSet(Struct, frozen=True):
    entry_id: str
    segment: int
    kept: tuple[int, ...]
    """Indexes of the chunks that stay, in the output's order."""
    total: int
    reason: KeepReason
    trace: str

    @property
    def keeps_all(self) -> bool:
        """Whether the segment as a whole was kept, rather than each of its chunks."""
        return self.reason not in ("chunks", "none-needed")

    @property
    def is_answered(self) -> bool:
        """Whether the judge answered for all of the segment."""
        return self.reason in ("chunks", "none-needed", "whole-needed", "whole-chosen")


def decide_keep_set(segment: Segment, outcome: Answered | None, config: Config) -> KeepSet:
    """The seven steps from an answer to a keep set, in order; the first that applies decides."""
    match outcome:
        case None:
            return _keep_all(segment, "oversize" if segment.oversize else "timeout", "no answer")
        case Unanswered(started=False, reason="timeout"):
            return _keep_all(segment, "timeout", "no answer", "timeout")
        case Unanswered(reason=reason, replied=replied):
            head = _head(None, None) if replied else "no answer"
            return _keep_all(segment, "error" if reason == "aborted" else reason, head)
        case Answers():
            return _signed(_decide(segment, outcome, config), outcome)


def _decide(segment: Segment, answers: Answers, config: Config) -> KeepSet:
    whole = answers.yes_no(KEEP_WHOLE)
    focus = answers.choice(FOCUS)
    head = _head(whole, focus)
    if whole is None or focus is None:
        return _keep_all(segment, "no-answer", head)
    if whole >= config.keep_whole_threshold:
        return _keep_all(segment, "whole-needed", head)
    chosen = focus.probability_of(focus.choice) or 0.0
    if focus.choice == WHOLE and chosen >= config.focus_whole_threshold:
        return _keep_all(segment, "whole-chosen", head)
    kept = tuple(
        index
        for index in segment.chunks
        if chunk_id(index) == focus.choice or _passes(answers.yes_no(chunk_id(index)), config)
    )
    if kept:
        return _keep(segment, kept, "chunks", head)
    if focus.choice == NONE and chosen >= config.none_threshold:
        return _keep(segment, (), "none-needed", head)
    if focus.choice == WHOLE:
        return _keep_all(segment, "whole-chosen", head)
    best = max(segment.chunks, key=lambda index: focus.probability_of(chunk_id(index)) or 0.0)
    return _keep(segment, (best,), "chunks", head)


def _signed(keep_set: KeepSet, answers: Answers) -> KeepSet:
    """The trace names the judges where several answered: the parts that another decided than the output as a whole."""
    first = dict(answers.by).get(KEEP_WHOLE, "")
    others: dict[str, list[str]] = {}
    for name, judge in answers.by:
        if judge != first:
            others.setdefault(judge, []).append(name)
    said = "".join(f"; {' '.join(names)} by {judge}" for judge, names in others.items())
    return msgspec.structs.replace(keep_set, trace=keep_set.trace + said) if said else keep_set


def _passes(probability: float | None, config: Config) -> bool:
    """A chunk that the judge said nothing about stays."""
    return probability is None or probability >= config.chunk_keep_threshold


def _keep(segment: Segment, kept: tuple[int, ...], reason: KeepReason, head: str) -> KeepSet:
    total = len(segment.chunks)
    return KeepSet(
        entry_id=segment.entry_id,
        segment=segment.index,
        kept=kept,
        total=total,
        reason=reason,
        trace=f"{head} keep {len(kept)}/{total}",
    )


def _keep_all(segment: Segment, reason: KeepReason, head: str, said: str = "") -> KeepSet:
    return KeepSet(
        entry_id=segment.entry_id,
        segment=segment.index,
        kept=segment.chunks,
        total=len(segment.chunks),
        reason=reason,
        trace=f"{head} {said or f'keep all ({reason})'}",
    )


def _head(whole: float | None, focus: ChoiceAnswer | None) -> str:
    chosen = f"{focus.choice}:{p(focus.probability_of(focus.choice))}" if focus else "?:?"
    return f"kw{p(whole)} focus={chosen}"
