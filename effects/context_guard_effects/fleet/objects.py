"""Sessions in object stores, listed and read by fsspec: s3://, gs://, and whatever else it has a package for."""

import io
import posixpath
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from returns.result import Failure, Success

from context_guard.formats.errors import FormatError
from context_guard.formats.signatures import EVENT_NAME
from context_guard.transcript import Transcript
from context_guard_effects.audit.opencode_file import load_session, session_ids
from context_guard_effects.audit.reading import LARGEST_DOCUMENT, Read, read_events, read_stream
from context_guard_effects.audit.units import SUFFIXES, Problem, Unit
from context_guard_effects.fleet.engine import Unlisted

MARKS = ("ETag", "etag", "md5Hash", "checksum", "sha256", "generation")
TIMES = ("LastModified", "last_modified", "updated", "mtime", "created", "mtime_ns")


def find_objects(url: str) -> Iterator[Unit | Problem]:
    """As `find_units`, below one URL. A folder of events ends with a slash. Raises Unlisted without the package."""
    files, path = open_url(url)
    try:
        found = files.info(path)
        if found["type"] != "directory":
            yield _unit(files, found, is_named=True)
            return
        listed = files.find(path, detail=True)
    except FileNotFoundError:
        yield Problem(url, "There is no such file.")
        return
    except Exception as error:  # each store has errors of its own
        yield Problem(url, f"It cannot be listed: {_said(error)}")
        return
    events: dict[str, list[Unit]] = {}
    for name in sorted(listed):
        if EVENT_NAME.fullmatch(posixpath.basename(name)):
            events.setdefault(posixpath.dirname(name), []).append(_unit(files, listed[name]))
        elif name.endswith(SUFFIXES):
            yield _unit(files, listed[name])
    for folder, own in events.items():
        yield Unit(
            f"{files.unstrip_protocol(folder)}/",
            size=sum(it.size for it in own),
            changed=max(it.changed for it in own),
            mark=" ".join(f"{posixpath.basename(it.path)}={it.mark or it.changed}" for it in own),
        )


def read_object(url: str, size: int) -> Read:
    """In one piece. Raises OSError, whatever the store itself raises."""
    files, path = _opened(url)
    if url.endswith("/"):
        return _read_folder(files, path, url)
    if size > LARGEST_DOCUMENT:
        return Failure(FormatError(f"It is larger than {LARGEST_DOCUMENT // 1024**2} MB, too large for an object."))
    data = _fetched(files, path)
    if url.endswith(".db"):
        return _read_database(data)
    return read_stream(io.BytesIO(data), posixpath.splitext(path)[1])


def _read_folder(files: Any, path: str, url: str) -> Read:
    folder = path.rstrip("/")
    try:
        listed = sorted(files.ls(folder, detail=False, refresh=True))
    except Exception as error:
        raise OSError(_said(error)) from error
    names = [it for it in listed if EVENT_NAME.fullmatch(posixpath.basename(it))]
    parent = posixpath.dirname(folder)
    try:
        state = files.cat_file(posixpath.join(parent, "base_state.json"))
    except Exception:  # it need not be there, and some stores say "forbidden" of what is not
        state = b""
    return read_events((_fetched(files, name) for name in names), state, posixpath.basename(parent))


def _read_database(data: bytes) -> Read:
    """SQLite needs a file: a private copy, for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        path.write_bytes(data)
        sessions = session_ids(path)
        if sessions is None:
            return Failure(FormatError("This database is not one of OpenCode."))
        read = (load_session(path, name) for name, _ in sessions)
        found: tuple[Transcript, ...] = tuple(it for it in read if it is not None)
        return Success(found)


def fetch(url: str, most: int | None = None) -> bytes:
    """All of it, or its beginning. Raises OSError, whatever the store itself raises."""
    files, path = _opened(url)
    return _fetched(files, path, most)


def _fetched(files: Any, path: str, most: int | None = None) -> bytes:
    try:
        return bytes(files.cat_file(path) if most is None else files.cat_file(path, start=0, end=most))
    except Exception as error:
        raise OSError(_said(error)) from error


def _opened(url: str) -> tuple[Any, str]:
    """Where it was listed it could be opened; a worker may lack the package."""
    try:
        return open_url(url)
    except Unlisted as error:
        raise OSError(error.message) from error


def open_url(url: str) -> tuple[Any, str]:
    """The file system of fsspec, and the path in it. Raises Unlisted without the package."""
    try:
        import fsspec
    except ImportError as error:
        raise Unlisted(f"{url} needs fsspec: pip install 'context-guard[fleet]'") from error
    try:
        files, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise Unlisted(f"{url} cannot be opened: {_said(error)}") from error
    return files, path


def _unit(files: Any, found: dict[str, Any], is_named: bool = False) -> Unit:
    mark = next((str(found[key]) for key in MARKS if found.get(key)), "")
    changed = next((_seconds(found[key]) for key in TIMES if found.get(key)), 0.0)
    url = files.unstrip_protocol(found["name"])
    return Unit(url, size=int(found.get("size") or 0), changed=changed, is_named=is_named, mark=mark)


def _seconds(value: Any) -> float:
    """Since 1970, of what a store calls a time: a number, a date, or its text."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        return float(value.timestamp() if isinstance(value, datetime) else value)
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _said(error: Exception) -> str:
    return " ".join(f"{error or type(error).__name__}".split())
