"""What is known of each conversation's place in Anthropic's cache, for the marks of its next request."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from context_guard.formats.pinned import Edited, Sent, pin, without_pins
from context_guard_effects.settling import check_edited

CONVERSATIONS = 200
"""Whose entries in the provider's cache are remembered, the latest used."""

Json = dict[str, Any]


class Pins:
    """For any thread."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` in milliseconds since the epoch."""
        self._now = now
        self._lock = threading.Lock()
        self._sent: OrderedDict[str, Sent] = OrderedDict()
        """By the id of the conversation's first entry."""

    def place(self, edited: Edited) -> list[Json]:
        """The messages with marks; without, where those would make an invalid request."""
        opened = edited.opened
        if not opened.ids:
            return edited.messages
        with self._lock:
            before = self._sent.get(opened.ids[0], Sent())
        messages, sent = edited.messages, without_pins(edited, before)
        try:
            pinned = pin(edited, before, self._now())
            if pinned.has_fresh and pinned.messages is not messages:
                check_edited(opened.codec, messages, pinned.messages)
            messages, sent = pinned.messages, pinned.sent
        except (LookupError, TypeError, ValueError, AttributeError):  # messages of a form that nobody knows
            pass
        with self._lock:
            self._sent[opened.ids[0]] = sent
            self._sent.move_to_end(opened.ids[0])
            while len(self._sent) > CONVERSATIONS:
                self._sent.popitem(last=False)
        return messages
