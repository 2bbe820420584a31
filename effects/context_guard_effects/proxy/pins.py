"""Cache marks of the guard's own in Anthropic requests: where the next request reads, and where it writes for later."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from context_guard.cache.anchors import Anchors, cache_anchors
from context_guard.cache.breakpoints import is_markable, place_breakpoints
from context_guard.cache.marks import Path, read_marks
from context_guard.cache.points import MAX_POINTS, TTL_MS, CachePoint
from context_guard.edit_log import LoggedPass
from context_guard.formats.message_list import Changes
from context_guard.formats.parts import places_of
from context_guard.transcript import Model
from context_guard_effects.moment import Moment
from context_guard_effects.proxy.opened import Opened
from context_guard_effects.settling import as_transcript, check_edited

CONVERSATIONS = 200
"""Whose entries in the provider's cache are remembered, the latest used."""

Json = dict[str, Any]
Texts = tuple[str, ...] | None


class _Sent(Struct, frozen=True):
    """What is known of a conversation's requests."""

    written: tuple[CachePoint, ...] = ()
    """Entries in the provider's cache that nothing has changed in front of since."""
    edits: Mapping[str, Texts] = {}
    """Of the last request: entry id → what it showed instead."""


class Pins:
    """For any thread. Only marks change, never content, and none of the host's."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` in milliseconds since the epoch."""
        self._now = now
        self._lock = threading.Lock()
        self._sent: OrderedDict[str, _Sent] = OrderedDict()
        """By the id of the conversation's first entry."""

    def place(self, opened: Opened, messages: list[Json], changes: Changes, log: tuple[LoggedPass, ...]) -> list[Json]:
        """The messages with their changes, and with marks where there is room for them. Where marks would make an
        invalid request there are none."""
        if not opened.ids:
            return messages
        before = self._before(opened.ids[0])
        edits = {opened.ids[at]: texts for at, texts in changes.items()}
        fresh = _fresh(opened, before.edits, edits)
        written = _in_front(opened, before.written, fresh)
        try:
            body = {**opened.body, "messages": messages}
            found = self._placed(opened, body, changes, _Sent(written), log, fresh)
            if fresh and found is not messages:
                check_edited(opened.codec, messages, found)
            points = self._points(opened, {**body, "messages": found}, changes, written)
        except (LookupError, TypeError, ValueError, AttributeError):  # messages of a form that nobody knows
            found, points = messages, written
        self._remember(opened.ids[0], _Sent(points, edits))
        return found

    def _before(self, root: str) -> _Sent:
        with self._lock:
            return self._sent.get(root, _Sent())

    def _remember(self, root: str, sent: _Sent) -> None:
        with self._lock:
            self._sent[root] = sent
            self._sent.move_to_end(root)
            while len(self._sent) > CONVERSATIONS:
                self._sent.popitem(last=False)

    def _placed(
        self,
        opened: Opened,
        body: Json,
        changes: Changes,
        sent: _Sent,
        log: tuple[LoggedPass, ...],
        fresh: frozenset[str],
    ) -> list[Json]:
        placed = place_breakpoints(body)
        if fresh:
            anchors = _anchors(opened, log, sent.written, fresh, self._now())
            place = _place_of(opened, body["messages"], _kept(opened, changes), anchors.prompt)
            wanted = place_breakpoints(body, anchors, place)
            # Marks in system and tools cannot be moved from here: what would need that goes without.
            placed = wanted if not wanted.dropped else placed
        found: list[Json] = body["messages"] if placed.dropped else placed.body["messages"]
        return found

    def _points(
        self, opened: Opened, body: Json, changes: Changes, written: tuple[CachePoint, ...]
    ) -> tuple[CachePoint, ...]:
        """With those that this request writes."""
        now, leaf, model, kept = self._now(), opened.ids[-1], _model(opened).ref, _kept(opened, changes)
        orders = (mark.order for mark in read_marks(body) if mark.path[:1] == ("messages",))
        marked = [(kept[message], block) for _, message, block in orders]
        ids = [id for id, message in zip(opened.ids, opened.read, strict=True) if _holds(message.src, marked)]
        alive = [point for point in written if now - point.time <= TTL_MS and point.entry_id not in ids]
        return (*alive, *(CachePoint(id, model, now, leaf) for id in ids))[-MAX_POINTS:]


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


def _anchors(
    opened: Opened, log: tuple[LoggedPass, ...], written: tuple[CachePoint, ...], fresh: frozenset[str], now: int
) -> Anchors:
    moment = Moment(model=_model(opened).ref, now=now)
    return cache_anchors(as_transcript(opened.codec, opened.read, log, moment, ""), written, now, fresh)


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
