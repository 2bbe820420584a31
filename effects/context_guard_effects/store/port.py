"""What keeps raw outputs and the log of edits for hosts that hold a message list.

Every call blocks, on the disk and on other processes that write, and may come from any thread: callers in Trio or
asyncio run it in one. What `keep` has returned is on the disk: no crash of this process, or of another one that has
the same store open, loses it.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Protocol, Self, runtime_checkable

from msgspec import Struct

from context_guard.edit_log import LoggedPass, RawOutput


class StoreError(Exception):
    """The store cannot do what it was asked, and has changed nothing. One line: what is wrong, what to do."""

    @property
    def message(self) -> str:
        return str(self)


class IdTaken(StoreError):
    """An id stands for another content already. Without the edits of these ids the pass can be kept."""

    def __init__(self, message: str, ids: tuple[str, ...]) -> None:
        super().__init__(message)
        self.ids = ids


class Expired(Struct, frozen=True):
    """The store had this output, and has deleted it when it was asked to purge."""

    id: str
    at: int
    """When; milliseconds since the epoch."""


class StoreStatus(Struct, frozen=True):
    place: str
    """Path of the file, `:memory:`, or the address of a server without its password."""
    version: int
    """Of the schema."""
    size: int
    """Bytes that the store takes, its log of pending writes included."""
    outputs: int
    expired: int
    raw_size: int
    """Bytes of what is stored, before compression and with duplicates."""
    passes: int
    sessions: int
    oldest: int | None = None
    """When the first and the last pass were kept; milliseconds since the epoch."""
    newest: int | None = None


class StoredSession(Struct, frozen=True):
    session: str
    """The host's name for it; empty where it has none."""
    passes: int
    outputs: int
    first: int
    last: int


class Purged(Struct, frozen=True):
    passes: int
    """Passes whose edits and record are gone."""
    outputs: int
    """Outputs that have expired: no pass that is left needs them."""
    raw_size: int
    """Bytes of their contents before compression."""
    compacted: bool = True
    """Whether the file has been rewritten without what was deleted; not while another process reads."""


class Store(Protocol):
    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        """Stores the pass and what its edits hide, all or nothing, reads both back and compares; the pass with its
        place in the log. An edit whose raw output is neither given nor stored, or an id that stands for another
        content, raises with nothing written."""
        ...

    def find(self, ids: Collection[str]) -> tuple[LoggedPass, ...]:
        """Every pass with an edit of, or a result about, one of the ids, in the order of the log. A pass is there
        while everything that its edits hide is there."""
        ...

    def raw(self, id: str) -> RawOutput | Expired | None:
        """What recall gives back for an id; None when the store never had it."""
        ...

    def status(self) -> StoreStatus: ...

    def sessions(self) -> tuple[StoredSession, ...]:
        """The conversations of the log, the latest first."""
        ...

    def purge(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        """Deletes the passes kept longer ago, and of the session only where one is given, with every output that no
        other pass needs. Their ids are remembered as expired. By age alone, the user's own words (pins) stay."""
        ...

    def purgeable(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        """What `purge` would delete. Nothing changes."""
        ...

    def check(self) -> tuple[str, ...]:
        """Reads everything and compares it with its checksums: a line for each fault."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Claims(Protocol):
    """A store that processes share who each see the same conversations: one does a piece of work, the others do not."""

    def claim(self, key: str) -> Callable[[], None] | None:
        """Alone for whoever has it, until the function that it gets is called, or its process or connection ends. None:
        somebody has it. Raises StoreError. Blocks."""
        ...


@runtime_checkable
class Quota(Protocol):
    """A store through which processes share a limit."""

    def take(self, name: str, window: int, limit: int) -> bool:
        """One of the `limit` places that the window of that name has; False when all are taken. Windows are numbered
        in the order of time; those long past are forgotten. Raises StoreError. Blocks."""
        ...


class OpenStore(Store, Protocol):
    """A store of this package: closed at the end of a `with`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
