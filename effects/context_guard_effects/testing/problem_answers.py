"""What the judge said in a session, as the answers of a case: found by the material, as ids and numbers are others."""

from collections import defaultdict

from context_guard.answers import Answered, Answers, ChoiceAnswer, Unanswered
from context_guard.redact import redact, redact_pieces
from context_guard.requests import FOCUS, KEEP_WHOLE, Request, chunk_id
from context_guard.saved_trace import Trace
from context_guard.stages import Plan
from context_guard_effects.testing.cases import Toml, plan_case

DIGITS = 4
"""Of a probability. That they suffice is proven with the rest of the case."""


def said_in(case: Toml, names: dict[str, str], trace: Trace, texts: dict[str, str]) -> Toml:
    """The case's `answers`: to each of its requests what was said about the same material; nothing to the others.
    `texts`: the masked outputs of the session by entry."""
    _, planned = plan_case(case)
    ids = {name: entry_id for entry_id, name in names.items()}
    answers: Toml = {}
    for request in planned.requests:
        if request.kind == "segment":
            name = request.entry_ids[0]
            segments = [it for it in planned.segments if it.entry_id == name]
            said = _to_segment(request, planned, trace, (ids[name], texts[ids[name]]))
            if said is not None:
                answers[name if len(segments) == 1 else request.id] = said
        else:
            found = {name: _to_item(trace, ids[name]) for name in request.entry_ids}
            answers |= {name: said for name, said in found.items() if said is not None}
    return {"answers": answers} if answers else {}


def _to_segment(request: Request, planned: Plan, trace: Trace, output: tuple[str, str]) -> Toml | str | None:
    entry_id, text = output
    cut = next(it for it in planned.chunks if it.entry_id == request.entry_ids[0])
    segment = next(it for it in planned.segments if it.id == request.id)
    before = _by_text(trace, entry_id, text)
    numbers: dict[str, str] = {}
    """Chunks of the session by those of the case."""
    for index in segment.chunks:
        same = before.get(cut.chunks[index].text, [])
        later = [it for it in same if it not in numbers.values()]
        if later:
            numbers[chunk_id(index)] = later[0]
    outcome = _outcome(trace, entry_id, next(iter(numbers.values()), ""))
    if not isinstance(outcome, Answers):
        return _failure(outcome)
    said: Toml = {}
    if (whole := outcome.yes_no(KEEP_WHOLE)) is not None:
        said[KEEP_WHOLE] = round(whole, DIGITS)
    if (focus := outcome.choice(FOCUS)) is not None:
        said[FOCUS] = _focus(focus, {old: new for new, old in numbers.items()})
    for new, old in numbers.items():
        answered = _outcome(trace, entry_id, old)
        if isinstance(answered, Answers) and (p := answered.yes_no(old)) is not None:
            said[new] = round(p, DIGITS)
    return said


def _by_text(trace: Trace, entry_id: str, masked: str) -> dict[str, list[str]]:
    """Chunks of the output by their text, as the case has it: masked."""
    found: dict[str, list[str]] = defaultdict(list)
    for cut in trace.plan.chunks:
        if cut.entry_id == entry_id:
            is_as_long = len(masked) == cut.chunks[-1].stop
            pieces = redact_pieces([chunk.text for chunk in cut.chunks])
            for chunk, piece in zip(cut.chunks, pieces, strict=True):
                text = masked[chunk.offset : chunk.stop] if is_as_long else piece
                found[text].append(chunk_id(chunk.index))
    return found


def _outcome(trace: Trace, entry_id: str, chunk: str) -> Answered | None:
    """What was said about the segment that held the chunk."""
    for segment in trace.plan.segments:
        if segment.entry_id == entry_id and chunk in map(chunk_id, segment.chunks):
            return next((it for it in trace.settlement.outcomes if it.request_id == segment.id), None)
    return None


def _focus(focus: ChoiceAnswer, numbers: dict[str, str]) -> Toml:
    """The choice first, as the case wants it; chunks that are not in the case are left out."""
    known = {numbers.get(name, name): round(p, DIGITS) for name, p in focus.probabilities}
    chosen = numbers.get(focus.choice, focus.choice)
    return {chosen: known.get(chosen, 0.0)} | {
        name: p for name, p in known.items() if name in (*numbers.values(), "none", "whole")
    }


def _to_item(trace: Trace, entry_id: str) -> float | str | None:
    for request in trace.plan.requests:
        if request.kind != "segment" and entry_id in request.entry_ids:
            outcome = next((it for it in trace.settlement.outcomes if it.request_id == request.id), None)
            if not isinstance(outcome, Answers):
                return _failure(outcome)
            p = outcome.yes_no(request.questions[request.entry_ids.index(entry_id)].id)
            return None if p is None else round(p, DIGITS)
    return None


def _failure(outcome: Answered | None) -> str | None:
    match outcome:
        case Unanswered(started=False):
            return "never asked"
        case Unanswered(reason="timeout"):
            return "timeout"
        case Unanswered(detail=detail, replied=replied):
            return f"{'refused' if replied else 'error'}: {redact(detail)}"
        case _:
            return None
