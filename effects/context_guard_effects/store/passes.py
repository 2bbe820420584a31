"""The log in the store: passes in the order in which they were kept."""

import sqlite3
from collections.abc import Callable, Collection, Iterator

from context_guard.edit_log import LoggedPass
from context_guard.hidden import is_word, mentioned
from context_guard_effects.store.blobs import get_blob, put_blob
from context_guard_effects.store.contents import to_bytes
from context_guard_effects.store.encoding import decode_pass, encode_pass

LoadPass = Callable[[int, int], LoggedPass]
"""From the place in the log and the id of the content."""

AT_ONCE = 500
"""Ids in one query: SQLite before 3.32 takes 999 values."""


def put_pass(db: sqlite3.Connection, pass_: LoggedPass, needed: Collection[str], now: int) -> int:
    """Its place in the log. `needed`: the outputs that have to stay while the pass does."""
    row = (to_bytes(pass_.session), is_word(pass_), now, put_blob(db, encode_pass(pass_)))
    seq = db.execute("INSERT INTO pass (session, is_word, kept_at, body) VALUES (?, ?, ?, ?)", row).lastrowid
    assert seq is not None
    ids = sorted(mentioned(pass_).union(needed))
    db.executemany("INSERT INTO mention VALUES (?, ?, ?)", [(to_bytes(id), seq, id in needed) for id in ids])
    return seq


def get_pass(db: sqlite3.Connection, seq: int, body: int) -> LoggedPass:
    return decode_pass(get_blob(db, body), seq)


def find_passes(db: sqlite3.Connection, ids: Collection[str], load: LoadPass) -> Iterator[LoggedPass]:
    """Those that mention one of the ids, in order."""
    known = sorted(map(to_bytes, set(ids)))
    found: set[tuple[int, int]] = set()
    for start in range(0, len(known), AT_ONCE):
        some = known[start : start + AT_ONCE]
        marks = ",".join("?" * len(some))
        found.update(
            db.execute(f"SELECT seq, body FROM mention JOIN pass USING (seq) WHERE mention.id IN ({marks})", some)
        )
    return (load(seq, body) for seq, body in sorted(found))
