"""Why one item was kept or dropped: the rule, or what the judge said against the thresholds, and what it costs."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from context_guard.bill import bill_lines
from context_guard.decisions import Decision
from context_guard.exchanges import OldExchange
from context_guard.labels import tool_label
from context_guard.left_alone import Ground, read_ground, why_left_alone
from context_guard.printable import visible_line
from context_guard.reasons import why_decided
from context_guard.records import DEFERRED, Kind, Phase
from context_guard.stages import Plan, Settlement
from context_guard.text import MARKER, one_line, plural, recall_call, shorten
from context_guard.text import format_probability as p
from context_guard.transcript import Entry, Transcript, calls_of, text_of
from context_guard.votes import ChunkVote, SegmentVote, read_votes

LEFT_ALONE = "left alone"
LABEL_CHARS = 60

Way = Callable[[str], str]
"""The id of an entry → how its original comes back: for a model the call of its tool, for people a command."""


class Earlier(Struct, frozen=True, rename="camel"):
    """What the record of a pass on the branch says about the entry."""

    record_id: str
    phase: Phase
    kind: Kind
    outcome: str
    reason: str
    before_chars: int
    after_chars: int
    traces: tuple[str, ...]
    exchange: str = ""
    """Prompt of the exchange with which it went."""


class Explanation(Struct, frozen=True, rename="camel"):
    entry_id: str
    label: str
    phase: Phase
    """Of the pass that is explained."""
    kind: Kind | None
    """None when it is no item of the pass."""
    outcome: str
    """distilled, removed, kept or left alone"""
    reason: str
    """As in a record; empty when it was left alone."""
    before_chars: int
    after_chars: int
    rule: str
    """The sentence that decided: the rule that ruled it out, or the last step of the decision."""
    segments: tuple[SegmentVote, ...] = ()
    costs: tuple[str, ...] = ()
    shown: str = ""
    """What the model sees of it now, where that is not the original."""
    earlier: tuple[Earlier, ...] = ()
    recall: str = ""
    """How the original comes back; empty when nothing is hidden."""


def explain(
    transcript: Transcript, plan: Plan, settlement: Settlement, entry_id: str, way: Way = recall_call
) -> Explanation | None:
    """Everything about one entry of the branch in this pass; None when the branch has no such entry."""
    return next(explain_all(transcript, plan, settlement, frozenset([entry_id]), way), None)


def explain_all(
    transcript: Transcript, plan: Plan, settlement: Settlement, wanted: frozenset[str], way: Way = recall_call
) -> Iterator[Explanation]:
    """The same about each wanted entry, in the branch's order; what they share is read once."""
    ground = read_ground(transcript, plan)
    return (_explain(ground, settlement, entry, way) for entry in transcript.entries if entry.id in wanted)


def _explain(ground: Ground, settlement: Settlement, entry: Entry, way: Way) -> Explanation:
    transcript, plan, entry_id = ground.transcript, ground.plan, entry.id
    decision = next((item for item in settlement.decisions if item.entry_id == entry_id), None)
    exchange = next((item for item in plan.items.exchanges if entry_id in item.entry_ids), None)
    whole = _decision_on(exchange, settlement)
    told = decision or whole
    earlier = tuple(_earlier(transcript, entry_id))
    hidden = _hidden(entry, told, earlier)
    return Explanation(
        entry_id=entry_id,
        label=decision.label if decision else _label(transcript, entry),
        phase=plan.phase,
        kind=told.kind if told else None,
        outcome=told.outcome if told else LEFT_ALONE,
        reason=told.reason if told else "",
        before_chars=told.before_chars if told else 0,
        after_chars=told.after_chars if told else 0,
        rule=_rule(ground, settlement, entry, decision, whole),
        segments=read_votes(plan, settlement, entry_id) if decision and decision.kind == "large" else (),
        costs=bill_lines(settlement.gates) if told and (told.replacement or told.reason == DEFERRED) else (),
        shown=_shown(transcript, entry),
        earlier=earlier,
        recall=way(hidden) if hidden else "",
    )


def explanation_text(explanation: Explanation) -> str:
    """The explanation for people, one thing a line."""
    return "".join(f"{visible_line(line)}\n" for line in _lines(explanation))


def _rule(
    ground: Ground, settlement: Settlement, entry: Entry, decision: Decision | None, whole: Decision | None
) -> str:
    plan = ground.plan
    parts = [why_decided(decision, plan, settlement)] if decision else []
    if whole is not None:
        inside = f"It belongs to the exchange of {one_line(whole.entry_id)}, which goes or stays as a whole."
        parts += [inside, why_decided(whole, plan, settlement)]
    return " ".join(parts) or why_left_alone(ground, entry)


