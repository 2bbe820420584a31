"""Contents of any size, told apart by their SHA-256 and checked against it whenever they are read."""

import sqlite3
from hashlib import sha256

from context_guard_effects.store.contents import damaged, pack, unpack


def put_blob(db: sqlite3.Connection, data: bytes) -> int:
    """The id of the content, which is stored unless it is there; a damaged one is mended."""
    digest = sha256(data).digest()
    found = db.execute("SELECT id, sha256, size, packing, data FROM blob WHERE sha256 = ?", (digest,)).fetchone()
    if found is not None and unpack(*found[1:]) == data:
        return int(found[0])
    packing, packed = pack(data)
    upsert = (
        "INSERT INTO blob (sha256, size, packing, data) VALUES (?, ?, ?, ?) ON CONFLICT (sha256)"
        " DO UPDATE SET size = excluded.size, packing = excluded.packing, data = excluded.data"
    )
    db.execute(upsert, (digest, len(data), packing, packed))
    return int(db.execute("SELECT id FROM blob WHERE sha256 = ?", (digest,)).fetchone()[0])


def get_blob(db: sqlite3.Connection, id: int) -> bytes:
    found = db.execute("SELECT sha256, size, packing, data FROM blob WHERE id = ?", (id,)).fetchone()
    data = None if found is None else unpack(*found)
    if data is None:
        raise damaged()
    return data
