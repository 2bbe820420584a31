"""One output of a session as a page shows it: what was decided and why, and its text on both sides."""

from collections.abc import Iterator

from msgspec import Struct

from context_guard.answers import Answers
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.drafts import Omit
from context_guard.explain import LEFT_ALONE, Earlier, Explanation, Way, explain_all
from context_guard.records import DEFERRED, Kind
from context_guard.report.earlier_rows import align
from context_guard.report.rows import MOST_CHARS, Row, find_rows, to_row, with_votes
from context_guard.sizes import blocks_chars, visible_chars
from context_guard.stages import Plan, Settlement
from context_guard.text import clip
from context_guard.transcript import Entry, Transcript, calls_of, images_of, shown, text_of
from context_guard.votes import SegmentVote
from context_guard.whole import read_verdicts

EDITED = "edited before"
"""Left alone by this pass, since an edit of the branch is in force on it."""


COMPACTED = "compacted"
"""Out of the context; no edit of the guard took it out."""


class Segment(Struct, frozen=True, rename="camel"):
    """What the judge said about a part of a large output as a whole; its chunks are in the rows."""

    id: str
    keep_whole: float | None
    focus: str
    focus_probability: float | None
    step: str


class Output(Struct, frozen=True, rename="camel"):
    """A tool output, or an exchange that was judged as a whole."""

    id: str
    label: str
    kind: Kind | None
    outcome: str
    """distilled, removed, kept, left alone, edited before or compacted"""
    reason: str
    rule: str
    before_chars: int
    after_chars: int
    rows: tuple[Row, ...]
    header: str = ""
    """What the model reads above the rows, or instead of all of them."""
    probability: float | None = None
    """That an item which goes or stays as a whole is needed."""
    threshold: float | None = None
    """From which on such an item stays, or a chunk."""
    threshold_name: str = ""
    whole_threshold: float | None = None
    """From which on all of a large output stays."""
    segments: tuple[Segment, ...] = ()
    raw: tuple[tuple[str, float], ...] = ()
    """Probabilities before the judge mapped them onto the thresholds, where they differ."""
    costs: tuple[str, ...] = ()
    """Where they are why it stays for now; those of the pass stand on the page."""
    earlier: tuple[Earlier, ...] = ()
    recall: str = ""


def read_outputs(transcript: Transcript, plan: Plan, settlement: Settlement, way: Way) -> Iterator[Output]:
    """Every tool output of the branch and every exchange that was judged, in the branch's order."""
    decisions = {item.entry_id: item for item in settlement.decisions}
    entries = {entry.id: entry for entry in transcript.entries}
    omitted = frozenset(draft.target for draft in settlement.drafts if isinstance(draft, Omit))
    seen = frozenset(entry.id for entry in shown(transcript))
    wanted = frozenset(entry.id for entry in transcript.entries if entry.role == "tool") | decisions.keys()
    for told in explain_all(transcript, plan, settlement, wanted, way):
        entry, decision = entries[told.entry_id], decisions.get(told.entry_id)
        if decision is not None:
            yield _decided(told, decision, transcript, plan, settlement)
        else:
            yield _undecided(told, entry, entry.id in seen, entry.id in omitted)


def _decided(
    told: Explanation, decision: Decision, transcript: Transcript, plan: Plan, settlement: Settlement
) -> Output:
    probability, threshold, name = _weighed(decision, plan, settlement)
    return Output(
        id=told.entry_id,
        label=told.label,
        kind=decision.kind,
        outcome=decision.outcome,
        reason=decision.reason,
        rule=told.rule,
        before_chars=decision.before_chars,
        after_chars=decision.after_chars,
        rows=_rows(decision, told, transcript, plan),
        header=_header(decision),
        probability=probability,
        threshold=threshold,
        threshold_name=name,
        whole_threshold=plan.config.keep_whole_threshold,
        segments=tuple(map(_segment, told.segments)),
        raw=_raw(told.segments, settlement),
        costs=told.costs if decision.reason == DEFERRED else (),
        earlier=told.earlier,
        recall=told.recall,
    )


