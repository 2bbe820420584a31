"""What is wrong with a store: everything in it is read and compared with its checksum."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from context_guard_effects.store.blobs import to_text, unpack
from context_guard_effects.store.passes import get_pass
from context_guard_effects.store.port import StoreError


def find_faults(db: sqlite3.Connection, path: Path | None) -> Iterator[str]:
    """A line for each."""
    yield from (f"SQLite: {line}" for (line,) in db.execute("PRAGMA integrity_check").fetchall() if line != "ok")
    damaged = {
        id
        for id, *content in db.execute("SELECT id, sha256, size, packing, data FROM blob")
        if unpack(*content) is None
    }
    yield from _outputs(db, damaged)
    for seq, body in db.execute("SELECT seq, body FROM pass ORDER BY seq").fetchall():
        if body in damaged:
            yield f"pass {seq}: its content is damaged"
        else:
            yield from _unreadable(db, seq, body)
    missing = "SELECT mention.id, seq FROM mention LEFT JOIN output USING (id) WHERE needed AND output.text IS NULL"
    yield from (f"pass {seq}: the output {to_text(id)} that it needs is missing" for id, seq in db.execute(missing))
    if path is not None and os.name == "posix" and path.stat().st_mode & 0o077:
        yield f"other users of this machine may read it: chmod 600 {path}"


def _outputs(db: sqlite3.Connection, damaged: set[int]) -> Iterator[str]:
    rows = "SELECT id, text FROM output WHERE text IS NOT NULL UNION SELECT output, data FROM image ORDER BY 1"
    for id, blob in db.execute(rows).fetchall():
        if blob in damaged:
            yield f"output {to_text(id)}: its content is damaged"


def _unreadable(db: sqlite3.Connection, seq: int, body: int) -> Iterator[str]:
    try:
        get_pass(db, seq, body)
    except StoreError as error:
        yield error.message
