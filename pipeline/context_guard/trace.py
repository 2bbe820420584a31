"""What a pass did, for people and for snapshots: nothing in it varies between two runs over the same input."""

from collections.abc import Iterator

from context_guard.answers import Answered, Answers, ChoiceAnswer, Unanswered
from context_guard.cache.break_even import Gate
from context_guard.candidates import Candidate
from context_guard.chunks import Chunk
from context_guard.decisions import Decision
from context_guard.drafts import Omit, Replace
from context_guard.idle import why_nothing
from context_guard.printable import pretty_json, visible
from context_guard.records import encode_record
from context_guard.requests import chunk_id
from context_guard.span import Span
from context_guard.stages import Plan, Settlement
from context_guard.text import format_probability, one_line, plural, shorten

TEXT_CHARS = 160
"""Of a question or an answer."""
ANSWERS_A_LINE = 8
VOLATILE = ("ms", "costUsd")
"""Keys of a record that differ between two runs over the same input."""


def trace_text(plan: Plan, settlement: Settlement) -> str:
    """The pass stage by stage: runs, then each item from its pieces to its decision, then the record's sums."""
    return visible("\n".join([*_trace(plan, settlement), ""]))


def replacement_text(plan: Plan, settlement: Settlement) -> str:
    """What the model sees instead, entry by entry, under a heading each."""
    labels = {decision.entry_id: decision.label for decision in settlement.decisions}
    texts: list[str] = []
    for draft in settlement.drafts:
        match draft:
            case Replace(target=target, texts=blocks):
                texts.append(f"== {target} {labels.get(target, '')}".rstrip())
                texts += blocks
            case Omit(target=target):
                texts.append(f"== {target} omitted")
    return visible("\n".join([*(texts or [why_nothing(plan, settlement) or "Nothing is replaced."]), ""]))


def record_json(settlement: Settlement) -> str:
    """The record of the pass without the values that vary."""
    return pretty_json({key: value for key, value in encode_record(settlement.record).items() if key not in VOLATILE})


def _trace(plan: Plan, settlement: Settlement) -> Iterator[str]:
    yield f"{plan.phase}: {plural(len(plan.requests), 'request')} to {settlement.record.model}"
    for span in plan.spans:
        yield from _span(span)
    if plan.checkpoint is not None:
        yield f"checkpoint {plan.checkpoint.reason}"
    if nothing := why_nothing(plan, settlement):
        yield nothing
    decisions = list(settlement.decisions)
    for candidate in plan.candidates:
        own = [item for item in decisions if item.kind == "large" and item.entry_id == candidate.entry_id]
        yield from _output(candidate, plan, settlement)
        yield from map(_decision, own)
    outcomes = {outcome.request_id: outcome for outcome in settlement.outcomes}
    for request in plan.requests:
        if request.kind != "segment":
            yield f"request {request.id} about {', '.join(request.entry_ids)}"
            yield from (
                f"    {part.id} superseded: {part.superseded}" for part in request.state.parts if part.superseded
            )
            yield from _answers(outcomes.get(request.id))
    for decision in decisions:
        if decision.kind != "large":
            yield f"{decision.kind} {decision.entry_id} {decision.label}"
            yield _decision(decision)
    gates = settlement.gates
    for name, gate in (("exchanges", gates.exchanges), ("early", gates.early), ("edits", gates.edits)):
        if gate is not None:
            yield _gate(name, gate)
    yield f"saved {settlement.record.saved_chars:,} characters"


def _span(span: Span) -> Iterator[str]:
    yield f"run {span.start_id}: {plural(span.turns, 'turn')}, {plural(len(span.results), 'result')}" + (
        "" if span.is_finished else ", unfinished"
    )
    yield f"  question: {_clipped(span.question)}"
    if span.answer:
        yield f"  answer: {_clipped(span.answer)}"
    history = span.history
    if not history.is_empty:
        told = [plural(len(history.exchanges), "exchange")]
        told += ["the first request"] if history.first_request else []
        told += ["a summary"] if history.summary else []
        yield f"  history: {', '.join(told)}"


