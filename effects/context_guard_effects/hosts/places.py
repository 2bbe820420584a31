"""Edits at their places in a framework's own message list, for adapters: each entry's `src` is `3` for all of message 3,
`3/1` for its part 1, `3/1-2` for its parts 1 to 2."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from context_guard.formats.message_list import Edits, Message, entry_ids, fit
from context_guard.formats.parts import places_of

Texts = tuple[str, ...]


class Change(Struct, frozen=True):
    """What becomes of one message or of some of its parts."""

    parts: range | None
    """None: the message as a whole."""
    texts: Texts | None
    """None: it goes."""


def changes_by_message(read: Sequence[Message], edits: Edits) -> Mapping[int, tuple[Change, ...]]:
    """Index of a message → its changes, the last part first, so that dropping one moves none that is still to come."""
    found: dict[int, list[Change]] = {}
    for place, texts in sorted(fit(read, entry_ids(read), edits).items(), reverse=True):
        messages, parts = places_of(read[place].src)
        for message in messages:
            found.setdefault(message, []).append(Change(parts, texts))
    return {message: tuple(changes) for message, changes in found.items()}


def source(message: int, parts: Sequence[int]) -> str:
    """The `src` of neighbouring parts of a message."""
    return f"{message}/{parts[0]}" if len(parts) == 1 else f"{message}/{parts[0]}-{parts[-1]}"
