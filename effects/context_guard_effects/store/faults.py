"""What is wrong with a store: everything in it is read and compared with its checksum."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from context_guard_effects.store.contents import to_text
from context_guard_effects.store.outputs import get_output
from context_guard_effects.store.passes import get_pass
from context_guard_effects.store.port import StoreError


def find_faults(db: sqlite3.Connection, path: Path | None) -> Iterator[str]:
    """A line for each."""
    yield from (f"SQLite: {line}" for (line,) in db.execute("PRAGMA integrity_check").fetchall() if line != "ok")
    yield from _outputs(db)
    for seq, body in db.execute("SELECT seq, body FROM pass ORDER BY seq").fetchall():
        yield from _unreadable(db, seq, body)
    missing = "SELECT mention.id, seq FROM mention LEFT JOIN output USING (id) WHERE needed AND output.text IS NULL"
    yield from (f"pass {seq}: the output {to_text(id)} that it needs is missing" for id, seq in db.execute(missing))
    if path is not None and os.name == "posix" and path.stat().st_mode & 0o077:
        yield f"other users of this machine may read it: chmod 600 {path}"


def _outputs(db: sqlite3.Connection) -> Iterator[str]:
    for (id,) in db.execute("SELECT id FROM output ORDER BY id").fetchall():
        try:
            get_output(db, to_text(id))
        except StoreError:
            yield f"output {to_text(id)}: its content is damaged"


def _unreadable(db: sqlite3.Connection, seq: int, body: int) -> Iterator[str]:
    try:
        get_pass(db, seq, body)
    except StoreError:
        yield f"pass {seq}: its content is damaged"
