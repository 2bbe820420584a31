"""Stage 0 for Pi: a session file in, a `Transcript` of one branch out. `pi_edits` makes the lines that go back.

Source pointers: `line:N` is a physical line from 1, `line:N/I` the block I (from 0) of the content that it holds.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.formats.errors import FormatError
from context_guard.formats.pi_blocks import read_blocks, read_result, read_text, shell_text
from context_guard.formats.pi_session import (
    Json,
    PiSession,
    branch,
    edits_in_force,
    is_edit,
    message_of,
    parse,
    select,
)
from context_guard.formats.values import string
from context_guard.records import RECORD_TYPE, StoredRecord, decode_record
from context_guard.transcript import AnyBlock, Edit, Entry, Model, Role, Transcript, Usage

ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "shell",
    # What migration makes of an old hook's message. Pi sends it but refuses to edit it, so it is no `note`.
    "custom": "system",
}


def read(data: bytes, leaf: str | None = None) -> Result[Transcript, FormatError]:
    """The branch that ends at `leaf`, or at the file's last entry, from where Pi goes on."""
    return parse(data).bind(lambda session: _branch_of(session, leaf))


def _branch_of(session: PiSession, leaf: str | None) -> Result[Transcript, FormatError]:
    if leaf is not None and leaf not in session.places:
        return Failure(FormatError(f"The session has no entry {leaf!r}: give the id of one of its entries."))
    return Success(to_transcript(session, leaf))


def to_transcript(session: PiSession, leaf: str | None = None) -> Transcript:
    """Total: whatever the session holds, the entries that cannot be understood are `meta` and stay out of the way."""
    places = branch(session, leaf)
    path = [session.entries[place] for place in places]
    sources = [f"line:{session.lines[place]}" for place in places]
    selected = select(path)
    stored = [_stored(entry, source) for entry, source in zip(path, sources, strict=True)]
    edits = _edits(path, sources, stored)
    shown = _shown(path, stored, selected, edits)
    models = _models(path)
    return Transcript(
        host="pi",
        session=string(session.header.get("id")),
        entries=tuple(
            _entry(path[i], stored[i], shown[i], models[i] if stored[i].role == "assistant" else None, sources[i])
            for i in range(len(path))
        ),
        head=path[-1]["id"] if path else None,
        context=tuple(selected),
        edits=tuple(edits.values()),
        records=tuple(_records(path)),
        model=models[-1] if models else None,
        cwd=string(session.header.get("cwd")) or None,
        version=str(session.version),
    )


class _Stored(Struct, frozen=True):
    """An entry by itself: what it is and what it would show without edits and compactions."""

    role: Role
    raw: tuple[AnyBlock, ...] = ()
    hidden: bool = False


def _stored(entry: Json, source: str) -> _Stored:
    match entry.get("type"):
        case "message":
            return _stored_message(message_of(entry), source)
        case "custom_message":
            return _Stored("note", read_blocks(entry.get("content"), source))
        case "compaction" | "branch_summary":
            return _Stored("summary", read_text(entry.get("summary")))
        case _:
            return _Stored("meta")


def _stored_message(message: Json, source: str) -> _Stored:
    role = ROLES.get(string(message.get("role")), "meta")
    match role:
        case "meta":
            return _Stored("meta")
        case "shell":
            return _Stored("shell", read_text(shell_text(message)), bool(message.get("excludeFromContext")))
        case "tool":
            return _Stored("tool", (read_result(message, message.get("content"), source),))
        case _:
            return _Stored(role, read_blocks(message.get("content"), source))


def _edits(path: list[Json], sources: list[str], stored: list[_Stored]) -> dict[int, Edit]:
    """Every edit of the branch by its index, its content wrapped as the target's own is."""
    targets = {entry["id"]: i for i, entry in enumerate(path)}
    edits: dict[int, Edit] = {}
    for at, entry in enumerate(path):
        if is_edit(entry):
            target = targets.get(entry["targetId"])
            tool = message_of(path[target]) if target is not None and stored[target].role == "tool" else None
            content = _replacement(entry["replacement"], tool, sources[at])
            edits[at] = Edit(id=entry["id"], target=entry["targetId"], at=at, content=content)
    return edits


