"""A store in one SQLite file that threads and processes share, or in memory.

One connection, and threads take turns on it: a call takes about a millisecond, and writers wait for the disk anyway.
After a fork the child opens a connection of its own, and where the file was deleted a new store is made.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path

from msgspec import Struct, structs

from context_guard.edit_log import LoggedPass, RawOutput
from context_guard_effects.store.blobs import get_blob
from context_guard_effects.store.clock import Clock, now_ms
from context_guard_effects.store.closing import Closing
from context_guard_effects.store.connect import connect, connect_memory, telling, transaction
from context_guard_effects.store.encoding import check_output, check_pass, encode_pass, find_needed
from context_guard_effects.store.faults import find_faults
from context_guard_effects.store.outputs import get_output, is_stored, put_outputs
from context_guard_effects.store.passes import LoadPass, find_passes, get_pass, put_pass
from context_guard_effects.store.port import Expired, Purged, StoredSession, StoreError, StoreStatus
from context_guard_effects.store.purge import compact, delete_passes, undo_pass
from context_guard_effects.store.quota import take_place
from context_guard_effects.store.summary import list_sessions, sum_up

REMEMBERED = 256
"""Passes kept decoded: a host asks for those of its conversation before each request. A pass never changes."""

_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process, which a child may neither use nor close."""


class _Opened(Struct, frozen=True):
    db: sqlite3.Connection
    load: LoadPass
    lock: threading.RLock
    pid: int
    file: tuple[int, int] | None


def memory_store(now: Clock = now_ms) -> "SqliteStore":
    """A store that lasts as long as this object."""
    return SqliteStore(None, now)


class SqliteStore(Closing):
    """See `Store` for what each call promises."""

    def __init__(self, path: Path | None, now: Clock) -> None:
        self.path = path
        self._now = now
        self._closed = False
        self._opened = self._open()

    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        body = encode_pass(pass_)
        with self._session() as db:
            with transaction(db, "IMMEDIATE"):
                put_outputs(db, raws)
                needed = {raw.id for raw in raws} | find_needed(pass_, partial(is_stored, db))
                seq = put_pass(db, pass_, needed, self._now())
            try:
                return _read_back(db, seq, body, raws)
            except BaseException:
                with contextlib.suppress(sqlite3.Error), transaction(db, "IMMEDIATE"):
                    undo_pass(db, seq)
                raise

    def find(self, ids: Collection[str]) -> tuple[LoggedPass, ...]:
        with self._session() as db, transaction(db, "DEFERRED"):
            return tuple(find_passes(db, ids, self._opened.load))

    def raw(self, id: str) -> RawOutput | Expired | None:
        with self._session() as db, transaction(db, "DEFERRED"):
            return get_output(db, id)

    def status(self) -> StoreStatus:
        with self._session() as db, transaction(db, "DEFERRED"):
            return sum_up(db, self.path)

    def sessions(self) -> tuple[StoredSession, ...]:
        with self._session() as db, transaction(db, "DEFERRED"):
            return list_sessions(db)

    def purge(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        now = self._now()
        with self._session() as db:
            db.execute("PRAGMA secure_delete = ON")
            with transaction(db, "IMMEDIATE"):
                purged = delete_passes(db, now, older_than, session)
            compacted = compact(db) if purged.passes or purged.outputs else True
        return Purged(purged.passes, purged.outputs, purged.raw_size, compacted)

    def purgeable(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        with self._session() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                return delete_passes(db, self._now(), older_than, session)
            finally:
                db.execute("ROLLBACK")

    def check(self) -> tuple[str, ...]:
        with self._session() as db, transaction(db, "DEFERRED"):
            return tuple(find_faults(db, self.path))

    def take(self, name: str, window: int, limit: int) -> bool:
        with self._session() as db, transaction(db, "IMMEDIATE"):
            return take_place(db, name, window, limit)

    def close(self) -> None:
        self._closed = True
        opened = self._opened
        if opened.pid == os.getpid():
            with opened.lock:
                opened.db.close()

    @contextlib.contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        if self._opened.pid != os.getpid() and self.path is not None:
            _inherited.append(self._opened.db)
            self._opened = self._open()
        with self._opened.lock, telling(self.path or ":memory:"):
            if self._closed:
                raise StoreError(f"{self.path or ':memory:'} was closed by this process. Open it again.")
            if self._opened.file != _identity(self.path):
                self._opened.db.close()
                self._opened = structs.replace(self._open(), lock=self._opened.lock)
            yield self._opened.db

    def _open(self) -> _Opened:
        db = connect_memory() if self.path is None else connect(self.path)
        load = lru_cache(REMEMBERED)(partial(get_pass, db))
        return _Opened(db=db, load=load, lock=threading.RLock(), pid=os.getpid(), file=_identity(self.path))


def _identity(path: Path | None) -> tuple[int, int] | None:
    """What tells whether another file, or none, lies where the store was opened."""
    try:
        status = None if path is None else path.stat()
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


def _read_back(db: sqlite3.Connection, seq: int, body: bytes, raws: tuple[RawOutput, ...]) -> LoggedPass:
    """The pass as it is stored now, compared with what was to be stored, like the outputs."""
    db.execute("PRAGMA shrink_memory")  # from the file, not from what this connection remembers of it
    with transaction(db, "DEFERRED"):
        found = db.execute("SELECT body FROM pass WHERE seq = ?", (seq,)).fetchone()
        check_pass(seq, body, None if found is None else get_blob(db, found[0]))
        for raw in raws:
            check_output(raw, get_output(db, raw.id))
        return get_pass(db, seq, found[0])
