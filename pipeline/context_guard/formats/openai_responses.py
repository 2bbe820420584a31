"""Stage 0 for an input list of the OpenAI Responses API, and the way back.

Items of the assistant that follow each other (reasoning, message, calls) are one response, hence one entry: hand the
list over when a response is complete. Kinds of items that are not known here are carried untouched.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from returns.result import Result

from context_guard.edit_log import RawImage
from context_guard.formats.errors import FormatError
from context_guard.formats.fitting import Changes, Texts
from context_guard.formats.message import NOT_BEGUN, Begun, Message, call_names
from context_guard.formats.parts import (
    Json,
    as_object,
    image,
    image_at,
    kind_of,
    life_of,
    listed,
    opaque,
    read_objects,
    replace_messages,
    with_texts,
)
from context_guard.formats.values import json_text, string
from context_guard.transcript import AnyBlock, Image, Opaque, Role, Text, Thinking, ToolCall, ToolResult

ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""Results that are plain texts or parts. Those of the other tools have forms of their own and are never edited."""

TEXT_PARTS = ("input_text", "output_text", "text")


def read(messages: list[Any] | str, begun: Begun = NOT_BEGUN) -> Result[tuple[Message, ...], FormatError]:
    """A bare text is one user message. `begun`: what is not read once more."""
    items = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    return read_objects(items, "input").map(lambda found: (*begun.entries, *_entries(found, begun)))


def write(messages: list[Any], found: tuple[Message, ...], changes: Changes) -> list[Any]:
    """The list as the model is to see it, where `found` is what `read` gave for it and `changes` what `fit` left of the
    edits. What no edit touches is the same object; without an edit, the list is."""
    if not changes:
        return messages
    return replace_messages(messages, [(found[place].src, texts) for place, texts in changes.items()], _edited)


def find_image(messages: list[Any], image: Image) -> RawImage | None:
    """The data of an image that `read` found."""
    place, index = map(int, image.ref.split("/"))
    item = as_object(messages[place]) or {}
    return _raw_image(listed(item.get("output", item.get("content")))[index])


def _entries(items: list[Json], begun: Begun) -> Iterator[Message]:
    names = call_names(begun.entries)
    numbered = enumerate(items[begun.count :], begun.count)
    for is_answer, group in groupby(numbered, lambda pair: _role(pair[1]) == "assistant"):
        if not is_answer:
            for place, item in group:
                yield _entry(item, place, names)
            continue
        own = list(group)
        blocks = tuple(block for place, item in own for block in _answer(item, place))
        names.update((block.id, block.name) for block in blocks if isinstance(block, ToolCall))
        first, last = own[0][0], own[-1][0]
        yield Message("assistant", blocks, str(first) if first == last else f"{first}-{last}")


def _role(item: Json) -> Role | None:
    """None for what is not known."""
    kind = kind_of(item)
    if kind in ("message", ""):
        return ROLES.get(string(item.get("role")))
    if kind in COMPACTIONS:
        return "summary"
    if kind.endswith("_output"):
        return "tool" if isinstance(item.get("call_id"), str) else None
    return "assistant" if kind.endswith("_call") or kind in ("reasoning", *MCP) else None


MCP = ("mcp_list_tools", "mcp_approval_request")


def _entry(item: Json, place: int, names: dict[str, str]) -> Message:
    digests: list[str] = []
    match _role(item):
        case "tool":
            block: AnyBlock = _result(item, place, names, digests)
            return Message("tool", (block,), str(place), digests=tuple(digests), kind=kind_of(item))
        case "system" | "user" as role:
            blocks = _parts(item.get("content"), place, digests)
            return Message(role, blocks, str(place), digests=tuple(digests), kind=string(item.get("role")))
        case role:
            block = opaque(item, digests)
            kind = "compaction" if role == "summary" else kind_of(item)
            return Message(role or "system", (block,), str(place), digests=tuple(digests), fixed=True, kind=kind)


def _result(item: Json, place: int, names: dict[str, str], digests: list[str]) -> ToolResult:
    """There is no flag for a call that failed."""
    call_id = string(item.get("call_id"))
    content: tuple[Text | Image | Opaque, ...]
    if kind_of(item) in TEXT_OUTPUTS:
        content = _parts(item.get("output"), place, digests)
    else:
        content = (opaque({"type": kind_of(item), "output": item.get("output")}, digests),)
    return ToolResult(call_id=call_id, name=names.get(call_id, ""), content=content)


def _answer(item: Json, place: int) -> Iterator[AnyBlock]:
    """What an answer carries untouched does not tell it apart: hosts change those parts."""
    digests: list[str] = []
    match kind_of(item):
        case "" | "message":
            yield from _parts(item.get("content"), place, digests)
        case "reasoning":
            texts = [string(part.get("text")) for part in listed(item.get("summary")) if isinstance(part, dict)]
            yield Thinking("\n".join(texts), string(item.get("encrypted_content")))
        case "function_call":
            yield _call(item, string(item.get("name")), string(item.get("arguments")))
        case "custom_tool_call":
            yield _call(item, string(item.get("name")), json_text({"input": item.get("input")}))
        case kind if isinstance(item.get("call_id"), str):
            yield _call(item, kind.removesuffix("_call"), json_text(item.get("action", item.get("operation", {}))))
        case _:
            yield opaque(item, digests)


def _call(item: Json, name: str, args: str) -> ToolCall:
    return ToolCall(id=string(item.get("call_id")), name=name, args=args)


def _parts(content: Any, place: int, digests: list[str]) -> tuple[Text | Image | Opaque, ...]:
    return tuple(_part(part, f"{place}/{at}", digests) for at, part in enumerate(listed(content)))


def _part(part: Any, ref: str, digests: list[str]) -> Text | Image | Opaque:
    match kind_of(part):
        case kind if kind in TEXT_PARTS and isinstance(part.get("text"), str):
            return Text(part["text"], cache=life_of(part))
        case "refusal" if isinstance(part.get("refusal"), str):
            return Text(part["refusal"])
        case "input_image":
            return image(_raw_image(part), ref, digests)
        case _:
            return opaque(part, digests)


def _raw_image(part: Json) -> RawImage:
    """In a data URL, at an address, or under the id of a file that the provider keeps."""
    return image_at(string(part.get("image_url")) or string(part.get("file_id")))


def _edited(item: Json, texts: Texts) -> Json:
    key = "output" if "output" in item else "content"
    return {**item, key: with_texts(item.get(key), texts, "input_text")}
