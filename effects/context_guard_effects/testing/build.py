"""Transcripts in a few words, as a host would hand them over.

    session(
        prompt("Where is the pool made?"),
        call("bash", {"command": "rg -n pool"}),
        result(lines(200)),
        answer("In src/pool.py."),
        edit("e3", "[context-guard] Distilled …"),
    )

Entries are called e1, e2, … in their order; a result belongs to the oldest call that has none.
"""

import json
from typing import Any

import msgspec

from context_guard.records import Record, StoredRecord
from context_guard.transcript import (
    AnyBlock,
    Edit,
    Entry,
    Image,
    Model,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
)

MODEL = Model(provider="anthropic", id="claude", api="anthropic-messages")
PNG = Image(media_type="image/png", ref="here", width=800, height=600)
SECOND = 1_000

Piece = Entry | Edit | StoredRecord


def prompt(text: str, *, images: int = 0, time: int | None = None) -> Entry:
    """What the user sent: a prompt, or, behind a tool result, a steering message. `time` in ms, for a queued one."""
    return _entry("user", Text(text), *[PNG] * images, time=time)


def call(tool: str, args: dict[str, Any] | str | None = None, *, says: str = "", id: str = "") -> Entry:
    """A turn with one tool call; arguments as an object, or as JSON text."""
    return calls((tool, args or {}), says=says, id=id)


def calls(*tools: tuple[str, dict[str, Any] | str], says: str = "", id: str = "") -> Entry:
    """A turn with several tool calls at once; arguments as an object, or as JSON text."""
    texts = ((tool, args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)) for tool, args in tools)
    made = (ToolCall(id=id, name=tool, args=args) for tool, args in texts)
    return msgspec.structs.replace(_entry("assistant", *([Text(says)] if says else []), *made), stop="toolUse")


def result(text: str = "", *, error: bool = False, images: int = 0, tool: str = "") -> Entry:
    texts = [Text(text)] if text or not images else []
    content: tuple[Text | Image, ...] = (*texts, *[PNG] * images)
    return _entry("tool", ToolResult(call_id="", name=tool, content=content, is_error=error))


def answer(text: str, *, thinking: str = "") -> Entry:
    return msgspec.structs.replace(
        _entry("assistant", *([Thinking(thinking)] if thinking else []), Text(text)), stop="stop"
    )


def summary(text: str) -> Entry:
    return _entry("summary", Text(text))


def note(text: str, *, kind: str = "custom_message") -> Entry:
    return msgspec.structs.replace(_entry("note", Text(text)), kind=kind)


def edit(target: str, text: str | None) -> Edit:
    """An edit that the session already holds; None omits the entry."""
    return Edit(id="", target=target, at=0, content=None if text is None else (Text(text),))


def recorded(record: Record) -> StoredRecord:
    """The record of an earlier pass."""
    return StoredRecord(id="", at=0, record=record)


def lines(count: int, text: str = "line {} of the output, of no great interest") -> str:
    return "\n".join(text.format(number) for number in range(1, count + 1))


def session(*pieces: Piece, model: Model = MODEL) -> Transcript:
    entries: list[Entry] = []
    edits: list[Edit] = []
    records: list[StoredRecord] = []
    waiting: list[ToolCall] = []
    for at, piece in enumerate(pieces):
        name = f"e{at + 1}"
        match piece:
            case Edit():
                edits.append(msgspec.structs.replace(piece, id=name, at=at, content=_as_target(piece, entries)))
                entries.append(_entry("meta"))
            case StoredRecord():
                records.append(msgspec.structs.replace(piece, id=name, at=at))
                entries.append(_entry("meta"))
            case Entry():
                entries.append(_paired(piece, waiting, name))
        entries[-1] = msgspec.structs.replace(
            entries[-1],
            id=name,
            parent=f"e{at}" if at else None,
            time=entries[-1].time if entries[-1].time is not None else at * SECOND,
            model=model if entries[-1].role == "assistant" else None,
        )
    shown = {item.target: item.content for item in edits}
    return Transcript(
        host="test",
        session="test",
        entries=tuple(msgspec.structs.replace(entry, visible=shown.get(entry.id, entry.raw)) for entry in entries),
        head=entries[-1].id if entries else None,
        context=tuple(range(len(entries))),
        edits=tuple(edits),
        records=tuple(records),
        model=model,
    )


def _entry(role: Role, *blocks: AnyBlock, time: int | None = None) -> Entry:
    return Entry(id="", parent=None, role=role, raw=blocks, visible=blocks, time=time)


def _paired(entry: Entry, waiting: list[ToolCall], name: str) -> Entry:
    """The entry with ids for its calls, or with the call that its result answers."""
    blocks: list[AnyBlock] = []
    for block in entry.raw:
        match block:
            case ToolCall():
                waiting.append(msgspec.structs.replace(block, id=block.id or f"{name}-call-{len(blocks)}"))
                blocks.append(waiting[-1])
            case ToolResult():
                asked = waiting.pop(0) if waiting else ToolCall(id="orphan", name="")
                blocks.append(msgspec.structs.replace(block, call_id=asked.id, name=block.name or asked.name))
            case _:
                blocks.append(block)
    return msgspec.structs.replace(entry, raw=tuple(blocks), visible=tuple(blocks))


def _as_target(edit: Edit, entries: list[Entry]) -> tuple[AnyBlock, ...] | None:
    """The edit's text inside a tool result, where its target is one."""
    target = next((entry for number, entry in enumerate(entries, 1) if edit.target == f"e{number}"), None)
    if edit.content is None or target is None or target.raw_result is None:
        return edit.content
    text = tuple(block for block in edit.content if isinstance(block, Text))
    return (msgspec.structs.replace(target.raw_result, content=text),)
