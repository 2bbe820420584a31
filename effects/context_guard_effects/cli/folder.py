"""What a folder holds for a command that takes many: traces, and the sessions of every host that an audit finds."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from returns.result import Failure

from context_guard.formats.transcripts import UNKNOWN
from context_guard.printable import visible_line
from context_guard.saved_trace import HEAD, Trace
from context_guard.text import plural
from context_guard.transcript import Transcript
from context_guard_effects.audit.reading import read_unit
from context_guard_effects.audit.units import SUFFIXES, Problem, Unit, find_units
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.output import warn
from context_guard_effects.cli.sources import first_few, open_session
from context_guard_effects.cli.traces import NAME, open_trace

BESIDE_A_TRACE = "record.json"
"""What else `trace -o DIR` writes that looks like a document."""

Named = tuple[str, Trace | Transcript]


def is_trace(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(HEAD)) == HEAD
    except OSError:
        return False


def read_folder(folder: Path) -> Iterator[Named]:
    """Each trace and session by its place in the folder. What is left out is told, with the reason."""
    unknown: list[str] = []
    is_empty = True
    for found in find_units([folder]):
        is_empty = False
        name = _place(Path(found.path), folder)
        if isinstance(found, Problem):
            warn(f"left out: {name}: {found.reason}")
            continue
        try:
            inside = _read(found)
        except (OSError, sqlite3.Error, MemoryError) as error:
            warn(f"left out: {name}: {(getattr(error, 'strerror', None) or str(error) or 'no memory').lower()}")
            continue
        except Stop as stop:
            warn(f"left out: {stop.message}")
            continue
        if inside is None:
            unknown += [] if _is_beside_a_trace(Path(found.path)) else [name]
        elif isinstance(inside, Trace):
            yield name, inside
        else:
            yield from _sessions(name, found, inside)
    if is_empty:
        raise Stop(f"{folder} holds no trace and no session: no file in it ends in {', '.join(SUFFIXES)}", UNREADABLE)
    if unknown:
        warn(f"left out: {plural(len(unknown), 'file')} of no known host: {first_few(unknown)}")


def _read(unit: Unit) -> Trace | tuple[Transcript, ...] | None:
    """None where nobody's session stands in it."""
    path = Path(unit.path)
    if not unit.session and is_trace(path):
        return open_trace(path)
    read = read_unit(unit)
    if isinstance(read, Failure):
        if read.failure() is UNKNOWN:
            return None
        raise Stop(f"{path}: {read.failure().message}", UNREADABLE)
    transcripts = tuple(it for it in read.unwrap() if it.entries)
    if [it.host for it in transcripts] == ["pi"]:
        return (open_session(path, None).transcript,)  # tells the lines that Pi passes over
    return transcripts


def _sessions(name: str, unit: Unit, found: tuple[Transcript, ...]) -> Iterator[Named]:
    if not found:
        warn(f"left out: {name}: no session with a message is in it")
    is_one = len(found) == 1 and not unit.session
    yield from ((name if is_one else visible_line(f"{name} {it.session}"), it) for it in found)


def _place(path: Path, folder: Path) -> str:
    """Of the file in the folder; the folder itself where it cannot be opened."""
    return str(folder) if path == folder else path.relative_to(folder).as_posix()


def _is_beside_a_trace(path: Path) -> bool:
    return path.name == BESIDE_A_TRACE and is_trace(path.with_name(NAME))
