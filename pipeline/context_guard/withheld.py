"""Drafts that a host cannot carry out, taken back before anything is stored: what they are about stays, and the record
says why."""

from collections.abc import Collection

import msgspec

from context_guard.drafts import Append, Draft
from context_guard.records import ItemResult, Record


def withhold(drafts: tuple[Draft, ...], entry_ids: Collection[str], reason: str) -> tuple[Draft, ...]:
    """The drafts without the edits of the items that these entries stand for; an exchange stays whole."""
    record = next((draft.record for draft in drafts if isinstance(draft, Append)), None)
    results = record.results if record else ()
    hit = tuple(result for result in results if result.outcome != "kept" and _targets(result) & set(entry_ids))
    targets = set(entry_ids).union(*map(_targets, hit))
    return tuple(
        Append(_told(draft.record, hit, reason)) if isinstance(draft, Append) else draft
        for draft in drafts
        if isinstance(draft, Append) or draft.target not in targets
    )


def _targets(result: ItemResult) -> set[str]:
    return {result.entry_id, *(result.omitted or ())}


def _told(record: Record, hit: tuple[ItemResult, ...], reason: str) -> Record:
    saved = sum(result.before_chars - result.after_chars for result in hit)
    results = tuple(
        msgspec.structs.replace(result, outcome="kept", reason=reason, after_chars=result.before_chars, omitted=None)
        if result in hit
        else result
        for result in record.results
    )
    return msgspec.structs.replace(record, saved_chars=record.saved_chars - saved, results=results)
