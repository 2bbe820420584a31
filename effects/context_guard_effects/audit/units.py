"""The pieces that an audit works through: files, folders of events, and sessions inside of a database."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from context_guard.formats.signatures import EVENT_NAME
from context_guard_effects.audit.opencode_file import session_ids

SUFFIXES = (".jsonl", ".json", ".traj", ".db")
"""Of the files that are opened in a folder; all else in it is no session."""

PLACES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CLAUDE_CONFIG_DIR", "~/.claude", ("projects",)),
    ("CODEX_HOME", "~/.codex", ("sessions", "archived_sessions")),
    ("PI_CODING_AGENT_DIR", "~/.pi/agent", ("sessions",)),
    ("XDG_DATA_HOME", "~/.local/share", ("opencode/opencode.db",)),
    ("", "~/.cline/data", ("sessions",)),
)
"""Where hosts keep their sessions: the variable that moves the folder, the folder, what lies in it. The other hosts
write where they are told to."""


class Unit(Struct, frozen=True):
    path: str
    session: str = ""
    """Inside of a database."""
    size: int = 0
    """Bytes; of a session in a database its share."""
    changed: float = 0.0
    is_named: bool = False
    """Whether the user gave this very path: then it has to be a session."""
    mark: str = ""
    """What an object store says of this version of an object, such as its ETag."""


class Problem(Struct, frozen=True):
    path: str
    reason: str


def usual_places(environ: Mapping[str, str]) -> list[Path]:
    """Whether there is anything or not."""
    bases = [(Path(environ.get(variable) or usual).expanduser(), inside) for variable, usual, inside in PLACES]
    return [base / name for base, inside in bases for name in inside]


def known_places(environ: Mapping[str, str]) -> list[Path]:
    return [it for it in usual_places(environ) if not _is_missing(it)]


def find_units(paths: list[Path]) -> Iterator[Unit | Problem]:
    """Each file once, whatever links lead to it; loops of links end."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        try:
            found = path.stat()
        except FileNotFoundError:
            yield Problem(str(path), "There is no such file.")
            continue
        except OSError as error:
            yield Problem(str(path), _said(error))
            continue
        if stat.S_ISDIR(found.st_mode):
            yield from _in_folder(path, seen)
        elif _is_new(found, seen):
            yield from _file(Unit(str(path), size=found.st_size, changed=found.st_mtime, is_named=True))


def _in_folder(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Unit | Problem]:
    failed: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=failed.append, followlinks=True):
        here = Path(place)
        try:
            is_new = _is_new(here.stat(), seen)
        except OSError as error:
            failed.append(error)
            is_new = False
        if not is_new:
            folders.clear()
            continue
        folders.sort()
        events = [name for name in files if EVENT_NAME.fullmatch(name)]
        if events:
            yield _events(here, events)
        for name in sorted(set(files).difference(events)):
            if name.endswith(SUFFIXES):
                yield from _checked(here / name, seen)
    yield from (Problem(str(it.filename or folder), _said(it)) for it in failed)


def _checked(path: Path, seen: set[tuple[int, int]]) -> Iterator[Unit | Problem]:
    try:
        found = path.stat()
    except OSError as error:
        yield Problem(str(path), _said(error))
        return
    if stat.S_ISREG(found.st_mode) and _is_new(found, seen):
        yield from _file(Unit(str(path), size=found.st_size, changed=found.st_mtime))


def _file(unit: Unit) -> Iterator[Unit | Problem]:
    """The unit itself; of a database its sessions."""
    if not unit.path.endswith(".db"):
        yield unit
        return
    try:
        sessions = session_ids(Path(unit.path))
    except (OSError, sqlite3.Error) as error:
        yield Problem(unit.path, f"Its tables cannot be read: {error}.")
        return
    if sessions is None and unit.is_named:
        yield Problem(unit.path, "This database is not one of OpenCode.")
    for session, changed in sessions or ():
        yield Unit(unit.path, session=session, size=unit.size // len(sessions or (0,)), changed=changed)


def _events(folder: Path, names: list[str]) -> Unit:
    """Sizes are for the progress bar: what cannot be asked about counts as nothing here and is told when it is read."""
    size, changed = 0, 0.0
    for name in names:
        with contextlib.suppress(OSError):
            found = (folder / name).stat()
            size, changed = size + found.st_size, max(changed, found.st_mtime)
    return Unit(str(folder), size=size, changed=changed)


def _is_missing(path: Path) -> bool:
    """Not so where nobody may look: that is a problem to be told."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _is_new(found: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    key = (found.st_dev, found.st_ino)
    if key in seen:
        return False
    seen.add(key)
    return True


def _said(error: OSError) -> str:
    return f"{(error.strerror or str(error)).capitalize()}."
