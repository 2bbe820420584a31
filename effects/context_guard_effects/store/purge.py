"""Retention: whole passes go, and every output that no pass is left to need. So no edit ever outlives its raw."""

import sqlite3
from datetime import timedelta

from context_guard_effects.store.contents import to_bytes
from context_guard_effects.store.encoding import check_purge
from context_guard_effects.store.outputs import expire_outputs
from context_guard_effects.store.port import Purged


def delete_passes(db: sqlite3.Connection, now: int, older_than: timedelta | None, session: str | None) -> Purged:
    """By age alone, passes that hold nothing but the user's own words stay: they quote nothing."""
    check_purge(older_than, session)
    going = ["kept_at <= ?"]
    values: list[object] = [now - (older_than or timedelta()) // timedelta(milliseconds=1)]
    if session is None:
        going.append("NOT is_word")
    else:
        going.append("session = ?")
        values.append(to_bytes(session))
    chosen = f"SELECT seq FROM pass WHERE {' AND '.join(going)}"
    before = _raw_size(db)
    db.execute(f"DELETE FROM mention WHERE seq IN ({chosen})", values)
    passes = db.execute(f"DELETE FROM pass WHERE seq IN ({chosen})", values).rowcount
    outputs = expire_outputs(db, now)
    _delete_unused(db)
    return Purged(passes=passes, outputs=outputs, raw_size=before - _raw_size(db))


def undo_pass(db: sqlite3.Connection, seq: int) -> None:
    """As if it had never been kept: a pass that could not be read back."""
    only_here = (
        "SELECT id FROM mention WHERE seq = ? AND needed EXCEPT SELECT id FROM mention WHERE seq <> ? AND needed"
    )
    db.execute(f"DELETE FROM image WHERE output IN ({only_here})", (seq, seq))
    db.execute(f"DELETE FROM output WHERE id IN ({only_here})", (seq, seq))
    db.execute("DELETE FROM mention WHERE seq = ?", (seq,))
    db.execute("DELETE FROM pass WHERE seq = ?", (seq,))
    _delete_unused(db)


def compact(db: sqlite3.Connection) -> bool:
    """Rewrites the file without its free pages and empties the log beside it, unless another process is in the way."""
    try:
        db.execute("VACUUM")
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
    except sqlite3.OperationalError:
        return False


def _delete_unused(db: sqlite3.Connection) -> None:
    db.execute(
        "DELETE FROM blob WHERE id NOT IN (SELECT text FROM output WHERE text IS NOT NULL"
        " UNION SELECT data FROM image UNION SELECT body FROM pass)"
    )


def _raw_size(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(sum(size), 0) FROM blob").fetchone()[0])
