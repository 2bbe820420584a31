"""The log: passes in the order in which they were kept, which is the order in which anybody sees them."""

from collections import OrderedDict
from collections.abc import Collection
from hashlib import sha256
from threading import Lock

from context_guard.edit_log import LoggedPass
from context_guard.hidden import is_word, mentioned
from context_guard_effects.store.contents import damaged, to_bytes, unpack
from context_guard_effects.store.encoding import decode_pass
from context_guard_effects.store.postgres.blobs import get_blobs
from context_guard_effects.store.postgres.connect import PLACES, SNAPSHOT, Db, add_rows, transaction

REMEMBERED = 256
"""Passes kept decoded: a host asks for those of its conversation before each request. A pass never changes."""

Key = tuple[int, bytes]
"""Place in the log, and SHA-256 of the content."""

LOCK = "SELECT pg_advisory_xact_lock(%s, %s)"
MENTION = {"id": "bytea", "seq": "bigint", "needed": "boolean"}
MENTIONING = """
SELECT seq, body FROM context_guard.pass
WHERE seq IN (SELECT seq FROM context_guard.mention WHERE id = ANY(%s))
ORDER BY seq
"""


class Decoded:
    """The passes last read. Threads share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._passes: OrderedDict[Key, LoggedPass] = OrderedDict()

    def get(self, keys: Collection[Key]) -> dict[Key, LoggedPass]:
        with self._lock:
            return {key: self._passes[key] for key in keys if key in self._passes}

    def put(self, passes: dict[Key, LoggedPass]) -> None:
        with self._lock:
            self._passes.update(passes)
            while len(self._passes) > REMEMBERED:
                self._passes.popitem(last=False)


def put_pass(db: Db, pass_: LoggedPass, body: bytes, needed: Collection[str], now: int) -> tuple[int, str]:
    """Its place in the log, and the number of the transaction; its content is there. From here on every other writer
    waits for this transaction to end. `needed`: the outputs that have to stay while the pass does."""
    db.execute(LOCK, PLACES)
    insert = (
        "INSERT INTO context_guard.pass (session, is_word, kept_at, body) VALUES (%s, %s, %s, %s)"
        " RETURNING seq, pg_current_xact_id()::text"
    )
    row = db.execute(insert, (to_bytes(pass_.session), is_word(pass_), now, sha256(body).digest())).fetchone()
    assert row is not None
    seq, number = int(row[0]), str(row[1])
    rows = [(to_bytes(id), seq, id in needed) for id in sorted(mentioned(pass_).union(needed))]
    add_rows(db, "mention", MENTION, rows)
    return seq, number


def get_body(db: Db, seq: int) -> bytes | None:
    query = (
        "SELECT sha256, size, packing, data FROM context_guard.pass JOIN context_guard.blob ON body = sha256 "
        "WHERE seq = %s"
    )
    row = db.execute(query, (seq,), binary=True).fetchone()
    if row is None:
        return None
    data = unpack(*row)
    return data if data is not None else get_blobs(db, [row[0]]).get(row[0])


def find_passes(db: Db, ids: Collection[str], decoded: Decoded) -> tuple[LoggedPass, ...]:
    """Those that mention one of the ids, in order, all as of one moment."""
    known = [*map(to_bytes, set(ids))]
    if not known:
        return ()
    keys: list[Key] = [(seq, body) for seq, body in db.execute(MENTIONING, (known,), binary=True)]
    there = decoded.get(keys)
    if len(there) < len(keys):
        with transaction(db, SNAPSHOT):
            keys = [(seq, body) for seq, body in db.execute(MENTIONING, (known,), binary=True)]
            there = decoded.get(keys)
            there |= _load(db, [key for key in keys if key not in there])
        decoded.put(there)
    return tuple(there[key] for key in keys)


def _load(db: Db, keys: Collection[Key]) -> dict[Key, LoggedPass]:
    found = get_blobs(db, [body for _, body in keys])
    if any(body not in found for _, body in keys):
        raise damaged()
    return {(seq, body): decode_pass(found[body], seq) for seq, body in keys}
