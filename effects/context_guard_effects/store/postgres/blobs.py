"""Contents of any size by their SHA-256: stored once, added only."""

from collections.abc import Collection, Iterable
from hashlib import sha256

from context_guard_effects.store.contents import damaged, pack, unpack
from context_guard_effects.store.postgres.connect import Db, add_rows

COLUMNS = "size, packing, data"
BLOB = {"sha256": "bytea", "size": "bigint", "packing": "text", "data": "bytea"}


def put_blobs(db: Db, contents: Iterable[bytes]) -> None:
    """Stores those that are not there; a damaged one is stored again beside itself. In the order of their SHA-256, so
    that two writers never wait for each other."""
    by_digest = dict(sorted((sha256(data).digest(), data) for data in contents))
    there = f"SELECT sha256, {COLUMNS} FROM context_guard.blob WHERE sha256 = ANY(%s)"
    rows = db.execute(there, (list(by_digest),), binary=True).fetchall()
    known = {digest for digest, *_ in rows}
    broken = [digest for digest, *packed in rows if unpack(digest, *packed) is None]
    new = [(digest, len(data), *pack(data)) for digest, data in by_digest.items() if digest not in known]
    add_rows(db, "blob", BLOB, new)
    for digest in broken:
        _mend(db, digest, by_digest[digest])


def get_blobs(db: Db, digests: Collection[bytes]) -> dict[bytes, bytes]:
    """Those that are there and whole."""
    query = f"SELECT sha256, {COLUMNS} FROM context_guard.blob WHERE sha256 = ANY(%s)"
    rows = db.execute(query, (list(set(digests)),), binary=True).fetchall()
    found = {digest: unpack(digest, *packed) for digest, *packed in rows}
    return {digest: data if data is not None else _mended(db, digest) for digest, data in found.items()}


def _mended(db: Db, digest: bytes) -> bytes:
    query = f"SELECT {COLUMNS} FROM context_guard.mend WHERE sha256 = %s ORDER BY number DESC LIMIT 1"
    row = db.execute(query, (digest,), binary=True).fetchone()
    data = None if row is None else unpack(digest, *row)
    if data is None:
        raise damaged()
    return data


def _mend(db: Db, digest: bytes, data: bytes) -> None:
    insert = (
        f"INSERT INTO context_guard.mend (sha256, number, {COLUMNS})"
        " SELECT %s, coalesce(max(number), 0) + 1, %s, %s, %b FROM context_guard.mend WHERE sha256 = %s"
        " ON CONFLICT DO NOTHING"
    )
    db.execute(insert, (digest, len(data), *pack(data), digest))
