"""Contents as they are stored: texts as bytes, packed, and checked against their SHA-256 whenever they are read."""

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


def pack(data: bytes) -> tuple[str, bytes]:
    """How it is packed, and that."""
    if len(data) >= SMALL and len(packed := zlib.compress(data, LEVEL)) < len(data):
        return "zlib", packed
    return "plain", data


def unpack(digest: bytes, size: int, packing: str, packed: bytes) -> bytes | None:
    """The content; None when it is not the one that was stored."""
    try:
        # never more than was stored, whatever a damaged stream would unfold to
        data = zlib.decompressobj().decompress(packed, size + 1) if packing == "zlib" else bytes(packed)
    except (zlib.error, TypeError, ValueError, OverflowError):
        return None
    return data if sha256(data).digest() == digest else None
