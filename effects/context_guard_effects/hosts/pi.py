"""Session files of Pi: reading one, and appending drafts to one that no running Pi has open.

Pi never rewrites a line and takes no lock. So this only ever appends, in one write, and only to the very bytes it has
read; what it cannot finish it takes back. A running Pi would neither see the lines nor chain on them: the bridge inside
Pi keeps `<session>.context-guard.lock` with its process id, and a lock whose process lives is respected.

All functions block on the disk; Trio callers run them in a thread.
"""

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs
from returns.pipeline import is_successful
from returns.result import Result

from context_guard.drafts import Draft
from context_guard.formats.errors import FormatError
from context_guard.formats.pi_edits import Skipped, edit_lines
from context_guard.formats.pi_session import PiSession, parse
from context_guard_effects.hosts.errors import HostError

TAIL_BYTES = 4_096
"""How much of the file's end is compared, beside its size and time, to see whether it is still what was read."""

LOCK_SUFFIX = ".context-guard.lock"

Value = TypeVar("Value")

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write \r\n


class FileState(Struct, frozen=True):
    """What tells later whether a file is still the one that was read."""

    path: Path
    size: int
    mtime_ns: int
    inode: tuple[int, int]
    tail: bytes


class SessionFile(FileState, frozen=True):
    session: PiSession


class Appended(Struct, frozen=True):
    ids: tuple[str, ...]
    """Of the new entries, in order."""
    skipped: tuple[Skipped, ...] = ()
    """Edits that could have no effect and were not written."""


def read_session(path: Path) -> SessionFile:
    """The file's bytes, parsed. Raises HostError."""
    state, data = read_bytes(path)
    return SessionFile(**structs.asdict(state), session=_or_raise(parse(data), path))


def read_bytes(path: Path) -> tuple[FileState, bytes]:
    """The file's bytes, whatever they are. Raises HostError."""
    with _naming(path, "read"):
        _check_kind(path)
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read()
    state = FileState(
        path=path,
        size=len(data),
        mtime_ns=status.st_mtime_ns,
        inode=(status.st_dev, status.st_ino),
        tail=data[-TAIL_BYTES:],
    )
    return state, data


def append_drafts(file: SessionFile, drafts: tuple[Draft, ...], ids: Iterator[str], now: str) -> Appended:
    """Appends the drafts to the file that was read, all of them or none. Raises HostError with the file unchanged.

    The file's time stays as it was: Pi goes on with the newest session. `ids` and `now` as for `edit_lines`.
    """
    lines = _or_raise(edit_lines(file.session, drafts, ids, now), file.path)
    if lines.data:
        append_lines(file, lines.data)
    return Appended(lines.ids, lines.skipped)


def append_lines(file: FileState, data: bytes) -> None:
    """Appends whole lines to the file that was read, all or none. Raises HostError with the file unchanged."""
    with _naming(file.path, "write to"):
        _check_writable(file.path)
        fd = os.open(file.path, os.O_RDWR | os.O_APPEND | _BINARY)
        try:
            _lock(fd, file.path)
            _check_lock(file.path)
            _check_unchanged(fd, file)
            _append(fd, data, file)
            _restore_time(fd, file)
        finally:
            os.close(fd)


def random_ids() -> Iterator[str]:
    """Candidates for the ids of new entries, as Pi makes them."""
    while True:
        yield secrets.token_hex(4)


def now_iso() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lock_path(session: Path) -> Path:
    """Where the bridge of a running Pi keeps its process id, beside the session file itself, not a link to it."""
    real = session.resolve()
    return real.with_name(real.name + LOCK_SUFFIX)


def _or_raise(result: Result[Value, FormatError], path: Path) -> Value:
    if is_successful(result):
        return result.unwrap()
    raise HostError(f"{path}: {result.failure().message}")


