"""The store in figures."""

from context_guard_effects.store.contents import to_text
from context_guard_effects.store.place import Server
from context_guard_effects.store.port import StoredSession, StoreStatus
from context_guard_effects.store.postgres.connect import Db
from context_guard_effects.store.postgres.migrations import find_version

FIGURES = """
SELECT
    (SELECT count(*) FROM context_guard.output),
    (SELECT count(*) FROM context_guard.expired
        WHERE NOT EXISTS (SELECT FROM context_guard.output WHERE output.id = expired.id)),
    (SELECT coalesce(sum(size), 0)::bigint
        FROM (SELECT text AS sha256 FROM context_guard.output UNION ALL SELECT data FROM context_guard.image) AS part
        JOIN context_guard.blob USING (sha256)),
    (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
        WHERE relnamespace = 'context_guard'::regnamespace AND relkind = 'r')
"""
PASSES = "SELECT count(*), count(DISTINCT session), min(kept_at), max(kept_at) FROM context_guard.pass"
SESSIONS = """
SELECT session, count(*), min(kept_at), max(kept_at), (
    SELECT count(DISTINCT mention.id) FROM context_guard.mention JOIN context_guard.pass AS own USING (seq)
    WHERE needed AND own.session = pass.session
) FROM context_guard.pass GROUP BY session ORDER BY max(seq) DESC
"""


def sum_up(db: Db, server: Server) -> StoreStatus:
    (outputs, expired, raw_size, size) = _row(db, FIGURES)
    (passes, sessions, oldest, newest) = _row(db, PASSES)
    return StoreStatus(
        place=str(server),
        version=find_version(db),
        size=size or 0,
        outputs=outputs or 0,
        expired=expired or 0,
        raw_size=raw_size or 0,
        passes=passes or 0,
        sessions=sessions or 0,
        oldest=oldest,
        newest=newest,
    )


def list_sessions(db: Db) -> tuple[StoredSession, ...]:
    return tuple(
        StoredSession(session=to_text(session), passes=passes, outputs=outputs, first=first, last=last)
        for session, passes, first, last, outputs in db.execute(SESSIONS.encode())
    )


def _row(db: Db, query: str) -> tuple[int | None, ...]:
    row: tuple[int | None, ...] | None = db.execute(query.encode()).fetchone()
    assert row is not None
    return row