def _output(candidate: Candidate, plan: Plan, settlement: Settlement) -> Iterator[str]:
    failed = ", failed" if candidate.is_error else ""
    yield f"output {candidate.entry_id} {candidate.label}: {_chars(candidate.text)}{failed}"
    if candidate.superseded:
        yield f"  superseded: {candidate.superseded}"
    cut = next(cut for cut in plan.chunks if cut.entry_id == candidate.entry_id)
    yield f"  {plural(len(cut.chunks), 'chunk')}{' by file' if cut.is_grep else ''}"
    outcomes = {outcome.request_id: outcome for outcome in settlement.outcomes}
    keep_sets = {(item.entry_id, item.segment): item for item in settlement.keep_sets}
    for segment in plan.segments:
        if segment.entry_id == candidate.entry_id:
            keep_set = keep_sets[segment.entry_id, segment.index]
            outcome = outcomes.get(segment.id)
            yield f"  segment {segment.id}: {keep_set.trace}"
            if isinstance(outcome, Unanswered):
                yield from _answers(outcome)
            for index in segment.chunks:
                verb = "keep" if index in keep_set.kept else "drop"
                yield f"    {verb} {_chunk(cut.chunks[index], outcome)}"


def _chunk(chunk: Chunk, outcome: Answered | None) -> str:
    name = chunk_id(chunk.index)
    lines = f"lines {chunk.start + 1}–{chunk.end}" if chunk.end > chunk.start + 1 else f"line {chunk.end}"
    parts = [lines, _chars(chunk.text)]
    if isinstance(outcome, Answers):
        parts.append(f"p{_p(outcome.yes_no(name))}")
    return f"{name}: {', '.join([*parts, *map(one_line, chunk.files)])}"


def _answers(outcome: Answered | None) -> Iterator[str]:
    match outcome:
        case Answers(answers=answers):
            printed = [
                f"{answer.id}={_choice(answer) if isinstance(answer, ChoiceAnswer) else _p(answer.probability)}"
                for answer in answers
            ]
            for start in range(0, len(printed), ANSWERS_A_LINE):
                yield f"    {' '.join(printed[start : start + ANSWERS_A_LINE])}"
        case Unanswered(reason=reason, detail=detail, started=started):
            said = f"    no answer: {reason}{f', {_clipped(detail)}' if detail else ''}"
            yield said if started else f"{said}, never asked"
        case None:
            yield "    no answer"


def _choice(answer: ChoiceAnswer) -> str:
    return f"{answer.choice}:{_p(answer.probability_of(answer.choice))}"


def _p(probability: float | None) -> str:
    return format_probability(probability)


def _decision(decision: Decision) -> str:
    sizes = f"{decision.before_chars:,}"
    if decision.replacement is not None:
        sizes += f" → {decision.after_chars:,}"
    lines = ""
    if decision.replacement is not None and decision.total_lines is not None:
        lines = f", {decision.kept_lines} of {plural(decision.total_lines, 'line')}"
    gone = f", with {', '.join(decision.omitted)}" if decision.omitted else ""
    held = f", held {', '.join(map(chunk_id, decision.held))}" if decision.held else ""
    elided = f", elided {decision.elided_chars:,}" if decision.elided_chars else ""
    return f"  {decision.outcome} ({decision.reason}): {sizes} characters{lines}{elided}{held}{gone}"


def _gate(name: str, gate: Gate) -> str:
    if gate.cost is not None:
        return f"{name} {gate.reason}: {gate.cost.words}"
    return f"{name} {gate.reason}: {gate.saved:,} characters saved, {gate.marginal:,} written again"


def _clipped(text: str) -> str:
    return shorten(one_line(text), TEXT_CHARS)


def _chars(text: str) -> str:
    return plural(len(text), "character") if len(text) < 1_000 else f"{len(text):,} characters"
