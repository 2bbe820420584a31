"""Connections to the store's file: made whole or not at all, checked before SQLite touches it, faults in words."""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from context_guard_effects.store.header import check_file, newer
from context_guard_effects.store.port import StoreError
from context_guard_effects.store.schema import APPLICATION_ID, MIGRATIONS, Migrations

WAIT_SECONDS = 10.0
"""How long a writer waits for the writers of other processes."""

FAULTS = {
    sqlite3.SQLITE_BUSY: f"has been in use by another process for {WAIT_SECONDS:g} seconds. Try again.",
    sqlite3.SQLITE_LOCKED: "is in use. Try again.",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full. Make room, or run `context-guard store purge`.",
    sqlite3.SQLITE_READONLY: "cannot be written to. Check its permissions and those of its folder.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check its permissions and those of its folder.",
    sqlite3.SQLITE_PERM: "cannot be opened. Check its permissions and those of its folder.",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk or its file system fails. Keep it on a local disk.",
    sqlite3.SQLITE_TOOBIG: "cannot hold an output of this size.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Move it away: a new one is made.",
    sqlite3.SQLITE_NOTADB: "is damaged. Move it away: a new one is made.",
}


def connect(path: Path) -> sqlite3.Connection:
    """To the file, which is made, with its folder, where there is none. Raises StoreError."""
    with telling(path):
        if not os.path.lexists(path):
            _create(path)
        check_file(path)
        db = _open(f"{path.absolute().as_uri()}?mode=rw")
        try:
            migrate(db, path, MIGRATIONS)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA fullfsync = ON")  # macOS: past the disk's own cache; elsewhere without effect
        except BaseException:
            db.close()
            raise
        return db


def connect_memory() -> sqlite3.Connection:
    db = _open("file::memory:")
    _fill(db)
    return db


def migrate(db: sqlite3.Connection, path: Path | str, migrations: Migrations) -> None:
    """To the last version, all steps or none; a newer one raises StoreError."""
    if _version(db) == len(migrations):
        return
    with transaction(db, "IMMEDIATE"):
        version = _version(db)
        if version > len(migrations):
            raise newer(path, version)
        for statements in migrations[version:]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(migrations)}")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, kind: str) -> Iterator[None]:
    db.execute(f"BEGIN {kind}")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def telling(place: Path | str) -> Iterator[None]:
    """Faults of SQLite as StoreError, in words that name the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        said = FAULTS.get(code & 0xFF) if code is not None else None
        raise StoreError(f"{place} {said or f'cannot be used: {error}.'}") from error
    except UnicodeDecodeError as error:  # the module decodes what SQLite says about a damaged schema
        raise StoreError(f"{place} {FAULTS[sqlite3.SQLITE_CORRUPT]}") from error


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _open(address: str) -> sqlite3.Connection:
    # every statement says itself where a transaction begins; threads take turns by the store's lock
    return sqlite3.connect(address, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True)


def _create(path: Path) -> None:
    """A complete store under another name, then the name: no process ever sees half of one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)  # mode 0600
        os.close(handle)
    except OSError as error:
        raise StoreError(f"Cannot make {path}: {(error.strerror or str(error)).lower()}.") from error
    new = Path(name)
    try:
        db = _open(new.absolute().as_uri())
        try:
            _fill(db)
            db.execute("PRAGMA journal_mode = WAL")
        finally:
            db.close()
        _put_in_place(new, path)
    finally:
        new.unlink(missing_ok=True)


def _fill(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(db, ":memory:", MIGRATIONS)


def _put_in_place(new: Path, path: Path) -> None:
    """Never over a store that another process has made meanwhile."""
    try:
        os.link(new, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            new.rename(path)
