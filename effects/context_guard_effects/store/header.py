"""Whether a file is a store, from its first bytes alone: SQLite would begin to repair or extend what is not ours."""

import os
import stat
import time
from pathlib import Path

from context_guard_effects.store.port import StoreError
from context_guard_effects.store.schema import APPLICATION_ID, MIGRATIONS

MAGIC = b"SQLite format 3\0"
SIZE = 100
FIXED = (
    (18, b"\x02\x02"),  # write-ahead log
    (20, b"\0\x40\x20\x20"),
    (44, b"\0\0\0\x04"),
    (52, b"\0\0\0\0"),  # no automatic vacuum
    (56, b"\0\0\0\x01"),  # UTF-8
    (64, b"\0\0\0\0"),
    (72, bytes(20)),
)
"""Offset and value of the fields that are the same in every store."""

NEXT = "Move it away, or name another file with --store or CONTEXT_GUARD_STORE."
TRIES = 4
PAUSE = 0.02


def check_file(path: Path) -> None:
    """Raises StoreError, with the file as it was, unless it is a whole store of this version or an older one."""
    for _ in range(TRIES):
        head, size = _read(path)
        _check_head(path, head)
        if _is_whole(head, size) or _has_log(path):
            return
        time.sleep(PAUSE)  # another process may just have put its log into the file
    raise StoreError(f"{path} is torn: it has {size:,} bytes, not what its header says. {NEXT}")


def _read(path: Path) -> tuple[bytes, int]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(f"{path} is not a file. {NEXT}")
        with path.open("rb") as file:
            return file.read(SIZE), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise StoreError(f"Cannot read {path}: {(error.strerror or str(error)).lower()}.") from error


def _check_head(path: Path, head: bytes) -> None:
    if not head:
        raise StoreError(f"{path} is empty, so it is no store. Delete it, and a new one is made.")
    if not head.startswith(MAGIC) or len(head) < SIZE:
        raise StoreError(f"{path} is not a store of context-guard. {NEXT}")
    if _number(head, 68) != APPLICATION_ID:
        raise StoreError(f"{path} is an SQLite file of another program. {NEXT}")
    version = _number(head, 60)
    if version > len(MIGRATIONS):
        raise newer(path, version)
    wrong = [offset for offset, value in FIXED if head[offset : offset + len(value)] != value]
    if wrong or version < 1 or _page_size(head) & (_page_size(head) - 1) or not 512 <= _page_size(head) <= 65_536:
        raise StoreError(f"{path} has a damaged header. {NEXT}")


def newer(path: Path | str, version: int) -> StoreError:
    return StoreError(
        f"{path} was written by a newer context-guard (version {version} of the schema; this one knows "
        f"{len(MIGRATIONS)}). Update context-guard, or name another file with --store or CONTEXT_GUARD_STORE."
    )


def _is_whole(head: bytes, size: int) -> bool:
    """Whether the file has the pages that its header counts; the count holds only when it is from the last change."""
    if _number(head, 24) != _number(head, 92):
        return size % _page_size(head) == 0
    return size == _number(head, 28) * _page_size(head)


def _has_log(path: Path) -> bool:
    """Whether pages may still stand in the write-ahead log beside the file."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _page_size(head: bytes) -> int:
    stored = int.from_bytes(head[16:18], "big")
    return 65_536 if stored == 1 else stored


def _number(head: bytes, offset: int) -> int:
    return int.from_bytes(head[offset : offset + 4], "big")
