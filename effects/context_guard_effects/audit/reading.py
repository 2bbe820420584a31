"""What stands behind one unit: opened read-only, its host told by its content, and read."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from returns.result import Failure, Result, Success

from context_guard.formats import openhands
from context_guard.formats.errors import FormatError
from context_guard.formats.signatures import EVENT_NAME, HEAD_BYTES, detect_lines, is_event
from context_guard.formats.transcripts import LINE_READERS, UNKNOWN, read_document
from context_guard.transcript import Transcript
from context_guard_effects.audit.opencode_file import load_session
from context_guard_effects.audit.units import Unit
from context_guard_effects.fleet.urls import is_url

LONGEST_LINE = 64 * 1024 * 1024
LARGEST_DOCUMENT = 512 * 1024 * 1024
"""One JSON value has to be in memory as a whole, several times over."""

Read = Result[tuple[Transcript, ...], FormatError]


def read_unit(unit: Unit) -> Read:
    """May raise OSError and sqlite3.Error, as the file gives them."""
    if is_url(unit.path):
        from context_guard_effects.fleet.objects import read_object

        return read_object(unit.path, unit.size)
    path = Path(unit.path)
    if unit.session:
        found = load_session(path, unit.session)
        return Success(() if found is None else (found,))
    if path.is_dir():
        return _read_events(path)
    with path.open("rb") as file:
        return read_stream(file, path.suffix)


def read_stream(file: BinaryIO, suffix: str) -> Read:
    """Any file but a database, from its beginning."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if not head.strip():
        return Success(())
    name = detect_lines(head)
    if name is not None:
        return LINE_READERS[name](_lines(file))
    if suffix == ".jsonl":
        return Failure(UNKNOWN)
    return _read_json(file.read(LARGEST_DOCUMENT + 1))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Of a line that is too long only the beginning, which is no JSON: it is passed over."""
    while line := file.readline(LONGEST_LINE):
        yield line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)


def _read_json(data: bytes) -> Read:
    if len(data) > LARGEST_DOCUMENT:
        return Failure(
            FormatError(f"It is larger than {LARGEST_DOCUMENT // 1024**2} MB, too large for one JSON value.")
        )
    try:
        value = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return Failure(FormatError("It is not JSON, or cut off: give a whole file."))
    return read_document(value)


def _read_events(folder: Path) -> Read:
    """In the order of their names, which begin with a number; what cannot be read is passed over."""
    names = sorted(it.name for it in folder.iterdir() if EVENT_NAME.fullmatch(it.name))
    state = folder.parent / "base_state.json"
    told = state.read_bytes() if state.is_file() else b""
    return read_events(((folder / name).read_bytes() for name in names), told, folder.parent.name)


def read_events(events: Iterable[bytes], state: bytes, name: str) -> Read:
    """`state`: base_state.json; `name`: of the conversation."""
    found = map(_object, events)
    return openhands.read((it for it in found if is_event(it)), {"id": name, **_object(state)})


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
