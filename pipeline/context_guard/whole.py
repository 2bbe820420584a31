"""Items judged whole, beside the large outputs: packed into requests, one yes or no each, and what that comes to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from context_guard.answers import Answered, Answers, Unanswered
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.exchanges import OldExchange
from context_guard.images import OldImages
from context_guard.readable import readable
from context_guard.records import Phase
from context_guard.requests import (
    ANSWER_CHARS,
    NOTES_CHARS,
    QUESTION_CHARS,
    Part,
    Request,
    State,
    yes_no,
)
from context_guard.small import SmallOutput
from context_guard.span import Span
from context_guard.text import clip, estimate_tokens, format_chars, format_probability, plural, trim
from context_guard.wording import (
    EXCHANGES_MID_RUN,
    EXCHANGES_RUN_END,
    SMALL_MID_RUN,
    SMALL_RUN_END,
    ItemsText,
)

ITEM_CHARS = 4_000
PROMPT_CHARS = 600
REPLY_CHARS = 800
MAX_CALLS = 20
CALL_WEIGHT = 60
ITEM_WEIGHT = 200
"""What a request spends on an item beside its text, in characters."""

T = TypeVar("T")


class Verdict(Struct, frozen=True):
    """What the judge said about one item."""

    probability: float | None = None
    failure: str = ""
    """Why there is no probability."""
    by: str = ""
    """Who said it, where several judges answered."""

    @property
    def trace(self) -> str:
        said = f"p? {self.failure}" if self.failure else f"p{format_probability(self.probability)}"
        return f"{said} by {self.by}" if self.by else said


def small_requests(span: Span, items: Sequence[SmallOutput], config: Config, phase: Phase) -> Iterator[Request]:
    """Requests for the small outputs of one run; item numbers begin at 1 in each."""
    wording = SMALL_MID_RUN if phase == "mid-run" else SMALL_RUN_END
    for number, batch in enumerate(_batches(items, _small_weight, config), 1):
        yield Request(
            id=f"small:{span.start_id}:{number}",
            kind="small",
            phase=phase,
            entry_ids=tuple(item.entry_id for item in batch),
            state=_state(span, wording, phase, tuple(map(_small_part, _ids("item", batch), batch))),
            questions=tuple(yes_no(name, wording.item) for name in _ids("item", batch)),
        )


def exchange_requests(span: Span, items: Sequence[OldExchange], config: Config, phase: Phase) -> Iterator[Request]:
    wording = EXCHANGES_MID_RUN if phase == "mid-run" else EXCHANGES_RUN_END
    for number, batch in enumerate(_batches(items, _exchange_weight, config), 1):
        yield Request(
            id=f"exchange:{number}",
            kind="exchange",
            phase=phase,
            entry_ids=tuple(item.prompt_id for item in batch),
            state=_state(span, wording, phase, tuple(map(_exchange_part, _ids("exchange", batch), batch))),
            questions=tuple(yes_no(name, wording.item) for name in _ids("exchange", batch)),
        )


def decide_small(item: SmallOutput, verdict: Verdict, config: Config) -> Decision:
    """Dropped for its stub below `smallKeepThreshold`; without an answer it stays."""
    p = verdict.probability
    dropped = p is not None and p < config.small_keep_threshold
    return Decision(
        kind="small",
        entry_id=item.entry_id,
        tool=item.tool,
        label=item.label,
        outcome="removed" if dropped else "kept",
        reason=verdict.failure or ("not-needed" if dropped else "needed"),
        before_chars=len(item.text),
        after_chars=len(item.stub) if dropped else len(item.text),
        traces=(verdict.trace,),
        replacement=(item.stub,) if dropped else None,
    )


def keep_held(decision: Decision) -> Decision:
    """The judge needs it no more, but it shows a current failure (`holds.py`)."""
    return msgspec.structs.replace(
        decision, outcome="kept", reason="held", after_chars=decision.before_chars, replacement=None
    )


def decide_exchange(item: OldExchange, verdict: Verdict, config: Config) -> Decision:
    """Omitted below `exchangeOmitThreshold`: the stub on its prompt, nothing of the rest."""
    p = verdict.probability
    dropped = p is not None and p < config.exchange_omit_threshold
    return Decision(
        kind="exchange",
        entry_id=item.prompt_id,
        tool="exchange",
        label=item.label,
        outcome="removed" if dropped else "kept",
        reason=verdict.failure or ("unrelated" if dropped else "relevant"),
        before_chars=item.chars,
        after_chars=len(item.stub) if dropped else item.chars,
        traces=(verdict.trace,),
        replacement=(item.stub,) if dropped else None,
        omitted=item.entry_ids if dropped else None,
    )


def decide_images(item: OldImages) -> Decision:
    """Removed by age alone; no judge reads pictures."""
    return Decision(
        kind="image",
        entry_id=item.entry_id,
        tool=item.tool,
        label=item.label,
        outcome="removed",
        reason=item.reason,
        before_chars=item.before_chars,
        after_chars=item.after_chars,
        replacement=item.texts,
    )


def read_verdicts(requests: Iterable[Request], outcomes: dict[str, Answered]) -> dict[str, Verdict]:
    """The verdict on each item of the requests, by entry id."""
    found: dict[str, Verdict] = {}
    for request in requests:
        outcome = outcomes.get(request.id)
        for entry_id, question in zip(request.entry_ids, request.questions, strict=True):
            found[entry_id] = _verdict(outcome, question.id)
    return found


def _verdict(outcome: Answered | None, question: str) -> Verdict:
    match outcome:
        case None:
            return Verdict(failure="timeout")
        case Unanswered(reason=reason):
            return Verdict(failure="timeout" if reason == "timeout" else "error")
        case Answers():
            p = outcome.yes_no(question)
            by = dict(outcome.by).get(question, "")
            return Verdict(probability=p, failure="" if p is not None else "no-answer", by=by)


def _batches(items: Sequence[T], weight: Callable[[T], int], config: Config) -> Iterator[tuple[T, ...]]:
    """Neighbouring items, as many as one request may hold; an item over the limit goes alone."""
    batch: list[T] = []
    total = 0
    for item in items:
        if batch and (total + weight(item) > config.max_segment_chars or len(batch) >= config.max_chunks_per_segment):
            yield tuple(batch)
            batch, total = [], 0
        batch.append(item)
        total += weight(item)
    if batch:
        yield tuple(batch)


def _ids(noun: str, batch: Sequence[object]) -> list[str]:
    return [f"{noun}_{number}" for number in range(1, len(batch) + 1)]


def _small_weight(item: SmallOutput) -> int:
    return min(len(item.text), ITEM_CHARS) + ITEM_WEIGHT


def _exchange_weight(item: OldExchange) -> int:
    texts = min(len(item.prompt), PROMPT_CHARS) + min(len(item.answer), REPLY_CHARS)
    return texts + CALL_WEIGHT * len(item.calls) + ITEM_WEIGHT


def _small_part(name: str, item: SmallOutput) -> Part:
    return Part(
        id=name,
        text=clip(readable(item.text), ITEM_CHARS),
        tool=item.label,
        failed=item.is_error,
        superseded=item.superseded,
    )


def _exchange_part(name: str, item: OldExchange) -> Part:
    more = len(item.calls) - MAX_CALLS
    calls = item.calls if more <= 0 else (*item.calls[:MAX_CALLS], f"… {more} more")
    return Part(
        id=name,
        text=clip(trim(item.prompt), PROMPT_CHARS),
        reply=clip(item.answer, REPLY_CHARS),
        calls=calls,
        size=f"{plural(item.messages, 'message')}, about {format_chars(estimate_tokens(item.chars))} tokens",
    )


def _state(span: Span, wording: ItemsText, phase: Phase, parts: tuple[Part, ...]) -> State:
    mid_run = phase == "mid-run"
    return State(
        situation=wording.situation + ("" if span.history.is_empty else wording.with_history),
        history=span.history,
        question=clip(span.question, QUESTION_CHARS),
        answer=clip(span.answer, ANSWER_CHARS),
        notes=clip(trim(span.notes), NOTES_CHARS) if mid_run else "",
        latest_note=clip(trim(span.latest), NOTES_CHARS) if mid_run else "",
        parts=parts,
    )
