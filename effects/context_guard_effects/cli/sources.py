"""The files that a command is given: sessions and settings."""

import stat
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_session import PiSession
from context_guard.transcript import Transcript
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import warn
from context_guard_effects.hosts.errors import HostError
from context_guard_effects.hosts.pi import SessionFile, read_session

FIRST_FEW = 8


class Source(Struct, frozen=True):
    file: SessionFile
    transcript: Transcript
    """The branch asked for."""


def open_session(path: Path, leaf: str | None) -> Source:
    try:
        file = read_session(path)
    except HostError as error:
        raise Stop(error.message, UNREADABLE) from error
    if leaf is not None and leaf not in file.session.places:
        last = [entry["id"] for entry in file.session.entries[-FIRST_FEW:]]
        hint = nearest(leaf, file.session.places)
        raise Stop(f"{path} has no entry {leaf!r}; its last entries are {', '.join(last) or 'none'}.{hint}", UNREADABLE)
    if said := _broken(file.session):
        warn(f"{path}: {said}")
    return Source(file=file, transcript=to_transcript(file.session, leaf))


def _broken(session: PiSession) -> str:
    """Which lines were passed over; empty when all of them could be read."""
    if session.torn and len(session.broken_lines) == 1:
        return "its last line is broken and was passed over; Pi may still be writing it"
    if not session.broken_lines:
        return ""
    numbers = [str(line) for line in session.broken_lines]
    more = f" and {len(numbers) - FIRST_FEW} more" if len(numbers) > FIRST_FEW else ""
    where = f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers[:FIRST_FEW])}{more}"
    return f"{where} cannot be read and {'was' if len(numbers) == 1 else 'were'} passed over, as Pi does"


def branch_through(file: SessionFile, entry_id: str) -> Transcript:
    """A branch on which the entry lies: the one that goes on longest in the file."""
    return to_transcript(file.session, _last_descendant(file.session, entry_id))


def read_file(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Stop(f"{path} is not a file.", UNREADABLE)
        return path.read_bytes()
    except FileNotFoundError as error:
        raise Stop(f"There is no file {path}.", UNREADABLE) from error
    except OSError as error:
        raise Stop(f"Cannot read {path}: {(error.strerror or str(error)).lower()}.", UNREADABLE) from error


def first_few(ids: Any) -> str:
    """The first ids of some, for a message."""
    found = list(dict.fromkeys(ids))
    more = f" and {len(found) - FIRST_FEW} more" if len(found) > FIRST_FEW else ""
    return ", ".join(found[:FIRST_FEW]) + more if found else "none"


def _last_descendant(session: PiSession, entry_id: str) -> str:
    line = {entry_id}
    last = entry_id
    for entry in session.entries:
        parent = entry.get("parentId")
        if isinstance(parent, str) and parent in line:
            last = entry["id"]
            line.add(last)
    return last
