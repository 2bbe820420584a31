"""Cache marks of the guard's own in Anthropic requests: where the next request reads, and where it writes for later."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from context_guard.cache.anchors import Anchors, cache_anchors
from context_guard.cache.breakpoints import place_breakpoints
from context_guard.cache.marks import Path, read_marks
from context_guard.cache.points import MAX_POINTS, TTL_MS, CachePoint
from context_guard.edit_log import LoggedPass
from context_guard.formats.message_list import Changes
from context_guard.formats.parts import places_of
from context_guard.transcript import Model
from context_guard_effects.moment import Moment
from context_guard_effects.proxy.opened import Opened
from context_guard_effects.settling import as_transcript

CONVERSATIONS = 200
"""Whose entries in the provider's cache are remembered, the latest used."""

Json = dict[str, Any]


class Pins:
    """For any thread. Only marks change, never content, and none of the host's."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` in milliseconds since the epoch."""
        self._now = now
        self._lock = threading.Lock()
        self._written: OrderedDict[str, tuple[CachePoint, ...]] = OrderedDict()
        """By the id of the conversation's first entry."""

    def place(
        self, opened: Opened, messages: list[Json], changes: Changes, log: tuple[LoggedPass, ...], is_fresh: bool
    ) -> list[Json]:
        """The messages with their changes, and with marks where there is room for them. `is_fresh`: there are edits
        that no answered request has carried yet."""
        model = Model("anthropic", opened.model, opened.codec.api)
        written = self._known(opened)
        kept = _kept(opened, changes)
        body = {**opened.body, "messages": messages}
        try:
            placed = place_breakpoints(body)
            if is_fresh:
                anchors = _anchors(opened, log, written, model, self._now())
                wanted = place_breakpoints(body, anchors, _place_of(opened, messages, kept, anchors.prompt))
                # Marks in system and tools cannot be moved from here: what would need that goes without.
                placed = wanted if not wanted.dropped else placed
            found: list[Json] = messages if placed.dropped else placed.body["messages"]
            self._remember(opened, written, {**body, "messages": found}, kept, model)
        except (LookupError, TypeError, ValueError, AttributeError):  # messages of a form that nobody knows
            return messages
        return found

    def _known(self, opened: Opened) -> tuple[CachePoint, ...]:
        with self._lock:
            return self._written.get(opened.ids[0], ()) if opened.ids else ()

    def _remember(
        self, opened: Opened, written: tuple[CachePoint, ...], body: Json, kept: tuple[int, ...], model: Model
    ) -> None:
        now, leaf = self._now(), opened.ids[-1]
        orders = (mark.order for mark in read_marks(body) if mark.path[:1] == ("messages",))
        marked = [(kept[message], block) for _, message, block in orders]
        ids = [id for id, message in zip(opened.ids, opened.read, strict=True) if _holds(message.src, marked)]
        alive = [point for point in written if now - point.time <= TTL_MS and point.entry_id not in ids]
        points = (*alive, *(CachePoint(id, model.ref, now, leaf) for id in ids))
        with self._lock:
            self._written[opened.ids[0]] = points[-MAX_POINTS:]
            self._written.move_to_end(opened.ids[0])
            while len(self._written) > CONVERSATIONS:
                self._written.popitem(last=False)


def _anchors(
    opened: Opened, log: tuple[LoggedPass, ...], written: tuple[CachePoint, ...], model: Model, now: int
) -> Anchors:
    moment = Moment(model=model.ref, now=now)
    return cache_anchors(as_transcript(opened.codec, opened.read, log, moment, ""), written, now)


def _kept(opened: Opened, changes: Changes) -> tuple[int, ...]:
    """The messages of the agent's list that are sent, in order: an exchange that is left out takes its own with it."""
    shown = {
        place for at, it in enumerate(opened.read) if changes.get(at, ()) is not None for place in _messages(it.src)
    }
    left_out = {place for at in changes for place in _messages(opened.read[at].src)} - shown
    return tuple(at for at in range(len(opened.messages)) if at not in left_out)


def _messages(src: str) -> range:
    return places_of(src)[0]


def _holds(src: str, marked: list[tuple[int, int]]) -> bool:
    """Whether one of the marked blocks is in the entry that this is the source of."""
    messages, blocks = places_of(src)
    return any(message in messages and (blocks is None or block in blocks) for message, block in marked)


def _place_of(opened: Opened, messages: list[Json], kept: tuple[int, ...], prompt: str | None) -> Path | None:
    """Where the prompt's last text stands in what is sent."""
    if prompt is None:
        return None
    (given, *_), blocks = places_of(opened.read[opened.ids.index(prompt)].src)
    place = kept.index(given)
    content: Any = messages[place].get("content")
    if isinstance(content, str):
        return ("messages", place, "content")
    texts = [at for at in blocks or range(len(content)) if content[at].get("type") == "text"]
    return ("messages", place, "content", texts[-1]) if texts else None
