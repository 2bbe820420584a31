"""Which drafts of a pass a live host may still be given, when the conversation has gone on since the pass was planned.

A host takes all drafts of a boundary or none. So what no longer fits goes by itself, an exchange always as a whole.
"""

import msgspec

from context_guard.decisions import Decision, to_result
from context_guard.drafts import Draft, write_drafts
from context_guard.records import Record
from context_guard.stages import Settlement
from context_guard.transcript import EDITABLE, Transcript


def fit_drafts(
    settlement: Settlement, planned_at: str | None, transcript: Transcript, taken: frozenset[str] = frozenset()
) -> tuple[Draft, ...]:
    """The drafts that fit the branch as it is now; none when it has left the point at which they were planned.

    `planned_at` is the head of the branch at that time, `taken` what other drafts of the same boundary edit. Left out
    are decisions about entries that somebody has edited since, and all of them once the branch holds their record.
    """
    places = {entry.id: place for place, entry in enumerate(transcript.entries)}
    head = places.get(planned_at or "")
    if head is None or any(entry.role == "summary" for entry in transcript.entries[head + 1 :]):
        return ()
    if any(stored.at > head and stored.record == settlement.record for stored in transcript.records):
        return ()
    touched = taken | {edit.target for edit in transcript.edits if edit.at > head} | transcript.pinned
    editable = {entry.id for entry in transcript.entries if entry.role in EDITABLE}
    fit = tuple(
        decision
        for decision in settlement.decisions
        if touched.isdisjoint(targets := targets_of(decision)) and editable.issuperset(targets)
    )
    if fit == settlement.decisions:
        return settlement.drafts
    return write_drafts(fit, _record_of(settlement.record, fit))


def refused_targets(transcript: Transcript, targets: tuple[str | None, ...]) -> tuple[int, ...]:
    """Places of the edits whose targets a host would refuse, and with them every other draft of the boundary."""
    if not any(targets):
        return ()
    editable = {entry.id for entry in transcript.entries if entry.role in EDITABLE}
    return tuple(place for place, target in enumerate(targets) if target is not None and target not in editable)


def targets_of(decision: Decision) -> frozenset[str]:
    """The entries that the decision edits."""
    own = () if decision.replacement is None else (decision.entry_id,)
    return frozenset((*own, *(decision.omitted or ())))


def _record_of(record: Record, decisions: tuple[Decision, ...]) -> Record:
    """The record of a pass of which only these decisions are carried out."""
    return msgspec.structs.replace(
        record,
        saved_chars=sum(decision.before_chars - decision.after_chars for decision in decisions),
        results=tuple(to_result(decision) for decision in decisions),
    )
