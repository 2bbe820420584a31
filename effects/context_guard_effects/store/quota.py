"""A limit that processes share: places in a window of time, each taken once."""

import sqlite3

from context_guard_effects.store.contents import to_bytes

REMEMBERED = 10
"""Windows."""


def take_place(db: sqlite3.Connection, name: str, window: int, limit: int) -> bool:
    key = to_bytes(name)
    db.execute("DELETE FROM quota WHERE name = ? AND time < ?", (key, window - REMEMBERED))
    (taken,) = db.execute("SELECT count(*) FROM quota WHERE name = ? AND time = ?", (key, window)).fetchone()
    if taken >= limit:
        return False
    db.execute("INSERT INTO quota VALUES (?, ?, ?)", (key, window, taken))
    return True
