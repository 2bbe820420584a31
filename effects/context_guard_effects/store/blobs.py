"""Contents of any size, told apart by their SHA-256 and checked against it whenever they are read."""

import sqlite3
import zlib
from hashlib import sha256

from context_guard_effects.store.port import StoreError

LEVEL = 6
SMALL = 256
"""Bytes below which nothing is compressed."""


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def to_text(data: object) -> str:
    if not isinstance(data, bytes):
        raise damaged()
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise damaged() from error


def damaged() -> StoreError:
    return StoreError("A stored content is damaged. `context-guard store check` says which ids are hit.")


def put_blob(db: sqlite3.Connection, data: bytes) -> int:
    """The id of the content, which is stored unless it is there; a damaged one is mended."""
    digest = sha256(data).digest()
    found = db.execute("SELECT id, sha256, size, packing, data FROM blob WHERE sha256 = ?", (digest,)).fetchone()
    if found is not None and unpack(*found[1:]) == data:
        return int(found[0])
    packing, packed = _pack(data)
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


def unpack(digest: bytes, size: int, packing: str, packed: bytes) -> bytes | None:
    """The content; None when it is not the one that was stored."""
    try:
        # never more than was stored, whatever a damaged stream would unfold to
        data = zlib.decompressobj().decompress(packed, size + 1) if packing == "zlib" else bytes(packed)
    except (zlib.error, TypeError, ValueError, OverflowError):
        return None
    return data if sha256(data).digest() == digest else None


def _pack(data: bytes) -> tuple[str, bytes]:
    if len(data) >= SMALL and len(packed := zlib.compress(data, LEVEL)) < len(data):
        return "zlib", packed
    return "plain", data