def _check_kind(path: Path) -> None:
    """Only a file: opening a pipe would wait for ever."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise HostError(f"{path} is a directory: give one of the .jsonl files in it.")
    if not stat.S_ISREG(mode):
        raise HostError(f"{path} is not a file: give a session file.")


def _check_writable(path: Path) -> None:
    """Whoever made a session read-only meant it, also where the system lets an administrator write."""
    _check_kind(path)
    if not path.stat().st_mode & 0o222:
        raise HostError(f"{path} is read-only: make it writable first.")


def _check_lock(path: Path) -> None:
    lock = lock_path(path)
    try:
        text = lock.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return
    except OSError as error:
        raise HostError(f"Cannot read {lock}: {error.strerror}.") from error
    # A lock without a process id is being written at this moment, or nobody can tell whose it is.
    if not text.isdecimal() or _is_alive(int(text[:20])):
        raise HostError(
            f"{path} is open in Pi (process {text[:20] or 'unknown'}): end that Pi first. If none runs, delete {lock}."
        )


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # there, signal 0 would end the process; the user is told which file to delete
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _lock(fd: int, path: Path) -> None:
    """Keeps other guards away while this one writes; Pi itself takes no notice. Released with the descriptor."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HostError(f"Another program is writing to {path}: run again when it has ended.") from error
    except OSError:
        return  # a file system without locks


def _check_unchanged(fd: int, file: FileState) -> None:
    status = os.fstat(fd)
    same = (
        status.st_size == file.size
        and status.st_mtime_ns == file.mtime_ns
        and (status.st_dev, status.st_ino) == file.inode
        and _read_at(fd, file.size - len(file.tail), len(file.tail)) == file.tail
    )
    if not same:
        raise _changed(file.path)


def _append(fd: int, data: bytes, file: FileState) -> None:
    """One write, on the disk, in its place and read back; on any failure what was written is taken back."""
    written = 0
    try:
        written = os.write(fd, data)
        if written < len(data):
            raise HostError(f"No room to write to {file.path}: free some disk space. Nothing was changed.")
        os.fsync(fd)
        if _read_at(fd, file.size, len(data) + 1) != data:
            raise _changed(file.path)
    except BaseException:
        _take_back(fd, data[:written], file)
        raise


def _take_back(fd: int, written: bytes, file: FileState) -> None:
    """Cuts off what this process appended, unless somebody has written behind it since."""
    if not written:
        return
    start = os.fstat(fd).st_size - len(written)
    if _read_at(fd, start, len(written)) != written:
        raise HostError(
            f"Another program wrote to {file.path} in the same moment, so what was written here could not be "
            "taken back: end Pi, then check the file's last lines."
        )
    os.ftruncate(fd, start)
    if start == file.size:
        _restore_time(fd, file)


def _restore_time(fd: int, file: FileState) -> None:
    """Not ours to set when the file is another user's: then it counts as newer, which does no harm."""
    target = fd if os.utime in os.supports_fd else file.path
    with contextlib.suppress(OSError):
        os.utime(target, ns=(os.fstat(fd).st_atime_ns, file.mtime_ns))


def _read_at(fd: int, start: int, length: int) -> bytes:
    """Up to `length` bytes from `start`; reading moves nothing that appending depends on."""
    os.lseek(fd, max(start, 0), os.SEEK_SET)
    parts: list[bytes] = []
    while length > 0 and (part := os.read(fd, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _changed(path: Path) -> HostError:
    return HostError(f"{path} has changed since it was read: run again. Nothing was written.")


@contextlib.contextmanager
def _naming(path: Path, verb: str) -> Iterator[None]:
    """Errors of the system in the words of the user's own doing."""
    try:
        yield
    except FileNotFoundError as error:
        raise HostError(f"There is no file {path}.") from error
    except PermissionError as error:
        raise HostError(f"Not allowed to {verb} {path}: check who owns it and its permissions.") from error
    except OSError as error:
        raise HostError(f"Cannot {verb} {path}: {(error.strerror or str(error)).lower()}.") from error
