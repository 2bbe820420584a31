"""What the log says about one output, pass by pass, in lines for people."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, Pinned, Replaced, Restored
from context_guard.printable import visible_line
from context_guard.records import ItemResult
from context_guard.status import result_lines
from context_guard.text import plural

LATEST = 253_402_300_800_000
"""The year 10,000, in milliseconds: beyond it a time is a slip of the host's."""


def log_lines(passes: tuple[LoggedPass, ...], id: str) -> tuple[str, ...]:
    """Each pass that edits the output or says something about it, the first one first."""
    return tuple(visible_line(line) for pass_ in passes for line in _pass(pass_, id))


def _pass(pass_: LoggedPass, id: str) -> Iterator[str]:
    results = [result for result in (pass_.record.results if pass_.record else ()) if _is_about(result, id)]
    edits = [edit for edit in pass_.edits if edit.target == id]
    if not results and not edits:
        return
    who = f"{pass_.record.phase} by {pass_.record.model}" if pass_.record else "the user"
    where = f", session {pass_.session}" if pass_.session else ""
    yield f"{_moment(pass_.time)} {who}{where}"
    for result in results:
        yield from result_lines(result)
    yield from (f"  edit: {_edit(edit)}" for edit in edits)


def _is_about(result: ItemResult, id: str) -> bool:
    return id == result.entry_id or id in (result.omitted or ())


def _edit(edit: LoggedEdit) -> str:
    match edit:
        case Replaced(texts=texts):
            return f"shown as {plural(sum(map(len, texts)), 'character')}"
        case Omitted():
            return "omitted"
        case Restored():
            return "restored"
        case Pinned():
            return "pinned"
        case _:
            return "unpinned"


def _moment(ms: int) -> str:
    """In UTC."""
    if not 0 < ms < LATEST:
        return "at an unknown time"
    return f"{datetime(1970, 1, 1) + timedelta(milliseconds=ms):%Y-%m-%d %H:%M}"
