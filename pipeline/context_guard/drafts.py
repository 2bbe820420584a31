"""Stage 8. The changes that a host is asked to append. None of them touches what the host has stored."""

from msgspec import Struct

from context_guard.decisions import Decision
from context_guard.records import Record


class Replace(Struct, frozen=True, tag="replace"):
    """The model sees these text blocks in place of the entry's content; everything else of the entry stays."""

    target: str
    texts: tuple[str, ...]


class Omit(Struct, frozen=True, tag="omit"):
    """The model no longer sees the entry."""

    target: str


class Append(Struct, frozen=True, tag="append"):
    """The record of the pass, which no model sees."""

    record: Record


Draft = Replace | Omit | Append


def write_drafts(decisions: tuple[Decision, ...], record: Record) -> tuple[Draft, ...]:
    """One edit for each entry that changes, then the record; nothing at all when nothing was asked or changed.

    Edits are disjoint: an entry that one decision has taken is not edited again by a later one.
    """
    edits: dict[str, Replace | Omit] = {}
    for decision in decisions:
        if decision.replacement is not None:
            edits.setdefault(decision.entry_id, Replace(target=decision.entry_id, texts=decision.replacement))
        for target in decision.omitted or ():
            edits.setdefault(target, Omit(target=target))
    if not edits and record.requests == 0:
        return ()
    return (*edits.values(), Append(record=record))
