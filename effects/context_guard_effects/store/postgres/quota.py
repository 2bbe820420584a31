"""A limit that processes share: places in a window of time, each a row that only one of them can add."""

from context_guard_effects.store.contents import to_bytes
from context_guard_effects.store.postgres.connect import Db

TAKE = """
    INSERT INTO context_guard.quota (name, time, place)
    SELECT %(name)s, %(time)s, count(*) FROM context_guard.quota WHERE name = %(name)s AND time = %(time)s
    HAVING count(*) < %(limit)s
    ON CONFLICT DO NOTHING RETURNING place"""
TRIES = 20
"""Each is lost to another process that has taken the place meanwhile."""


def take_place(db: Db, name: str, window: int, limit: int) -> bool:
    values = {"name": to_bytes(name), "time": window, "limit": limit}
    for _ in range(TRIES):
        if db.execute(TAKE, values).fetchone() is not None:
            return True
        if _is_full(db, values):
            return False
    return False


def forget_places(db: Db) -> None:
    """Of every window but the latest of each name."""
    db.execute(
        "DELETE FROM context_guard.quota AS old WHERE time < (SELECT max(time) FROM context_guard.quota"
        " WHERE name = old.name)"
    )


def _is_full(db: Db, values: dict[str, object]) -> bool:
    counted = "SELECT count(*) >= %(limit)s FROM context_guard.quota WHERE name = %(name)s AND time = %(time)s"
    return bool(db.execute(counted, values).fetchone() == (True,))
