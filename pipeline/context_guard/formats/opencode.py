"""Sessions of OpenCode: rows of its SQLite file, one part holding a call and its result.

A pruned result keeps its text in the file, and the model sees a line in its place.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from context_guard.formats.message import Message
from context_guard.formats.parts import Json, digest, image, image_at
from context_guard.formats.recorded import About, HostEdit, count, dollars, milliseconds, model_named, to_recorded
from context_guard.formats.values import json_text, string
from context_guard.transcript import AnyBlock, Opaque, Text, Thinking, ToolCall, ToolResult, Transcript, Usage

CLEARED = "[Old tool result content cleared]"
SILENT = ("step-start", "step-finish", "snapshot", "patch", "agent", "retry")
"""Parts that no model sees."""


class Row(Struct, frozen=True):
    """Of the tables `session` (`data` is empty), `message` and `part`."""

    id: str
    parent: str
    """Of a message its session, of a part its message, of a session the one that it was started from."""
    data: str = ""
    directory: str = ""
    version: str = ""


def read_session(session: Row, messages: Iterable[Row], parts: Iterable[Row]) -> Transcript:
    """One session; its messages and parts in the order of their ids, which is that of their making."""
    by_message: dict[str, list[Json]] = {}
    for part in parts:
        if found := _object(part.data):
            by_message.setdefault(part.parent, []).append(found)
    made = [it for row in messages for it in _message(row, by_message.get(row.id, []))]
    about = About(host="opencode", session=session.id, cwd=session.directory or None, version=session.version)
    return to_recorded(about, [message for message, _ in made], _pruned(made))


def read_document(value: Json) -> tuple[Transcript, ...]:
    """The three tables as lists of rows."""
    messages, parts = _rows(value["message"], "session_id"), _rows(value["part"], "message_id")
    found: list[Transcript] = []
    for session in _rows(value["session"], "parent_id"):
        own = [row for row in messages if row.parent == session.id]
        names = {row.id for row in own}
        found.append(read_session(session, own, [row for row in parts if row.parent in names]))
    return tuple(found)


def _rows(found: Sequence[Json], parent: str) -> list[Row]:
    rows = (
        Row(string(it.get("id")), string(it.get(parent)), string(it.get("data")), string(it.get("directory")))
        for it in found
    )
    return sorted(rows, key=lambda row: row.id)


def _message(row: Row, parts: list[Json]) -> Iterator[tuple[Message, int | None]]:
    """Its messages, each with the time at which its content was pruned. Without its data the parts tell who spoke."""
    data = _object(row.data)
    is_answer = data.get("role") == "assistant" or any(part.get("type") == "step-start" for part in parts)
    time = data.get("time")
    began = milliseconds(time.get("created")) if isinstance(time, dict) else None
    ended = milliseconds(time.get("completed")) if isinstance(time, dict) else None
    digests: list[str] = []
    blocks = tuple(block for place, part in enumerate(parts) for block in _blocks(part, f"{row.id}/{place}", digests))
    if not is_answer:
        if blocks:
            yield Message("user", blocks, row.id, digests=tuple(digests), time=began), None
        return
    is_summary = data.get("summary") is True
    yield (
        Message(
            "summary" if is_summary else "assistant",
            blocks,
            row.id,
            time=ended or began,
            model=model_named(data.get("modelID"), data.get("providerID")),
            usage=_usage(data),
            stop="error" if isinstance(data.get("error"), dict) else string(data.get("finish")) or None,
            response_id=row.id,
            kind="compaction" if is_summary else "",
        ),
        None,
    )
    for part in parts:
        if part.get("type") == "tool" and (state := part.get("state")) and isinstance(state, dict):
            yield _result(part, state, row.id, ended or began)


def _blocks(part: Json, ref: str, digests: list[str]) -> Iterator[AnyBlock]:
    match part.get("type"):
        case "text" if part.get("ignored") is not True:
            yield Text(string(part.get("text")))
        case "reasoning":
            yield Thinking(string(part.get("text")))
        case "tool":
            state = part.get("state")
            args = state.get("input", {}) if isinstance(state, dict) else {}
            yield ToolCall(id=string(part.get("callID")), name=string(part.get("tool")), args=json_text(args))
        case "file" if string(part.get("mime")).startswith("image/"):
            yield image(image_at(string(part.get("url"))), ref, digests)
        case "text" | "compaction":
            return
        case kind if kind not in SILENT:
            text = json_text(part)
            digests.append(digest(text))
            yield Opaque(kind=string(kind), size=len(text))


def _result(part: Json, state: Json, src: str, time: int | None) -> tuple[Message, int | None]:
    times, details = state.get("time"), state.get("metadata")
    is_error = state.get("status") == "error"
    text = string(state.get("error" if is_error else "output"))
    spill = string(details.get("outputPath")) if isinstance(details, dict) else ""
    digests: list[str] = []
    pictures = [
        image(image_at(string(it.get("url"))), f"{src}/{place}", digests)
        for place, it in enumerate(state.get("attachments") or ())
        if isinstance(it, dict) and string(it.get("mime")).startswith("image/")
    ]
    result = ToolResult(
        call_id=string(part.get("callID")),
        name=string(part.get("tool")),
        content=(Text(text), *pictures),
        is_error=is_error,
        full_ref=spill or None,
    )
    ended = milliseconds(times.get("end")) if isinstance(times, dict) else None
    pruned = milliseconds(times.get("compacted")) if isinstance(times, dict) else None
    return Message("tool", (result,), src, digests=tuple(digests), time=ended or time), pruned


def _pruned(made: list[tuple[Message, int | None]]) -> Iterator[HostEdit]:
    """Each at the moment it happened, behind all that came before that."""
    for target, (_, moment) in enumerate(made):
        if moment is not None:
            behind = max(at for at, (it, _) in enumerate(made) if at <= target or (it.time or moment + 1) <= moment)
            yield HostEdit(behind=behind, target=target, text=CLEARED)


def _usage(data: Json) -> Usage | None:
    tokens = data.get("tokens")
    if not isinstance(tokens, dict):
        return None
    cache = tokens.get("cache")
    return Usage(
        input=count(tokens, "input"),
        output=count(tokens, "output") + count(tokens, "reasoning"),
        cache_read=count(cache, "read"),
        cache_write=count(cache, "write"),
        cost=dollars(data.get("cost")),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
