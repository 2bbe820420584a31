"""What the doctor looks at: a session file by its lines, its tree, and what Pi would show of it."""

from typing import Any

from msgspec import Struct
from returns.result import Result, Success

from context_guard.formats.errors import FormatError
from context_guard.formats.pi_session import (
    Json,
    PiSession,
    branch,
    decode_lines,
    message_of,
    parse,
    project,
    select,
)


class Shown(Struct, frozen=True):
    """One message of the model's context."""

    entry: Json
    message: Json

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def role(self) -> Any:
        return self.message.get("role")


class Chart(Struct, frozen=True):
    session: PiSession
    raw_lines: tuple[bytes, ...]
    path: tuple[Json, ...]
    """Root to leaf."""
    selected: tuple[int, ...]
    """Indexes into `path` of what the last compaction left, in the model's order."""
    shown: tuple[Shown, ...]
    api: str
    """Of the model that the next request goes to, as the last answer named it."""
    lines: dict[str, int]
    """Physical line of every id."""
    headers: tuple[int, ...]
    """Physical lines of the session headers."""


def draw_chart(data: bytes) -> Result[Chart, FormatError]:
    return parse(data).bind(lambda session: Success(_chart(session, data)))


def _chart(session: PiSession, data: bytes) -> Chart:
    path = [session.entries[place] for place in branch(session)]
    answers = [message_of(entry) for entry in path if message_of(entry).get("role") == "assistant"]
    api = answers[-1].get("api") if answers else None
    decoded, _ = decode_lines(data.decode("utf-8", "replace"))
    return Chart(
        session=session,
        raw_lines=tuple(data.split(b"\n")),
        path=tuple(path),
        selected=tuple(select(path)),
        shown=tuple(Shown(entry, message) for entry, messages in project(session) for message in messages),
        api=api if isinstance(api, str) else "",
        lines={entry["id"]: line for entry, line in zip(session.entries, session.lines, strict=True)},
        headers=tuple(line for line, entry in decoded if entry.get("type") == "session"),
    )


def is_headless(data: bytes) -> bool:
    """Whether these are the entries of a session whose header is gone, and not some other file."""
    lines, _ = decode_lines(data.decode("utf-8", "replace"))
    if lines and lines[0][1].get("type") == "session" and isinstance(lines[0][1].get("id"), str):
        return False
    return any(entry.get("type") in ENTRY_TYPES and "parentId" in entry for _, entry in lines)


ENTRY_TYPES = (
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "context_edit",
    "custom",
    "custom_message",
    "label",
    "session_info",
    "usage",
)
