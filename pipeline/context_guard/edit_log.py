"""What stands beside a message list: the edits and records of earlier passes, and the user's own words about an output.

A message list has no room for edits, so they are kept apart, in a log that is only appended to. Nothing in it names a
conversation: an item holds where its target stands *and* its witness, both told by content. So a fork that left before
the witness never sees the edit, one that left behind it goes on with the same bytes, and an edited history meets no
stale edit.
"""

from typing import Literal

from msgspec import Struct

from context_guard.records import Record


class Replaced(Struct, frozen=True, tag="replace"):
    """The model sees these texts in place of the target's content."""

    target: str
    texts: tuple[str, ...]


class Omitted(Struct, frozen=True, tag="omit"):
    """The model does not see the target."""

    target: str


class Restored(Struct, frozen=True, tag="restore"):
    """The model sees the target's raw content again, whatever came before."""

    target: str


class Pinned(Struct, frozen=True, tag="pin"):
    """No pass touches the target, and the model sees its raw content, until it is unpinned."""

    target: str


class Unpinned(Struct, frozen=True, tag="unpin"):
    target: str


LoggedEdit = Replaced | Omitted | Restored | Pinned | Unpinned


class LoggedPass(Struct, frozen=True, kw_only=True):
    """What one pass, or one word of the user, put into the log. Its edits hold all together or not at all."""

    witness: str
    """Id of the last assistant entry that the pass saw; empty for the user's word: it holds wherever its target is."""
    edits: tuple[LoggedEdit, ...] = ()
    record: Record | None = None
    session: str = ""
    """The host's name for the conversation: for people, never for deciding."""
    time: int = 0
    """Milliseconds since the epoch."""
    seq: int = 0
    """Place in the log, from 1; 0 before it is stored."""


class RawImage(Struct, frozen=True):
    media_type: str
    data: str
    """Base64 as the host had it, or the address of the picture."""
    kind: Literal["base64", "url"] = "base64"


class RawOutput(Struct, frozen=True, kw_only=True):
    """Everything that recall gives back for one id, exactly as the model first saw it."""

    id: str
    text: str
    """Lone surrogates included."""
    images: tuple[RawImage, ...] = ()
    tool: str = ""
    session: str = ""