def _replacement(replacement: Json | None, tool: Json | None, source: str) -> tuple[AnyBlock, ...] | None:
    if replacement is None:
        return None
    if tool is not None:
        return (read_result(tool, replacement["content"], source),)
    return read_blocks(replacement["content"], source)


def _shown(
    path: list[Json], stored: list[_Stored], selected: list[int], edits: dict[int, Edit]
) -> list[tuple[AnyBlock, ...] | None]:
    """What the model sees of each entry of the branch; nothing of one that a compaction dropped."""
    in_force = edits_in_force(path, selected)
    shown: list[tuple[AnyBlock, ...] | None] = [()] * len(path)
    for place, i in enumerate(selected):
        own = stored[i]
        edit = edits.get(in_force.get(path[i]["id"], -1))
        outdated = place > 0 and path[i].get("type") == "compaction"
        if own.role == "meta":
            continue
        if edit is not None and edit.content is None:
            shown[i] = None
        elif edit is not None and _takes_content(path[i]):
            shown[i] = edit.content
        elif not outdated and not own.hidden:
            shown[i] = own.raw
    return shown


def _takes_content(entry: Json) -> bool:
    role = "custom" if entry.get("type") == "custom_message" else message_of(entry).get("role")
    return role in ("user", "assistant", "toolResult", "custom")


def _entry(
    entry: Json, stored: _Stored, visible: tuple[AnyBlock, ...] | None, model: Model | None, source: str
) -> Entry:
    message = message_of(entry)
    return Entry(
        id=entry["id"],
        parent=string(entry.get("parentId")) or None,
        role=stored.role,
        raw=stored.raw,
        visible=visible,
        kind=_kind(entry),
        time=_time(message, entry),
        model=model,
        usage=_usage(message.get("usage")),
        stop=string(message.get("stopReason")) or None,
        response_id=string(message.get("responseId")) or None,
        src=source,
    )


def _kind(entry: Json) -> str:
    """Pi's name for the entry; of an extension's message the extension's own name for it."""
    kind = string(entry.get("type"))
    return (string(entry.get("customType")) if kind == "custom_message" else "") or kind


def _models(path: list[Json]) -> list[Model | None]:
    """The model in force after each entry. Only an answer names its API; a change back to that model keeps it."""
    models: list[Model | None] = []
    model: Model | None = None
    apis: dict[tuple[str, str], str] = {}
    for entry in path:
        message = message_of(entry)
        if message.get("role") == "assistant":
            name = (string(message.get("provider")), string(message.get("model")))
            apis[name] = string(message.get("api"))
            model = Model(*name, apis[name])
        elif entry.get("type") == "model_change":
            name = (string(entry.get("provider")), string(entry.get("modelId")))
            model = Model(*name, apis.get(name, ""))
        models.append(model)
    return models


def _records(path: list[Json]) -> Iterator[StoredRecord]:
    for at, entry in enumerate(path):
        if entry.get("type") == "custom" and entry.get("customType") == RECORD_TYPE:
            record = decode_record(entry.get("data"))
            if record is not None:
                yield StoredRecord(id=entry["id"], at=at, record=record)


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    cost = usage.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else None
    return Usage(
        input=_whole(usage.get("input")) or 0,
        output=_whole(usage.get("output")) or 0,
        cache_read=_whole(usage.get("cacheRead")) or 0,
        cache_write=_whole(usage.get("cacheWrite")) or 0,
        cost=float(total) if isinstance(total, int | float) and -1e15 < total < 1e15 else None,
    )


def _time(message: Json, entry: Json) -> int | None:
    """When the message was sent. Entries without one have only the time at which they were written."""
    if message:
        return _whole(message.get("timestamp"))
    try:
        return (datetime.fromisoformat(entry["timestamp"]) - _EPOCH) // timedelta(milliseconds=1)
    except (KeyError, TypeError, ValueError):
        return None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 2**53 else None
