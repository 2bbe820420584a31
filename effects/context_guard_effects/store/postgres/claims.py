"""Work that one process does alone: a lock of its connection, which ends with it, however that comes."""

from hashlib import sha256

from context_guard_effects.store.contents import to_bytes
from context_guard_effects.store.postgres.connect import Db


def try_claim(db: Db, key: str) -> bool:
    return bool(db.execute("SELECT pg_try_advisory_lock(%s)", (_number(key),)).fetchone() == (True,))


def give_up_claim(db: Db, key: str) -> None:
    """Nothing where the connection has ended: the lock ended with it."""
    if not db.closed:
        db.execute("SELECT pg_advisory_unlock(%s)", (_number(key),))


def _number(key: str) -> int:
    """In the space of single numbers, which the pairs of `connect` do not touch."""
    return int.from_bytes(sha256(to_bytes(key)).digest()[:8], "big", signed=True)
