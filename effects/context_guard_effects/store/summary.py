"""The store in figures."""

import sqlite3
from pathlib import Path

from context_guard_effects.store.contents import to_text
from context_guard_effects.store.port import StoredSession, StoreStatus


def sum_up(db: sqlite3.Connection, path: Path | None) -> StoreStatus:
    outputs, expired = db.execute("SELECT count(*), count(expired_at) FROM output").fetchone()
    passes, sessions, oldest, newest = db.execute(
        "SELECT count(*), count(DISTINCT session), min(kept_at), max(kept_at) FROM pass"
    ).fetchone()
    (raw_size,) = db.execute(
        "SELECT coalesce(sum(size), 0) FROM (SELECT text AS id FROM output UNION ALL SELECT data FROM image)"
        " JOIN blob USING (id)"
    ).fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return StoreStatus(
        place=":memory:" if path is None else str(path),
        version=version,
        size=_pages(db) if path is None else _on_disk(path),
        outputs=outputs - expired,
        expired=expired,
        raw_size=raw_size,
        passes=passes,
        sessions=sessions,
        oldest=oldest,
        newest=newest,
    )


def list_sessions(db: sqlite3.Connection) -> tuple[StoredSession, ...]:
    rows = db.execute(
        "SELECT session, count(*), min(kept_at), max(kept_at), (SELECT count(DISTINCT mention.id) FROM mention"
        " JOIN pass AS own USING (seq) WHERE needed AND own.session = pass.session)"
        " FROM pass GROUP BY session ORDER BY max(seq) DESC"
    ).fetchall()
    return tuple(
        StoredSession(session=to_text(session), passes=passes, outputs=outputs, first=first, last=last)
        for session, passes, first, last, outputs in rows
    )


def _pages(db: sqlite3.Connection) -> int:
    (count,), (size,) = db.execute("PRAGMA page_count").fetchone(), db.execute("PRAGMA page_size").fetchone()
    return int(count) * int(size)


def _on_disk(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, path.with_name(f"{path.name}-wal")) if file.exists())
