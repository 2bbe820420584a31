"""Stage 0 for a list of the OpenAI chat completions API (and of everything that speaks it), and the way back."""

from collections.abc import Iterator
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


def read(messages: list[Any], begun: Begun = NOT_BEGUN) -> Result[tuple[Message, ...], FormatError]:
    """`begun`: what is not read once more."""
    return read_objects(messages, "messages").map(lambda found: (*begun.entries, *_entries(found, begun)))


def write(messages: list[Any], found: tuple[Message, ...], changes: Changes) -> list[Any]:
    """The list as the model is to see it, where `found` is what `read` gave for it and `changes` what `fit` left of the
    edits. What no edit touches is the same object; without an edit, the list is."""
    if not changes:
        return messages
    return replace_messages(messages, [(found[place].src, texts) for place, texts in changes.items()], _edited)


def find_image(messages: list[Any], image: Image) -> RawImage | None:
    """The data of an image that `read` found."""
    place, index = map(int, image.ref.split("/"))
    part = listed((as_object(messages[place]) or {}).get("content"))[index]
    return _raw_image(part)


def _entries(messages: list[Json], begun: Begun) -> Iterator[Message]:
    names = call_names(begun.entries)
    for place, message in enumerate(messages[begun.count :], begun.count):
        role = string(message.get("role"))
        digests: list[str] = []
        if role == "tool":
            yield Message("tool", (_result(message, place, names, digests),), str(place), digests=tuple(digests))
        elif role in ROLES:
            blocks = tuple(_blocks(message, place, digests))
            names.update((block.id, block.name) for block in blocks if isinstance(block, ToolCall))
            # What an answer carries untouched does not tell it apart: hosts change those parts.
            told = () if role == "assistant" else tuple(digests)
            yield Message(ROLES[role], blocks, str(place), digests=told, kind=role)
        else:
            block = opaque(message, digests)
            yield Message("system", (block,), str(place), digests=tuple(digests), fixed=True, kind=role)


def _result(message: Json, place: int, names: dict[str, str], digests: list[str]) -> ToolResult:
    """There is no flag for a call that failed."""
    call_id = string(message.get("tool_call_id"))
    return ToolResult(
        call_id=call_id,
        name=string(message.get("name")) or names.get(call_id, ""),
        content=_parts(message.get("content"), place, digests),
        cache=life_of(message),
    )


def _blocks(message: Json, place: int, digests: list[str]) -> Iterator[AnyBlock]:
    if message.get("role") == "assistant":
        yield from _thinking(message)
    yield from _parts(message.get("content"), place, digests)
    if refusal := string(message.get("refusal")):
        yield Text(refusal)
    for call in listed(message.get("tool_calls")):
        yield _call(as_object(call) or {}, digests)
    for key in ("function_call", "audio"):
        if message.get(key):
            yield opaque({"type": key, "value": message[key]}, digests)


def _thinking(message: Json) -> Iterator[Thinking]:
    """No part of the API itself: servers and gateways add it under these names."""
    for key in ("reasoning_content", "reasoning"):
        if text := string(message.get(key)):
            yield Thinking(text)
    for block in listed(message.get("thinking_blocks")):
        found = as_object(block) or {}
        yield Thinking(string(found.get("thinking")), string(found.get("signature")) or string(found.get("data")))


def _call(call: Json, digests: list[str]) -> ToolCall | Opaque:
    function = as_object(call.get("function"))
    custom = as_object(call.get("custom"))
    if function is not None:
        args = string(function.get("arguments"))
        return ToolCall(id=string(call.get("id")), name=string(function.get("name")), args=args)
    if custom is not None:
        args = json_text({"input": custom.get("input")})
        return ToolCall(id=string(call.get("id")), name=string(custom.get("name")), args=args)
    return opaque(call, digests)


def _parts(content: Any, place: int, digests: list[str]) -> tuple[Text | Image | Opaque, ...]:
    return tuple(_part(part, f"{place}/{at}", digests) for at, part in enumerate(listed(content)))


def _part(part: Any, ref: str, digests: list[str]) -> Text | Image | Opaque:
    match kind_of(part):
        case "text" if isinstance(part.get("text"), str):
            return Text(part["text"], cache=life_of(part))
        case "refusal" if isinstance(part.get("refusal"), str):
            return Text(part["refusal"])
        case "image_url":
            return image(_raw_image(part), ref, digests)
        case _:
            return opaque(part, digests)


def _raw_image(part: Json) -> RawImage:
    found = part.get("image_url")
    return image_at(string(found.get("url")) if isinstance(found, dict) else string(found))


def _edited(message: Json, texts: Texts) -> Json:
    return {**message, "content": with_texts(message.get("content"), texts)}