def _decision_on(exchange: OldExchange | None, settlement: Settlement) -> Decision | None:
    if exchange is None:
        return None
    return next(
        (item for item in settlement.decisions if item.kind == "exchange" and item.entry_id == exchange.prompt_id), None
    )


def _label(transcript: Transcript, entry: Entry) -> str:
    if entry.role != "tool":
        said = shorten(one_line(text_of(entry.raw)), LABEL_CHARS)
        return f'{entry.role} "{said}"' if said else entry.role
    result = entry.raw_result
    calls = [call for item in transcript.entries if item.role == "assistant" for call in calls_of(item.raw)]
    call = next((call for call in reversed(calls) if result is not None and call.id == result.call_id), None)
    name = (result.name if result else "") or (call.name if call else "") or "tool"
    return tool_label(name, call.args if call else "")


def _earlier(transcript: Transcript, entry_id: str) -> Iterator[Earlier]:
    for stored in transcript.records:
        for result in stored.record.results:
            is_part = entry_id in (result.omitted or ())
            if result.entry_id == entry_id or is_part:
                yield Earlier(
                    record_id=stored.id,
                    phase=stored.record.phase,
                    kind=result.kind,
                    outcome=result.outcome,
                    reason=result.reason,
                    before_chars=result.before_chars,
                    after_chars=result.after_chars,
                    traces=result.jev,
                    exchange=result.entry_id if is_part else "",
                )


def _shown(transcript: Transcript, entry: Entry) -> str:
    """The edit in force on the entry, if there is one."""
    edit = next((edit for edit in reversed(transcript.edits) if edit.target == entry.id), None)
    if edit is None:
        return ""
    if edit.content is None:
        return f"omitted by the edit {edit.id}"
    text = text_of(edit.content)
    whose = "the guard's" if text.startswith(MARKER) else "another's"
    return f"{len(text):,} characters by {whose} edit {edit.id}"


def _hidden(entry: Entry, told: Decision | None, earlier: tuple[Earlier, ...]) -> str:
    """The id to recall, for what is hidden now and what this pass would hide: of a tool result or a prompt."""
    hidden = entry.visible != entry.raw and any(item.outcome != "kept" for item in earlier)
    goes = told is not None and told.replacement is not None
    if not hidden and not goes:
        return ""
    exchange = next((item.exchange for item in reversed(earlier) if item.exchange), "")
    prompt = exchange or (told.entry_id if told is not None and told.kind == "exchange" else "")
    return entry.id if entry.role in ("tool", "user") or not prompt else prompt


def _lines(told: Explanation) -> Iterator[str]:
    yield f"{told.entry_id} {told.label}"
    if told.kind is None:
        yield f"  {told.outcome}: {told.rule}"
    else:
        sizes = f"{told.before_chars:,}"
        if told.after_chars != told.before_chars:
            sizes += f" → {told.after_chars:,}"
        yield f"  {told.outcome} ({told.reason}): {told.kind} item of a {told.phase} pass, {sizes} characters"
        for segment in told.segments:
            yield from _segment(segment)
        yield f"  rule: {told.rule}"
    for cost in told.costs:
        yield f"  cost: {cost}"
    if told.shown:
        yield f"  the model sees now: {told.shown}"
    for item in told.earlier:
        yield _told_before(item)
        yield from (f"      judge: {trace}" for trace in item.traces)
    if told.recall:
        yield f"  the original: {told.recall}"


def _told_before(item: Earlier) -> str:
    where = f" with the exchange of {item.exchange}" if item.exchange else ""
    sizes = f"{item.before_chars:,}" + (f" → {item.after_chars:,}" if item.outcome != "kept" else "")
    return f"  record {item.record_id} ({item.phase}): {item.outcome} ({item.reason}){where}, {sizes} characters"


def _segment(segment: SegmentVote) -> Iterator[str]:
    kept = sum(chunk.kept for chunk in segment.chunks)
    said = f"keep_whole {p(segment.keep_whole)}, focus {segment.focus or '?'} {p(segment.focus_probability)}"
    yield f"  segment {segment.id}: {said}, {kept} of {plural(len(segment.chunks), 'chunk')} kept"
    yield f"    {segment.step}"
    yield from (f"    {_chunk(chunk, chunk.id == segment.focus)}" for chunk in segment.chunks)


def _chunk(chunk: ChunkVote, is_focus: bool) -> str:
    lines = f"lines {chunk.first_line}–{chunk.last_line}"
    if chunk.first_line == chunk.last_line:
        lines = f"line {chunk.last_line}"
    said = f"{'keep' if chunk.kept else 'drop'} {chunk.id} p{p(chunk.probability)}{' focus' if is_focus else ''}"
    return ", ".join([f"{said} {lines}", plural(chunk.chars, "character"), *chunk.files])
