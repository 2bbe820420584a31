"""Cache marks of the guard's own in Anthropic requests: where the next request reads, and where it writes for later.

Only marks change, never content. One of the host's goes only where another of its own covers it, and only for ours.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from context_guard.cache.anchors import cache_anchors
from context_guard.cache.breakpoints import is_markable, place_anchors, place_breakpoints
from context_guard.cache.marks import Path, read_marks
from context_guard.cache.points import MAX_POINTS, TTL_MS, CachePoint
from context_guard.edit_log import LoggedPass
from context_guard.formats.fitting import Changes
from context_guard.formats.message_list import to_transcript
from context_guard.formats.opened import Opened
from context_guard.formats.parts import places_of
from context_guard.formats.splice import MARKABLE, Blocks
from context_guard.transcript import Model

Json = dict[str, Any]
Texts = tuple[str, ...] | None
PLACED = ("pinned", "already")


class Sent(Struct, frozen=True):
    """What is known of a conversation's requests."""

    written: tuple[CachePoint, ...] = ()
    """Entries in the provider's cache that nothing has changed in front of since."""
    edits: Mapping[str, Texts] = {}
    """Of the last request: entry id → what it showed instead."""


class Edited(Struct, frozen=True):
    """A request with the edits that hold in it."""

    opened: Opened
    log: tuple[LoggedPass, ...]
    changes: Changes
    messages: list[Json]


class Pinned(Struct, frozen=True):
    messages: list[Json]
    """The very list of the edited request where no mark is added."""
    blocks: Blocks
    """Of the system prompt and the tools, those that lose the host's mark."""
    sent: Sent
    has_fresh: bool
    """Whether it carries edits that the last request did not: their marks are of a kind of their own."""


def pin(edited: Edited, before: Sent, now: int) -> Pinned:
    """With marks where there is room for them. Raises LookupError, TypeError, ValueError or AttributeError for messages
    of a form that nobody knows."""
    opened = edited.opened
    after = without_pins(edited, before)
    fresh = _fresh(opened, before.edits, after.edits)
    kept = _kept(opened, edited.changes)
    body = {**opened.body, "messages": edited.messages}
    placed = place_breakpoints(body)
    if fresh:
        transcript = to_transcript(opened.codec.host, opened.read, edited.log, _model(opened))
        anchors = cache_anchors(transcript, after.written, now, fresh)
        read_at = _place_of(opened, edited.messages, kept, anchors.prompt)
        # Where there is no room for both, the read point goes before the question: it saves more in this request.
        both = place_breakpoints(body, anchors, read_at)
        alone = place_anchors(body, replace(anchors, write=None), read_at)
        placed = alone if alone.read in PLACED and both.read not in PLACED else both
    new = _points(opened, placed.body, kept, now)
    ids = {point.entry_id for point in new}
    alive = [point for point in after.written if now - point.time <= TTL_MS and point.entry_id not in ids]
    sent = Sent((*alive, *new)[-MAX_POINTS:], after.edits)
    return Pinned(placed.body["messages"], _changed(body, placed.body), sent, bool(fresh))


def without_pins(edited: Edited, before: Sent) -> Sent:
    """What is known once the request goes out without a mark of ours."""
    edits = {edited.opened.ids[at]: texts for at, texts in edited.changes.items()}
    fresh = _fresh(edited.opened, before.edits, edits)
    return Sent(_in_front(edited.opened, before.written, fresh), edits)


def _changed(body: Json, placed: Json) -> Blocks:
    return {
        (key, at): new
        for key in MARKABLE
        if placed.get(key) is not body.get(key)
        for at, (old, new) in enumerate(zip(body[key], placed[key], strict=True))
        if new is not old
    }


def _points(opened: Opened, body: Json, kept: tuple[int, ...], now: int) -> tuple[CachePoint, ...]:
    """The entries that this request writes."""
    orders = (mark.order for mark in read_marks(body) if mark.path[:1] == ("messages",))
    marked = [(kept[message], block) for _, message, block in orders]
    ids = (id for id, message in zip(opened.ids, opened.read, strict=True) if _holds(message.src, marked))
    return tuple(CachePoint(id, _model(opened).ref, now, opened.ids[-1]) for id in ids)


def _fresh(opened: Opened, before: Mapping[str, Texts], now: Mapping[str, Texts]) -> frozenset[str]:
    """The entries that the last request showed in another way."""
    there = frozenset(opened.ids)
    changed = {id for id, texts in now.items() if before.get(id, ...) != texts}
    return frozenset(changed | {id for id in before if id in there and id not in now})


def _in_front(opened: Opened, written: tuple[CachePoint, ...], fresh: frozenset[str]) -> tuple[CachePoint, ...]:
    """Those that the change leaves as they were, however long ago the pass was that it comes from."""
    if not fresh:
        return written
    places = {id: at for at, id in enumerate(opened.ids)}
    first = min(places[id] for id in fresh)
    return tuple(point for point in written if places.get(point.entry_id, first) < first)


def _model(opened: Opened) -> Model:
    return Model("anthropic", opened.model, opened.codec.api)


def _kept(opened: Opened, changes: Changes) -> tuple[int, ...]:
    """The messages of the agent's list that are sent, in order: an exchange that is left out takes its own with it."""
    left = (it.src for at, it in enumerate(opened.read) if changes.get(at, ()) is not None)
    shown = {place for src in left for place in _messages(src)}
    left_out = {place for at in changes for place in _messages(opened.read[at].src)} - shown
    return tuple(at for at in range(len(opened.messages)) if at not in left_out)


def _messages(src: str) -> range:
    return places_of(src)[0]


def _holds(src: str, marked: list[tuple[int, int]]) -> bool:
    """Whether one of the marked blocks is in the entry that this is the source of."""
    messages, blocks = places_of(src)
    return any(message in messages and (blocks is None or block in blocks) for message, block in marked)


def _place_of(opened: Opened, messages: list[Json], kept: tuple[int, ...], prompt: str | None) -> Path | None:
    """Where the prompt's last text that can be marked stands in what is sent."""
    if prompt is None:
        return None
    (given, *_), blocks = places_of(opened.read[opened.ids.index(prompt)].src)
    place = kept.index(given)
    content: Any = messages[place].get("content")
    if isinstance(content, str):
        return ("messages", place, "content") if content.strip() else None
    texts = [at for at in blocks or range(len(content)) if is_markable(content[at])]
    return ("messages", place, "content", texts[-1]) if texts else None
