"""One entry of a Pi session by itself: what it is, what it holds, and what an edit puts in its place."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from context_guard.formats.pi_blocks import read_blocks, read_result, read_text, shell_text
from context_guard.formats.pi_session import Json, message_of
from context_guard.formats.values import string
from context_guard.records import RECORD_TYPE, Record, decode_record
from context_guard.transcript import AnyBlock, Entry, Model, Role, Usage

PIN_TYPE = "context-guard-pin"
"""Name of the entries by which a user says that an entry stays as it is, whatever a judge says."""

ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "shell",
    # What migration makes of an old hook's message. Pi sends it but refuses to edit it, so it is no `note`.
    "custom": "system",
}


class Stored(Struct, frozen=True):
    """An entry by itself: what it is and what it would show without edits and compactions."""

    role: Role
    raw: tuple[AnyBlock, ...] = ()
    hidden: bool = False


def read_stored(entry: Json, source: str) -> Stored:
    match entry.get("type"):
        case "message":
            return _read_message(message_of(entry), source)
        case "custom_message":
            return Stored("note", read_blocks(entry.get("content"), source))
        case "compaction" | "branch_summary":
            return Stored("summary", read_text(entry.get("summary")))
        case _:
            return Stored("meta")


def _read_message(message: Json, source: str) -> Stored:
    role = ROLES.get(string(message.get("role")), "meta")
    match role:
        case "meta":
            return Stored("meta")
        case "shell":
            return Stored("shell", read_text(shell_text(message)), bool(message.get("excludeFromContext")))
        case "tool":
            return Stored("tool", (read_result(message, message.get("content"), source),))
        case _:
            return Stored(role, read_blocks(message.get("content"), source))


def read_replacement(replacement: Json | None, tool: Json | None, source: str) -> tuple[AnyBlock, ...] | None:
    if replacement is None:
        return None
    if tool is not None:
        return (read_result(tool, replacement["content"], source),)
    return read_blocks(replacement["content"], source)


def takes_content(entry: Json) -> bool:
    role = "custom" if entry.get("type") == "custom_message" else message_of(entry).get("role")
    return role in ("user", "assistant", "toolResult", "custom")


def to_entry(
    entry: Json, stored: Stored, visible: tuple[AnyBlock, ...] | None, model: Model | None, source: str
) -> Entry:
    message = message_of(entry)
    return Entry(
        id=entry["id"],
        parent=string(entry.get("parentId")) or None,
        role=stored.role,
        raw=stored.raw,
        visible=visible,
        kind=_kind(entry),
        time=_whole(message.get("timestamp")) if message else _written(entry),
        written=_written(entry),
        model=model,
        usage=_usage(message.get("usage")),
        stop=string(message.get("stopReason")) or None,
        response_id=string(message.get("responseId")) or None,
        src=source,
    )


def read_record(entry: Json) -> Record | None:
    """The record of a pass, if the entry is one."""
    if entry.get("type") != "custom" or entry.get("customType") != RECORD_TYPE:
        return None
    return decode_record(entry.get("data"))


def read_pins(path: Iterable[Json], before: frozenset[str] = frozenset()) -> frozenset[str]:
    """The entries that are pinned after these, given those pinned before; the last word on an entry counts."""
    pins = dict.fromkeys(before, True)
    for entry in path:
        data = entry.get("data") if entry.get("type") == "custom" and entry.get("customType") == PIN_TYPE else None
        if isinstance(data, dict) and isinstance(target := data.get("entryId"), str):
            pins[target] = data.get("pinned") is not False
    return frozenset(target for target, pinned in pins.items() if pinned)


def _kind(entry: Json) -> str:
    """Pi's name for the entry; of an extension's message the extension's own name for it."""
    kind = string(entry.get("type"))
    return (string(entry.get("customType")) if kind == "custom_message" else "") or kind


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


def _written(entry: Json) -> int | None:
    try:
        return (datetime.fromisoformat(entry["timestamp"]) - _EPOCH) // timedelta(milliseconds=1)
    except (KeyError, TypeError, ValueError):
        return None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 2**53 else None
