"""Conversations in a few words, for tests: as a transcript, or as the message list of a provider.

messages(
    "anthropic",
    prompt("Where is the pool made?"),
    call("bash", {"command": "rg -n pool"}, id="call_1"),
    result("src/pool.py:3: …"),
    answer("In src/pool.py."),
)

A result belongs to the oldest call that has none.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from context_guard.formats.codec import Provider
from context_guard.formats.wire.anthropic import to_anthropic
from context_guard.formats.wire.openai_chat import to_openai_chat
from context_guard.formats.wire.openai_responses import to_openai_responses
from context_guard.transcript import AnyBlock, Entry, Text, ToolCall, ToolResult, Transcript, calls_of

JsonObject = dict[str, Any]

_WRITERS = {"anthropic": to_anthropic, "openai-chat": to_openai_chat, "openai-responses": to_openai_responses}


def prompt(text: str) -> Entry:
    """What the user sent."""
    return Entry(id="", parent=None, role="user", raw=(Text(text),), visible=(Text(text),))


def call(tool: str, args: JsonObject | None = None, *, id: str = "", says: str = "") -> Entry:
    """A turn with one tool call."""
    return calls((tool, args or {}, id), says=says)


def calls(*tools: tuple[str, JsonObject, str], says: str = "") -> Entry:
    """A turn with several tool calls at once: tool, arguments and call id of each."""
    made = (ToolCall(id=id, name=tool, args=json.dumps(args)) for tool, args, id in tools)
    blocks: tuple[AnyBlock, ...] = (*([Text(says)] if says else []), *made)
    return Entry(id="", parent=None, role="assistant", raw=blocks, visible=blocks, stop="toolUse")


def result(text: str, *, error: bool = False) -> Entry:
    """What a tool gave back."""
    found = ToolResult(call_id="", name="", content=(Text(text),), is_error=error)
    return Entry(id="", parent=None, role="tool", raw=(found,), visible=(found,))


def answer(text: str) -> Entry:
    """The last words of a run."""
    return Entry(id="", parent=None, role="assistant", raw=(Text(text),), visible=(Text(text),), stop="stop")


def transcript(*entries: Entry) -> Transcript:
    """The branch, with ids e1, e2, …; calls without an id get call_1, call_2, …"""
    linked = tuple(_linked(entries))
    return Transcript(
        host="test",
        session="test",
        entries=linked,
        head=linked[-1].id if linked else None,
        context=tuple(range(len(linked))),
    )


def messages(provider: Provider, *entries: Entry) -> list[JsonObject]:
    """The list that a loop would send to the provider."""
    return _WRITERS[provider](transcript(*entries))


def _linked(entries: tuple[Entry, ...]) -> Iterator[Entry]:
    waiting: list[ToolCall] = []
    made = 0
    for place, entry in enumerate(entries, 1):
        blocks = list(entry.raw)
        if entry.role == "assistant":
            for at, block in enumerate(blocks):
                if isinstance(block, ToolCall):
                    made += 1
                    blocks[at] = msgspec.structs.replace(block, id=block.id or f"call_{made}")
            waiting += calls_of(tuple(blocks))
        elif entry.role == "tool" and isinstance(found := blocks[0], ToolResult):
            if not waiting:
                raise ValueError(f"entry {place} is a result without a call before it")
            asked = waiting.pop(0)
            blocks = [msgspec.structs.replace(found, call_id=asked.id, name=asked.name)]
        yield msgspec.structs.replace(
            entry,
            id=f"e{place}",
            parent=f"e{place - 1}" if place > 1 else None,
            raw=tuple(blocks),
            visible=tuple(blocks),
            time=place * 1_000,
        )
