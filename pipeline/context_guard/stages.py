"""All stages in a row: `plan` (1 to 5) → ask → `settle` (6 to 8). Both halves are values: together the trace."""

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from context_guard.answers import Answered, Asked, Unanswered
from context_guard.boundary import RUN_END, Boundary
from context_guard.cache.layout import Layout, read_layout
from context_guard.candidates import Candidate
from context_guard.checkpoint import Checkpoint, decide_checkpoint
from context_guard.chunks import Cut, cut_chunks
from context_guard.config import Config
from context_guard.decisions import Decision, decide_output, to_result
from context_guard.drafts import Draft, write_drafts
from context_guard.gates import Gated, apply_gates
from context_guard.holds import find_holds, is_held
from context_guard.items import Items, add_items, collect_deferred, collect_items
from context_guard.keep_sets import KeepSet, decide_keep_set
from context_guard.records import Phase, Record
from context_guard.requests import Request, build_request
from context_guard.segments import Segment, pack_segments
from context_guard.span import Span, find_spans
from context_guard.transcript import Transcript
from context_guard.whole import (
    decide_exchange,
    decide_images,
    decide_small,
    exchange_requests,
    keep_held,
    read_verdicts,
    small_requests,
)


class Plan(Struct, frozen=True):
    """Everything up to the requests, one field a stage."""

    boundary: Boundary
    config: Config
    """As it holds for this phase."""
    layout: Layout
    spans: tuple[Span, ...] = ()
    """The runs judged, the current one last."""
    early: frozenset[str] = frozenset()
    """Images and deferred outputs from before the current run: their edits are weighed apart."""
    collected: Items = Items()
    """All that could be judged."""
    checkpoint: Checkpoint | None = None
    """Mid-run: whether to judge now."""
    items: Items = Items()
    """What this pass judges."""
    chunks: tuple[Cut, ...] = ()
    segments: tuple[Segment, ...] = ()
    requests: tuple[Request, ...] = ()

    @property
    def phase(self) -> Phase:
        return self.boundary.phase

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The large outputs that this pass judges."""
        return self.items.large


class Settlement(Struct, frozen=True):
    """Everything after the requests, one field a stage."""

    outcomes: tuple[Answered, ...]
    keep_sets: tuple[KeepSet, ...]
    gates: Gated
    """The decisions on all items, in the order large, small, exchange, image, after the sums."""
    drafts: tuple[Draft, ...]
    record: Record

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self.gates.decisions


def plan(transcript: Transcript, config: Config, boundary: Boundary = RUN_END) -> Plan:
    """Stages 1 to 5. Never fails; with nothing to judge there are no requests."""
    planned = find_items(transcript, for_phase(config, boundary.phase), boundary)
    for _, stage in PLANNING:
        planned = stage(planned)
    return planned


def settle(plan: Plan, asked: Asked) -> Settlement:
    """Stages 6 to 8. A request without an outcome counts as timed out: what it asked about is kept."""
    by_request = {outcome.request_id: outcome for outcome in _complete(plan, asked)}
    return settle_kept(
        plan,
        asked,
        tuple(decide_keep_set(segment, by_request.get(segment.id), plan.config) for segment in plan.segments),
    )


def settle_kept(plan: Plan, asked: Asked, keep_sets: tuple[KeepSet, ...]) -> Settlement:
    """The rest of it, once it is known which chunks stay."""
    outcomes = _complete(plan, asked)
    by_request = {outcome.request_id: outcome for outcome in outcomes}
    judged = tuple(_decide(plan, keep_sets, by_request)) if plan.boundary.has_judge else ()
    decided = (*judged, *map(decide_images, plan.items.images))
    gated = apply_gates(decided, plan.early, plan.phase, plan.layout, plan.config)
    record = _record(plan, asked, outcomes, gated.decisions)
    return Settlement(
        outcomes=outcomes,
        keep_sets=keep_sets,
        gates=gated,
        drafts=write_drafts(gated.decisions, record),
        record=record,
    )


def find_items(transcript: Transcript, config: Config, boundary: Boundary) -> Plan:
    """Stages 1 and 2: the runs, all that could be judged of them, and what is judged now. They go together: an output
    whose edit waits brings its run along. `config` is that for the phase."""
    empty = Plan(boundary=boundary, config=config, layout=read_layout(transcript, config, boundary))
    is_on = config.enabled and (config.mid_run or boundary.phase == "run-end")
    spans = find_spans(transcript, config, boundary) if is_on else ()
    if not spans:
        return empty
    collected = collect_items(transcript, spans, boundary, config)
    earlier, waiting = collect_deferred(transcript, spans, boundary, config)
    early = _early(collected, waiting, spans[-1])
    collected = add_items(waiting, collected)
    spans = earlier + spans
    checkpoint = (
        decide_checkpoint(collected, spans[-1], empty.layout, transcript.model, config)
        if boundary.phase == "mid-run"
        else None
    )
    return replace(
        empty,
        spans=spans,
        early=early,
        collected=collected,
        checkpoint=checkpoint,
        items=collected if checkpoint is None else checkpoint.items,
    )


def with_chunks(planned: Plan) -> Plan:
    """Stage 3."""
    return replace(planned, chunks=tuple(cut_chunks(item, planned.config) for item in planned.items.large))


def with_segments(planned: Plan) -> Plan:
    """Stage 4."""
    found = (segment for cut in planned.chunks for segment in pack_segments(cut, planned.config))
    return replace(planned, segments=tuple(found))


def with_requests(planned: Plan) -> Plan:
    """Stage 5."""
    has_some = planned.spans and planned.boundary.has_judge
    return replace(planned, requests=tuple(_requests(planned)) if has_some else ())


PLANNING: tuple[tuple[str, Callable[[Plan], Plan]], ...] = (
    ("chunks", with_chunks),
    ("segments", with_segments),
    ("requests", with_requests),
)
"""What `plan` does with the items, by name and in order: each fills in its own field from those before."""


def for_phase(config: Config, phase: Phase) -> Config:
    """The settings as a checkpoint uses them: its own chunk threshold, no minimum for the run."""
    if phase == "run-end":
        return config
    return replace(config, min_run_chars=0, chunk_keep_threshold=config.mid_run_chunk_keep_threshold)


def _requests(planned: Plan) -> Iterator[Request]:
    spans, items, config, phase = planned.spans, planned.items, planned.config, planned.phase
    runs = {span.start_id: span for span in spans}
    outputs = {cut.entry_id: (item, cut) for item, cut in zip(items.large, planned.chunks, strict=True)}
    for segment in planned.segments:
        if not segment.oversize:
            candidate, cut = outputs[segment.entry_id]
            yield build_request(runs[candidate.run_id], candidate, cut, segment, phase)
    for span in spans:
        own = tuple(item for item in items.small if item.run_id == span.start_id)
        yield from small_requests(span, own, config, phase)
    yield from exchange_requests(spans[-1], items.exchanges, config, phase)


def _complete(plan: Plan, asked: Asked) -> tuple[Answered, ...]:
    """One outcome for each request, in the order of the requests."""
    found = {outcome.request_id: outcome for outcome in asked.outcomes}
    return tuple(
        found.get(request.id) or Unanswered(request_id=request.id, reason="timeout", started=False)
        for request in plan.requests
    )


def _decide(plan: Plan, keep_sets: tuple[KeepSet, ...], outcomes: dict[str, Answered]) -> Iterator[Decision]:
    spans = {span.start_id: span for span in plan.spans}
    by_entry: dict[str, list[KeepSet]] = {}
    for keep_set in keep_sets:
        by_entry.setdefault(keep_set.entry_id, []).append(keep_set)
    for candidate, cut in zip(plan.items.large, plan.chunks, strict=True):
        own = tuple(by_entry[candidate.entry_id])
        span = spans[candidate.run_id]
        holds = find_holds(candidate, cut, span, plan.config)
        yield decide_output(candidate, cut, own, span.answer, plan.config, plan.phase, holds)
    verdicts = read_verdicts((request for request in plan.requests if request.kind != "segment"), outcomes)
    for small in plan.items.small:
        decision = decide_small(small, verdicts[small.entry_id], plan.config)
        held = decision.outcome == "removed" and is_held(small, spans[small.run_id], plan.config)
        yield keep_held(decision) if held else decision
    for exchange in plan.items.exchanges:
        yield decide_exchange(exchange, verdicts[exchange.prompt_id], plan.config)


def _early(collected: Items, waiting: Items, span: Span) -> frozenset[str]:
    images = (item.entry_id for item in collected.images if item.place < span.start)
    return frozenset([*images, *(item.entry_id for item in waiting.large), *(item.entry_id for item in waiting.small)])


def _record(plan: Plan, asked: Asked, outcomes: tuple[Answered, ...], decisions: tuple[Decision, ...]) -> Record:
    usages = [outcome.usage for outcome in outcomes if not isinstance(outcome, Unanswered)]
    return Record(
        v=1,
        phase=plan.phase,
        model=asked.judge or plan.config.model,
        saved_chars=sum(decision.before_chars - decision.after_chars for decision in decisions),
        requests=sum(1 for outcome in outcomes if not isinstance(outcome, Unanswered) or outcome.started),
        input_tokens=sum(usage.input_tokens for usage in usages),
        cost_usd=sum(usage.cost_usd for usage in usages),
        ms=asked.ms,
        timed_out=asked.timed_out,
        results=tuple(to_result(decision) for decision in decisions),
    )
