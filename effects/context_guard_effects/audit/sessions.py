"""The sessions in one file or folder that somebody named, whatever its host: what the single commands read."""

import sqlite3
from pathlib import Path

from msgspec import Struct
from returns.result import Failure, Success

from context_guard.formats.transcripts import UNKNOWN
from context_guard.transcript import Transcript
from context_guard_effects.audit.reading import read_unit
from context_guard_effects.audit.units import Problem, Unit, find_units


class Unread(Struct, frozen=True):
    reason: str
    is_unknown: bool = False
    """Nothing in it is any host's."""


DOCUMENTS = (".json", ".traj", ".db")
"""Names by which a file says that it is more than lines; of any other a reader's complaint tells nothing."""


def read_sessions(path: Path, is_told: bool) -> tuple[Transcript, ...] | Unread:
    """Those with an entry, the last to change first; within one file in its own order.

    `is_told`: its first lines name the host, so that a failure to read it is one.
    """
    try:
        found = list(find_units([path])) if path.is_dir() or path.suffix == ".db" else [Unit(str(path), is_named=True)]
        if problems := [it for it in found if isinstance(it, Problem)]:
            return Unread(problems[0].reason)
        units = sorted((it for it in found if isinstance(it, Unit)), key=lambda it: -it.changed)
        if path.is_dir() and [it.path for it in units] != [str(path)]:
            return Unread("A folder: name one session in it.")
        read = [read_unit(unit) for unit in units]
    except (OSError, sqlite3.Error) as error:
        return Unread(f"{(getattr(error, 'strerror', None) or str(error)).capitalize()}.")
    transcripts: list[Transcript] = []
    for each in read:
        match each:
            case Success(found_here):
                transcripts += [it for it in found_here if it.entries]
            case Failure(error):
                return Unread(error.message, is_unknown=error is UNKNOWN or not (is_told or _is_document(path)))
    return tuple(transcripts)


def _is_document(path: Path) -> bool:
    return path.is_dir() or path.suffix in DOCUMENTS
