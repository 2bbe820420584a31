"""Retention: whole passes go, and every output that no pass is left to need. So no edit ever outlives its raw."""

from datetime import timedelta

from context_guard_effects.store.contents import to_bytes
from context_guard_effects.store.encoding import check_purge
from context_guard_effects.store.port import Purged
from context_guard_effects.store.postgres.connect import Db, lock_alone
from context_guard_effects.store.postgres.quota import forget_places

UNNEEDED = "NOT EXISTS (SELECT FROM context_guard.mention WHERE mention.id = output.id AND needed)"
UNUSED = """
    NOT EXISTS (SELECT FROM context_guard.output WHERE output.text = blob.sha256)
    AND NOT EXISTS (SELECT FROM context_guard.image WHERE image.data = blob.sha256)
    AND NOT EXISTS (SELECT FROM context_guard.pass WHERE pass.body = blob.sha256)
"""


def delete_passes(db: Db, now: int, older_than: timedelta | None, session: str | None) -> Purged:
    """By age alone, passes that hold nothing but the user's own words stay: they quote nothing. Nobody keeps a pass
    until the end of the transaction."""
    check_purge(older_than, session)
    lock_alone(db)
    going = ["kept_at <= %s"]
    values: list[object] = [now - (older_than or timedelta()) // timedelta(milliseconds=1)]
    if session is None:
        going.append("NOT is_word")
    else:
        going.append("session = %s")
        values.append(to_bytes(session))
    chosen = f"SELECT seq FROM context_guard.pass WHERE {' AND '.join(going)}"
    db.execute(f"DELETE FROM context_guard.mention WHERE seq IN ({chosen})".encode(), values)
    passes = db.execute(f"DELETE FROM context_guard.pass WHERE {' AND '.join(going)}".encode(), values).rowcount
    outputs = _expire_outputs(db, now)
    forget_places(db)
    return Purged(passes=passes, outputs=outputs, raw_size=_delete_unused(db))


def _expire_outputs(db: Db, now: int) -> int:
    """Deletes every output that no pass needs; how many they were."""
    db.execute(
        f"INSERT INTO context_guard.expired SELECT id, %s FROM context_guard.output WHERE {UNNEEDED}"
        " ON CONFLICT (id) DO UPDATE SET at = excluded.at",
        (now,),
    )
    db.execute(
        f"DELETE FROM context_guard.image WHERE output IN (SELECT id FROM context_guard.output WHERE {UNNEEDED})"
    )
    return int(db.execute(f"DELETE FROM context_guard.output WHERE {UNNEEDED}").rowcount)


def _delete_unused(db: Db) -> int:
    """Their bytes before compression."""
    db.execute(f"DELETE FROM context_guard.mend WHERE sha256 IN (SELECT sha256 FROM context_guard.blob WHERE {UNUSED})")
    query = (
        f"WITH gone AS (DELETE FROM context_guard.blob WHERE {UNUSED} RETURNING size)"
        " SELECT coalesce(sum(size), 0)::bigint FROM gone"
    )
    row: tuple[int] | None = db.execute(query).fetchone()
    return row[0] if row else 0
