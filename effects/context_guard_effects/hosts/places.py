"""Changes at their places in a framework's own message list, for adapters.

The `src` of an entry is `3` for all of message 3, `3/1` for its part 1, `3/1-2` for its parts 1 to 2.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from context_guard.formats.message_list import Changes, Message
from context_guard.formats.parts import places_of

Texts = tuple[str, ...]


class Change(Struct, frozen=True):
    """What becomes of one message or of some of its parts."""

    parts: range | None
    """None: the message as a whole."""
    texts: Texts | None
    """None: it goes."""


def changes_by_message(read: Sequence[Message], changes: Changes) -> Mapping[int, tuple[Change, ...]]:
    """Index of a message → its changes, the last part first, so that dropping one moves none that is still to come."""
    found: dict[int, list[Change]] = {}
    for entry, texts in changes.items():
        messages, parts = places_of(read[entry].src)
        for message in messages:
            found.setdefault(message, []).append(Change(parts, texts))
    return {message: tuple(sorted(own, key=_first, reverse=True)) for message, own in found.items()}


def source(message: int, parts: Sequence[int]) -> str:
    """The `src` of neighbouring parts of a message."""
    return f"{message}/{parts[0]}" if len(parts) == 1 else f"{message}/{parts[0]}-{parts[-1]}"


def _first(change: Change) -> int:
    return change.parts[0] if change.parts is not None else 0
