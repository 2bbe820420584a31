"""The files that a command is given: sessions of any host, and settings."""

import stat
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard.explain import Way
from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_session import PiSession
from context_guard.formats.signatures import HEAD_BYTES, detect_lines
from context_guard.text import recall_call, shell_word
from context_guard.transcript import Transcript
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import warn
from context_guard_effects.hosts.errors import HostError
from context_guard_effects.hosts.pi import SessionFile, read_session

FIRST_FEW = 8
NOR_ANOTHER = "Nor does it look like a session of another host; `context-guard audit` finds those on the disk."


class Source(Struct, frozen=True):
    transcript: Transcript
    """The branch asked for."""
    file: SessionFile | None
    """Of Pi, whose branches can be told apart and written behind; None of any other host."""

    @property
    def known(self) -> frozenset[str]:
        """Entries of the whole file of Pi, on whatever branch; else of the session."""
        if self.file is not None:
            return frozenset(self.file.session.places)
        return frozenset(entry.id for entry in self.transcript.entries)

    def recall_way(self, name: str) -> Way:
        """How an original comes back: in Pi the model calls its tool, of another host's session it is a command.
        `name`: of the session, as a shell takes it."""
        return recall_call if self.file is not None else lambda id: f"context-guard recall {name} {shell_word(id)}"


def open_session(path: Path, leaf: str | None, holding: str | None = None) -> Source:
    """The session in a file of any host, as an audit reads it; what is nobody's is refused as no session of Pi.

    Of several in one file (a database, sub-agents) it is the one that `leaf` names, else the one that has the entry
    `holding`, else the last to change; the others are told.
    """
    found = _read_others(path)
    if found:
        return Source(transcript=_chosen(path, found, leaf, holding), file=None)
    try:
        file = read_session(path)
    except HostError as error:
        nor = "" if found is None else f" {NOR_ANOTHER}"
        raise Stop(f"{error.message}{nor}", UNREADABLE) from error
    if leaf is not None and leaf not in file.session.places:
        last = [entry["id"] for entry in file.session.entries[-FIRST_FEW:]]
        hint = nearest(leaf, file.session.places)
        raise Stop(f"{path} has no entry {leaf!r}; its last entries are {', '.join(last) or 'none'}.{hint}", UNREADABLE)
    if said := _broken(file.session):
        warn(f"{path}: {said}")
    return Source(file=file, transcript=to_transcript(file.session, leaf))


def other_host(path: Path) -> str:
    """Name of the host of a session that is not Pi's; empty where it is Pi's, nobody's or cannot be read."""
    try:
        found = _read_others(path)
    except Stop:
        return ""
    return found[0].host if found else ""


def _read_others(path: Path) -> tuple[Transcript, ...] | None:
    """The sessions of another host than Pi, the last to change first; none where it is nobody's; None if it is Pi's or
    cannot be opened."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISREG(kind):
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES)
            told = detect_lines(head)
            if told == "pi" or not head.strip():
                return None
        elif stat.S_ISDIR(kind):
            told = None
        else:
            return None
    except OSError:
        return None  # Pi's reader says what is wrong
    from context_guard_effects.audit.sessions import Unread, read_sessions

    read = read_sessions(path, is_told=told is not None)
    if isinstance(read, Unread):
        if read.is_unknown:
            return ()
        raise Stop(f"{path}: {read.reason}", UNREADABLE)
    if not read:
        raise Stop(f"{path} holds no session with a message in it.", UNREADABLE)
    return read


def _chosen(path: Path, found: tuple[Transcript, ...], leaf: str | None, holding: str | None) -> Transcript:
    names = [it.session for it in found]
    if leaf is not None:
        for each in found:
            if leaf in (each.session, each.head):
                return each
        raise Stop(
            f"{path} is a session of {found[0].host}, of which --leaf takes the name: {first_few(names)}."
            f"{nearest(leaf, names)}",
            UNREADABLE,
        )
    if holding is not None:
        for each in found:
            if any(entry.id == holding for entry in each.entries):
                return each
    if len(found) > 1:
        warn(f"{path} holds {len(found)} sessions; this is {names[0]}. Others, for --leaf: {first_few(names[1:])}")
    return found[0]


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
