"""What is known of each conversation's place in Anthropic's cache, for the marks of its next request."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from context_guard.formats.pinned import Edited, Pinned, Sent, pin, without_pins
from context_guard.formats.splice import NO_BLOCKS
from context_guard_effects.settling import check_edited

CONVERSATIONS = 200
"""Whose entries in the provider's cache are remembered, the latest used."""


class Pins:
    """For any thread."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` in milliseconds since the epoch."""
        self._now = now
        self._lock = threading.Lock()
        self._sent: OrderedDict[str, Sent] = OrderedDict()
        """By the id of the conversation's first entry."""

    def place(self, edited: Edited) -> Pinned:
        """With marks; without, where those would make an invalid request."""
        opened = edited.opened
        if not opened.ids:
            return Pinned(edited.messages, NO_BLOCKS, Sent(), has_fresh=False)
        with self._lock:
            before = self._sent.get(opened.ids[0], Sent())
        pinned = self._pinned(edited, before)
        with self._lock:
            self._sent[opened.ids[0]] = pinned.sent
            self._sent.move_to_end(opened.ids[0])
            while len(self._sent) > CONVERSATIONS:
                self._sent.popitem(last=False)
        return pinned

    def _pinned(self, edited: Edited, before: Sent) -> Pinned:
        try:
            pinned = pin(edited, before, self._now())
            if pinned.has_fresh and pinned.messages is not edited.messages:
                check_edited(edited.opened.codec, edited.messages, pinned.messages)
        except (LookupError, TypeError, ValueError, AttributeError):  # messages of a form that nobody knows
            return Pinned(edited.messages, NO_BLOCKS, without_pins(edited, before), has_fresh=False)
        return pinned
