"""A session as the bridge follows it: its own tree of entries, and the branch that Pi is on."""

import gc
import os
from pathlib import Path

from msgspec.structs import replace
from returns.result import Success

from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_growth import append_entries, append_lines, empty_session, extend_transcript
from context_guard.formats.pi_session import PiSession, parse
from context_guard.transcript import Transcript
from context_guard_effects.pi_bridge.protocol import Sync

MANY_BYTES = 1 << 20
"""After reading as much at once, the garbage collector is told to leave it alone from then on."""


class LiveSession:
    """Follows Pi's own session by its file where there is one: what crosses the pipe is a path and the leaf."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._session: PiSession = empty_session("", "")
        self._transcript: Transcript = to_transcript(self._session)
        self._read: tuple[str, int, int] | None = None
        """File, its inode and how many of its bytes are in the tree."""
        self._settles = False
        """Whether so much was just read that the garbage collector is to leave it alone."""

    def update(self, sync: Sync) -> Transcript | None:
        """The branch that Pi is on now; None when entries of it are missing and have to be sent."""
        if sync.session != self._name:
            self._name, self._read = sync.session, None
            self._session = empty_session(sync.session, sync.cwd)
            self._transcript = to_transcript(self._session)
        if sync.entries:
            self._session = append_entries(self._session, sync.entries)
        elif sync.file is not None and (sync.leaf is None or sync.leaf not in self._session.places):
            self._read_file(Path(sync.file))
        if sync.leaf is not None and sync.leaf not in self._session.places:
            return None
        self._transcript = self._at(sync.leaf)
        if self._settles:
            # A full collection would walk through all of a long history, in the middle of some later boundary.
            self._settles = False
            gc.collect()
            gc.freeze()
        return replace(self._transcript, model=sync.model.model) if sync.model is not None else self._transcript

    def branch_through(self, entry_id: str) -> Transcript | None:
        """The branch that ends at this entry, wherever it is in the session."""
        return to_transcript(self._session, entry_id) if entry_id in self._session.places else None

    def block(self, ref: str) -> tuple[str, int] | None:
        """Entry and place in its content of the block that an image's `ref` points at."""
        line, _, place = ref.removeprefix("line:").partition("/")
        if not line.isdecimal() or not place.isdecimal():
            return None
        entries = dict(zip(self._session.lines, self._session.entries, strict=True))
        entry = entries.get(int(line))
        return (entry["id"], int(place)) if entry is not None else None

    def _at(self, leaf: str | None) -> Transcript:
        if leaf is None:
            return to_transcript(empty_session(self._session.header.get("id", ""), self._session.header.get("cwd", "")))
        if leaf == self._transcript.head:
            return self._transcript
        grown = extend_transcript(self._session, self._transcript, leaf) if self._transcript.head else None
        return grown if grown is not None else to_transcript(self._session, leaf)

    def _read_file(self, path: Path) -> None:
        """Reads what the file has more than before; all of it when it is another file or has become shorter."""
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                begun = self._read
                goes_on = begun is not None and begun[:2] == (str(path), status.st_ino) and begun[2] <= status.st_size
                start = begun[2] if goes_on and begun is not None else 0
                file.seek(start)
                data = file.read()
        except OSError:
            return
        data = data[: data.rfind(b"\n") + 1]
        if start:
            self._session = append_lines(self._session, data)
        else:
            match parse(data):
                case Success(PiSession() as session):
                    self._session = session
                    self._transcript = to_transcript(empty_session("", ""))
                case _:
                    return
        self._read = (str(path), status.st_ino, start + len(data))
        self._settles = len(data) > MANY_BYTES