def _undecided(told: Explanation, entry: Entry, is_seen: bool, goes: bool) -> Output:
    """No item of the pass: as it is, as an earlier edit shows it, out of the context, or gone with its exchange."""
    is_edited = is_seen and not goes and entry.visible != entry.raw
    seen = text_of(entry.visible) or told.shown if is_edited else ""
    rows = align(text_of(entry.raw), seen)
    return Output(
        id=told.entry_id,
        label=told.label,
        kind=None,
        outcome="removed" if goes else EDITED if is_edited else LEFT_ALONE if is_seen else COMPACTED,
        reason=told.reason if goes else "",
        rule=told.rule,
        before_chars=blocks_chars(entry.raw),
        after_chars=visible_chars(entry) if is_seen and not goes else 0,
        rows=rows or (to_row(_said(entry), is_seen and not is_edited and not goes),),
        header=clip(seen.partition("\n")[0] if rows else seen, MOST_CHARS),
        earlier=told.earlier,
        recall=told.recall,
    )


def _segment(vote: SegmentVote) -> Segment:
    return Segment(
        id=vote.id,
        keep_whole=vote.keep_whole,
        focus=vote.focus,
        focus_probability=vote.focus_probability,
        step=vote.step,
    )


def _header(decision: Decision) -> str:
    if decision.replacement is None:
        return ""
    text = "\n".join(decision.replacement)
    return text.partition("\n")[0] if decision.stretches and decision.kept_lines else text


def _rows(decision: Decision, told: Explanation, transcript: Transcript, plan: Plan) -> tuple[Row, ...]:
    if decision.kind == "large":
        pairs = zip(plan.items.large, plan.chunks, strict=True)
        candidate, cut = next((it, cut) for it, cut in pairs if it.entry_id == decision.entry_id)
        return with_votes(tuple(find_rows(candidate, cut, decision, plan.config)), told.segments)
    ids = [decision.entry_id, *(decision.omitted or ())]
    if decision.kind == "exchange":
        exchange = next(item for item in plan.items.exchanges if item.prompt_id == decision.entry_id)
        ids = [exchange.prompt_id, *exchange.entry_ids]
    wanted = frozenset(ids)
    kept = decision.replacement is None
    return tuple(to_row(_said(entry), kept) for entry in transcript.entries if entry.id in wanted)


def _weighed(decision: Decision, plan: Plan, settlement: Settlement) -> tuple[float | None, float | None, str]:
    """The probability of an item that goes or stays as a whole, and the threshold with its name."""
    config: Config = plan.config
    match decision.kind:
        case "large":
            return None, config.chunk_keep_threshold, "chunkKeepThreshold"
        case "image":
            return None, None, ""
        case "small":
            threshold, name = config.small_keep_threshold, "smallKeepThreshold"
        case "exchange":
            threshold, name = config.exchange_omit_threshold, "exchangeOmitThreshold"
    outcomes = {outcome.request_id: outcome for outcome in settlement.outcomes}
    requests = tuple(request for request in plan.requests if decision.entry_id in request.entry_ids)
    return read_verdicts(requests, outcomes)[decision.entry_id].probability, threshold, name


def _raw(segments: tuple[SegmentVote, ...], settlement: Settlement) -> tuple[tuple[str, float], ...]:
    ids = {segment.id for segment in segments}
    answered = (it for it in settlement.outcomes if isinstance(it, Answers) and it.request_id in ids)
    return tuple(pair for answers in answered for pair in answers.raw if pair[0].startswith("chunk_"))


def _said(entry: Entry) -> str:
    """The text of an entry; its calls and pictures by name."""
    calls = [f"{call.name} {call.args}".rstrip() for call in calls_of(entry.raw)]
    pictures = [f"[{image.media_type}, {image.width or '?'} × {image.height or '?'}]" for image in images_of(entry.raw)]
    return "\n".join(part for part in (text_of(entry.raw), *calls, *pictures) if part)
