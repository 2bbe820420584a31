"""The messages that go to a provider, before any wire format: roles and blocks, as Pi makes them.

Summaries, notes and the user's own commands become user messages; an assistant message that failed or was aborted is
left out; a call without a result before the next instruction gets a synthetic one.
"""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from context_guard.text import trim
from context_guard.transcript import (
    AnyBlock,
    Entry,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    calls_of,
    shown,
    text_of,
)

Message = dict[str, Any]

NO_RESULT = "No result provided"
NO_TEXT = "(no tool output)"
SEE_IMAGE = "(see attached image)"

COMPACTED = "The conversation history before this point was compacted into the following summary:"
CAME_BACK = "The following is a summary of a branch that this conversation came back from:"


class Turn(Struct, frozen=True):
    """One message to the provider, or a batch of results."""

    role: Literal["system", "user", "assistant", "tool"]
    blocks: tuple[AnyBlock, ...]


def read_turns(transcript: Transcript) -> Iterator[Turn]:
    """The visible messages in order; every result batch is complete, by synthetic results where need be."""
    waiting: dict[str, ToolCall] = {}
    results: list[AnyBlock] = []
    for entry in shown(transcript):
        if not entry.visible or entry.role == "meta":
            continue
        if entry.role == "tool":
            results += entry.visible
            waiting = {id: call for id, call in waiting.items() if id not in _answered(entry)}
            continue
        results += [_synthetic(call) for call in waiting.values()]
        if results:
            yield Turn("tool", tuple(results))
        waiting, results = {}, []
        if entry.role != "assistant":
            yield Turn("system" if entry.role == "system" else "user", _instruction(entry))
        elif entry.stop not in ("error", "aborted"):
            waiting = {call.id: call for call in calls_of(entry.visible)}
            yield Turn("assistant", _said_to(transcript, entry))
    results += [_synthetic(call) for call in waiting.values()]
    if results:
        yield Turn("tool", tuple(results))


def _answered(entry: Entry) -> set[str]:
    return {block.call_id for block in entry.visible or () if isinstance(block, ToolResult)}


def _synthetic(call: ToolCall) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=(Text(NO_RESULT),), is_error=True)


def _instruction(entry: Entry) -> tuple[AnyBlock, ...]:
    blocks = entry.visible or ()
    if entry.role != "summary":
        return blocks
    if entry.kind == "branch_summary":
        return (Text(f"{CAME_BACK}\n\n<summary>\n{text_of(blocks)}</summary>"),)
    return (Text(f"{COMPACTED}\n\n<summary>\n{text_of(blocks)}\n</summary>"),)


def _said_to(transcript: Transcript, entry: Entry) -> tuple[AnyBlock, ...]:
    """The message without the thinking of another model than the one that reads it next."""
    own = entry.model is None or transcript.model is None or entry.model == transcript.model
    return tuple(block for block in entry.visible or () if own or not isinstance(block, Thinking))


def is_said(block: AnyBlock) -> bool:
    """Whether the block is something that a user message can hold and a provider takes."""
    return isinstance(block, Image) or (isinstance(block, Text) and trim(block.text) != "")
