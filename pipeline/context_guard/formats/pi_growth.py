"""A Pi session that grows: what new lines or entries make of a session, and new entries of a branch's transcript.

For a bridge that lives as long as Pi does. Nothing here is another reading of a session: it gives what `parse` and
`to_transcript` give for the whole, in the time that the new part takes.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from context_guard.formats.pi_entries import (
    read_pins,
    read_record,
    read_replacement,
    read_stored,
    takes_content,
    to_entry,
)
from context_guard.formats.pi_session import Json, PiSession, decode_lines, is_edit, message_of
from context_guard.formats.values import string
from context_guard.records import StoredRecord
from context_guard.transcript import AnyBlock, Edit, Entry, Model, Transcript


def empty_session(session_id: str, cwd: str) -> PiSession:
    """A session that Pi has not written to a file, before its first entry."""
    header = {"type": "session", "version": 3, "id": session_id, "cwd": cwd}
    return PiSession(
        header=header,
        version=3,
        entries=(),
        lines=(),
        places={},
        leaf=None,
        broken_lines=(),
        torn=False,
        terminated=True,
    )


def append_lines(session: PiSession, data: bytes) -> PiSession:
    """The session after Pi appended these whole lines to its file."""
    last = max([1, *session.lines[-1:], *session.broken_lines[-1:]])
    lines, broken = decode_lines(data.decode("utf-8", "replace"))
    numbered = [(last + number, entry) for number, entry in lines if entry.get("type") != "session"]
    known = [(number, entry) for number, entry in numbered if isinstance(entry.get("id"), str)]
    lost = [number for number, entry in numbered if not isinstance(entry.get("id"), str)]
    more_broken = sorted([*(last + number for number in broken), *lost])
    grown = _grown(session, known)
    if not more_broken:
        return grown
    torn = more_broken[-1] > max([0, *grown.lines[-1:]])
    return replace(grown, broken_lines=(*session.broken_lines, *more_broken), torn=torn)


def append_entries(session: PiSession, entries: Iterable[Json]) -> PiSession:
    """The session after Pi appended these to what it holds in memory; those known already change nothing."""
    last = max([1, *session.lines[-1:]])
    fresh = [entry for entry in entries if isinstance(entry.get("id"), str) and entry["id"] not in session.places]
    return _grown(session, list(enumerate(fresh, last + 1)))


def extend_transcript(session: PiSession, transcript: Transcript, leaf: str) -> Transcript | None:
    """The branch that ends at `leaf`, when it goes on from where this transcript ends; None when it does not.

    None too where more changes than the end: behind a compaction, or when an edit meets an entry that has no content
    of its own to replace.
    """
    path = _path_since(session, transcript.head, leaf)
    if path is None or any(entry.get("type") == "compaction" for entry in path):
        return None
    first = len(transcript.entries)
    entries, models = list(transcript.entries), _Models(transcript)
    hidden = set(transcript.hidden)
    for entry in path:
        source = f"line:{session.lines[session.places[entry['id']]]}"
        stored = read_stored(entry, source)
        model = models.after(entry)
        visible = () if stored.role == "meta" or stored.hidden else stored.raw
        hidden |= {entry["id"]} if stored.hidden else set()
        entries.append(to_entry(entry, stored, visible, model if stored.role == "assistant" else None, source))
    edits = _edits(session, path, entries, first)
    if edits is None:
        return None
    if edits:
        _show(edits, entries, frozenset(transcript.context) | frozenset(range(first, len(entries))))
    return replace(
        transcript,
        entries=tuple(entries),
        head=leaf,
        context=(*transcript.context, *range(first, len(entries))),
        edits=(*transcript.edits, *edits),
        records=(
            *transcript.records,
            *(
                StoredRecord(id=entry["id"], at=at, record=record)
                for at, entry in enumerate(path, first)
                if (record := read_record(entry)) is not None
            ),
        ),
        model=models.model,
        pinned=read_pins(path, transcript.pinned),
        hidden=frozenset(hidden),
    )


def _show(edits: list[Edit], entries: list[Entry], context: frozenset[int]) -> None:
    """Puts in place what the edits make visible of entries in the context."""
    places = {entry.id: place for place, entry in enumerate(entries)}
    for edit in edits:
        place = places.get(edit.target)
        if place in context and place is not None:
            entries[place] = replace(entries[place], visible=edit.content)


def _grown(session: PiSession, numbered: list[tuple[int, Json]]) -> PiSession:
    if not numbered:
        return session
    first = len(session.entries)
    places = {entry["id"]: first + at for at, (_, entry) in enumerate(numbered)}
    return replace(
        session,
        entries=(*session.entries, *(entry for _, entry in numbered)),
        lines=(*session.lines, *(number for number, _ in numbered)),
        places={**session.places, **places},
        leaf=numbered[-1][1]["id"],
        torn=False,
        terminated=True,
    )


def _path_since(session: PiSession, head: str | None, leaf: str) -> list[Json] | None:
    """The entries behind `head` up to `leaf`; None when `leaf` does not come of it."""
    path: list[Json] = []
    at: str | None = leaf
    seen: set[str] = set()
    while at != head:
        place = session.places.get(at or "")
        if place is None or at is None or at in seen:
            return None
        seen.add(at)
        entry = session.entries[place]
        path.append(entry)
        at = string(entry.get("parentId")) or None
    return path[::-1]


class _Models:
    """The model in force, entry by entry, as `to_transcript` tells it."""

    def __init__(self, transcript: Transcript) -> None:
        self.model = transcript.model
        self._past = transcript.entries
        self._new: dict[tuple[str, str], str] = {}

    def after(self, entry: Json) -> Model | None:
        message = message_of(entry)
        if message.get("role") == "assistant":
            name = (string(message.get("provider")), string(message.get("model")))
            self._new[name] = string(message.get("api"))
            self.model = Model(*name, self._new[name])
        elif entry.get("type") == "model_change":
            name = (string(entry.get("provider")), string(entry.get("modelId")))
            self.model = Model(*name, self._api(name))
        return self.model

    def _api(self, name: tuple[str, str]) -> str:
        if name in self._new:
            return self._new[name]
        models = (entry.model for entry in reversed(self._past) if entry.model is not None)
        return next((model.api for model in models if (model.provider, model.id) == name), "")


def _edits(session: PiSession, path: list[Json], entries: list[Entry], first: int) -> list[Edit] | None:
    """The edits among the new entries; None when one of them is no mere exchange of content."""
    if not any(map(is_edit, path)):
        return []
    on_branch = {entry.id for entry in entries}
    edits: list[Edit] = []
    for at, entry in enumerate(path, first):
        if not is_edit(entry):
            continue
        target = entry["targetId"]
        content: tuple[AnyBlock, ...] | None
        if target in on_branch:
            own = session.entries[session.places[target]]
            if not takes_content(own):
                return None
            tool = message_of(own) if message_of(own).get("role") == "toolResult" else None
        else:
            tool = None
        content = read_replacement(entry["replacement"], tool, f"line:{session.lines[session.places[entry['id']]]}")
        edits.append(Edit(id=entry["id"], target=target, at=at, content=content))
    return edits
