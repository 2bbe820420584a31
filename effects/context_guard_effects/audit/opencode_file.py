"""OpenCode's SQLite file, opened so that nothing beside it changes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from context_guard.formats.opencode import Row, read_session
from context_guard.transcript import Transcript

TABLES = {"session", "message", "part"}


def session_ids(path: Path) -> list[tuple[str, float]] | None:
    """Each session with the time of its last change, in seconds since 1970; None when it is no file of OpenCode."""
    with _opened(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables >= TABLES:
            return None
        rows = database.execute("SELECT id, time_updated FROM session ORDER BY id")
        return [(str(name), (changed or 0) / 1_000) for name, changed in rows]


def load_session(path: Path, session: str) -> Transcript | None:
    """None when it is gone since it was found."""
    with _opened(path) as database:
        ask = "SELECT id, directory, version FROM session WHERE id = ?"
        found = database.execute(ask, (session,)).fetchone()
        if found is None:
            return None
        row = Row(id=found[0], parent="", directory=found[1] or "", version=found[2] or "")
        ask = "SELECT id, session_id, data FROM message WHERE session_id = ? ORDER BY id"
        messages = [Row(*it) for it in database.execute(ask, (session,))]
        ask = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
        return read_session(row, messages, (Row(*it) for it in database.execute(ask, (session,))))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Without a log beside it nothing is pending: SQLite then needs no lock file, which it would make."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    with closing(sqlite3.connect(address, uri=True)) as database:
        database.text_factory = _text
        yield database


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
