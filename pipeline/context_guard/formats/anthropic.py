"""Stage 0 for a list of the Anthropic Messages API, and the way back: edits written into the list.

Known blocks are texts, pictures, thinking, calls and results; every other one (documents, search results, what the
server's own tools said and did) is carried untouched.
"""

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
    places_of,
    read_objects,
    with_texts,
)
from context_guard.formats.values import json_text, string
from context_guard.transcript import AnyBlock, Image, Model, Opaque, Text, Thinking, ToolCall, ToolResult, Usage


def read(messages: list[Any], begun: Begun = NOT_BEGUN) -> Result[tuple[Message, ...], FormatError]:
    """`begun`: what is not read once more."""
    return read_objects(messages, "messages").map(lambda found: (*begun.entries, *_entries(found, begun)))


def write(messages: list[Any], found: tuple[Message, ...], changes: Changes) -> list[Any]:
    """The list as the model is to see it, where `found` is what `read` gave for it and `changes` what `fit` left of the
    edits. What no edit touches is the same object; without an edit, the list is."""
    if not changes:
        return messages
    own: dict[int, list[tuple[range | None, Texts | None]]] = {}
    for entry, texts in changes.items():
        (place,), blocks = places_of(found[entry].src)
        own.setdefault(place, []).append((blocks, texts))
    shown = (_edited(message, own[place]) if place in own else message for place, message in enumerate(messages))
    return [message for message in shown if message is not None]


def find_image(messages: list[Any], image: Image) -> RawImage | None:
    """The data of an image that `read` found."""
    place, *inside = map(int, image.ref.split("/"))
    part: Any = as_object(messages[place])
    for index in inside:
        part = listed((part or {}).get("content"))[index]
    return _raw_image(part.get("source")) if isinstance(part, dict) else None


def _entries(messages: list[Json], begun: Begun) -> Iterator[Message]:
    names = call_names(begun.entries)
    for place, message in enumerate(messages[begun.count :], begun.count):
        match message.get("role"):
            case "assistant":
                entry = _answer(message, str(place))
                names.update((block.id, block.name) for block in entry.blocks if isinstance(block, ToolCall))
                yield entry
            case "user":
                yield from _asked(listed(message.get("content")), str(place), names)
            case "system":
                blocks, digests = _blocks(listed(message.get("content")), str(place), 0)
                # It has to stand before an answer, or at the end.
                yield Message("system", blocks, str(place), digests=digests, fixed=True)
            case _:
                carried: list[str] = []
                block = opaque(message, carried)
                yield Message("system", (block,), str(place), digests=tuple(carried), fixed=True)


def _answer(message: Json, src: str) -> Message:
    """What an answer carries untouched does not tell it apart: hosts change those blocks."""
    blocks, _ = _blocks(listed(message.get("content")), src, 0)
    name = string(message.get("model"))
    return Message(
        "assistant",
        blocks,
        src,
        model=Model("anthropic", name, "anthropic-messages") if name else None,
        usage=_usage(message.get("usage")),
        stop=string(message.get("stop_reason")) or None,
        response_id=string(message.get("id")) or None,
    )


def _asked(parts: list[Any], src: str, names: dict[str, str]) -> Iterator[Message]:
    """A user message: each result an entry, and one for all that stands between, before or behind them."""
    start = 0
    is_mixed = any(kind_of(part) == "tool_result" for part in parts)
    for place, part in enumerate([*parts, None]):
        if part is not None and kind_of(part) != "tool_result":
            continue
        if start < place or not is_mixed:
            blocks, digests = _blocks(parts[start:place], src, start)
            yield Message("user", blocks, f"{src}/{start}-{place - 1}" if is_mixed else src, digests=digests)
        if part is not None:
            yield _result(part, f"{src}/{place}", names)
        start = place + 1


def _result(part: Json, src: str, names: dict[str, str]) -> Message:
    call_id = string(part.get("tool_use_id"))
    digests: list[str] = []
    content = tuple(_plain(inner, f"{src}/{at}", digests) for at, inner in enumerate(listed(part.get("content"))))
    result = ToolResult(
        call_id=call_id,
        name=names.get(call_id, ""),
        content=content,
        is_error=part.get("is_error") is True,
        cache=life_of(part),
    )
    return Message("tool", (result,), src, digests=tuple(digests))


def _blocks(parts: list[Any], src: str, first: int) -> tuple[tuple[AnyBlock, ...], tuple[str, ...]]:
    digests: list[str] = []
    blocks = tuple(_block(part, f"{src}/{at}", digests) for at, part in enumerate(parts, first))
    return blocks, tuple(digests)


def _block(part: Any, ref: str, digests: list[str]) -> AnyBlock:
    match kind_of(part):
        case "thinking":
            return Thinking(string(part.get("thinking")), string(part.get("signature")))
        case "redacted_thinking":
            return Thinking("", string(part.get("data")))
        case "tool_use":
            return ToolCall(
                id=string(part.get("id")),
                name=string(part.get("name")),
                args=json_text(part.get("input", {})),
                cache=life_of(part),
            )
        case _:
            return _plain(part, ref, digests)


def _plain(part: Any, ref: str, digests: list[str]) -> Text | Image | Opaque:
    """The blocks that a result may hold too."""
    match kind_of(part):
        case "text" if isinstance(part.get("text"), str):
            return Text(part["text"], cache=life_of(part))
        case "image":
            return image(_raw_image(part.get("source")), ref, digests)
        case _:
            return opaque(part, digests)


def _raw_image(source: Any) -> RawImage:
    """Its bytes, its address, or the id under which the provider keeps it."""
    found = as_object(source) or {}
    if found.get("type") == "base64":
        return RawImage(media_type=string(found.get("media_type")), data=string(found.get("data")))
    return image_at(string(found.get("url")) or string(found.get("file_id")))


def _usage(found: Any) -> Usage | None:
    if not isinstance(found, dict):
        return None

    def count(key: str) -> int:
        return found[key] if isinstance(found.get(key), int) else 0

    return Usage(
        input=count("input_tokens"),
        output=count("output_tokens"),
        cache_read=count("cache_read_input_tokens"),
        cache_write=count("cache_creation_input_tokens"),
    )


def _edited(message: Any, changes: list[tuple[range | None, Texts | None]]) -> Any:
    """The message with these blocks changed; None when nothing of it is left."""
    old = as_object(message) or {}
    content = old.get("content")
    parts: dict[int, list[Any]] = {}
    for blocks, texts in changes:
        if blocks is None:
            return None if texts is None else {**old, "content": with_texts(content, texts)}
        parts |= {place: [] for place in blocks}
        if texts is not None:
            parts[blocks[0]] = _instead(listed(content)[blocks.start : blocks.stop], texts)
    left = [new for place, part in enumerate(content or ()) for new in parts.get(place, [part])]
    return {**old, "content": left} if left else None


def _instead(parts: list[Any], texts: Texts) -> list[Any]:
    if kind_of(parts[0]) == "tool_result":
        return [{**parts[0], "content": with_texts(parts[0].get("content"), texts)}]
    shown: list[Any] = with_texts(parts, texts)
    return shown
