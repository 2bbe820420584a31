"""Mends as the lines that bring them into a session of Pi. Nothing that stands in the file is touched.

Pi finds a parent by its id wherever its line stands, and takes the last edit of a target. So an entry that was lost can
be given a stand-in at the end of the file, and an edit that does harm a later one.
"""

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct

from context_guard.formats.pi_session import Json, PiSession
from context_guard.text import compact_json

DOCTOR_TYPE = "context-guard-doctor"
"""`customType` of what the doctor appends beside edits; no model sees it."""


class Redo(Struct, frozen=True, tag="redo"):
    """The model sees this content in place of the target's from now on."""

    target: str
    content: str | None
    """Blocks as JSON text, lone surrogates as they are; None takes the target out of the context."""


class StandIn(Struct, frozen=True, tag="stand-in"):
    """An entry under an id that others name as their parent and that no line has: it joins them to what came before."""

    id: str
    parent: str


class GoOn(Struct, frozen=True, tag="go-on"):
    """An entry behind the last one that has an id: Pi goes on there."""


Mend = Redo | StandIn | GoOn


def mend_lines(session: PiSession, mends: tuple[Mend, ...], ids: Iterator[str], now: str) -> bytes:
    """To append in one piece: stand-ins, edits behind the last entry, and an entry that says what was done.

    That entry ends the file, as Pi goes on behind the last one. `ids` and `now` as for `edit_lines`.
    """
    if not mends:
        return b""
    taken = set(session.places) | {mend.id for mend in mends if isinstance(mend, StandIn)}
    new: list[Json] = [_stand_in(mend, now) for mend in mends if isinstance(mend, StandIn)]
    parent = session.leaf
    redone = [mend for mend in mends if isinstance(mend, Redo)]
    for mend in (*redone, None):
        fresh = next(candidate for candidate in ids if candidate not in taken)
        taken.add(fresh)
        base = {"id": fresh, "parentId": parent, "timestamp": now}
        new.append(_report(mends, base) if mend is None else _edit(mend, base))
        parent = fresh
    return _encode(session, new)


def _stand_in(mend: StandIn, now: str) -> Json:
    return _custom({"v": 1, "standsFor": mend.id}, {"id": mend.id, "parentId": mend.parent, "timestamp": now})


def _edit(mend: Redo, base: Json) -> Json:
    replacement = None if mend.content is None else {"content": json.loads(mend.content)}
    return {"type": "context_edit", **base, "targetId": mend.target, "replacement": replacement}


def _report(mends: Iterable[Mend], base: Json) -> Json:
    redone = [mend.target for mend in mends if isinstance(mend, Redo)]
    joined = [mend.id for mend in mends if isinstance(mend, StandIn)]
    return _custom({"v": 1, "edited": redone, "standIns": joined}, base)


def _custom(data: Json, base: Json) -> Json:
    return {"type": "custom", "customType": DOCTOR_TYPE, "data": data, **base}


def _encode(session: PiSession, new: list[Json]) -> bytes:
    """A last line that was never ended is ended first, torn or whole, as Pi does when it opens the file."""
    start = "" if session.terminated else "\n"
    return (start + "".join(compact_json(entry) + "\n" for entry in new)).encode("utf-8", "backslashreplace")
