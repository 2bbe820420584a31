"""The messages of LangChain as entries, and edits written into copies of them."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from returns.result import Result, Success

from context_guard.edit_log import RawImage
from context_guard.formats.codec import Codec
from context_guard.formats.errors import FormatError
from context_guard.formats.message_list import Changes, Message
from context_guard.transcript import AnyBlock, Image, Model, Opaque, Text, Thinking, ToolCall, ToolResult, Usage
from context_guard_effects.hosts.places import changes_by_message

Content = tuple[Text | Image | Opaque, ...]


def read(messages: list[AnyMessage]) -> Result[tuple[Message, ...], FormatError]:
    return Success(tuple(_entry(str(place), message) for place, message in enumerate(messages)))


def write(messages: list[AnyMessage], found: tuple[Message, ...], changes: Changes) -> list[AnyMessage]:
    """Copies: the messages themselves belong to the agent's state."""
    by_message = changes_by_message(found, changes)
    edited: list[AnyMessage] = []
    for place, message in enumerate(messages):
        change = by_message[place][0] if place in by_message else None
        if change is None:
            edited.append(message)
        elif change.texts is not None:
            edited.append(message.model_copy(update={"content": "\n".join(change.texts)}))
    return edited


def find_image(messages: list[AnyMessage], image: Image) -> RawImage | None:
    """By the digest that `read` gave it as its ref."""
    for message in messages:
        if isinstance(message.content, list):
            for block in message.content_blocks:
                if block["type"] == "image" and _digest(block) == image.ref:
                    if "base64" in block:
                        return RawImage(media_type=image.media_type, data=block["base64"])
                    return RawImage(media_type=image.media_type, data=block.get("url", ""), kind="url")
    return None


def last_model(messages: Sequence[AnyMessage]) -> Model | None:
    """Who answered last, as its integration says."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            told = message.response_metadata
            name = told.get("model_name") or told.get("model")
            return Model(provider=str(told.get("model_provider", "")), id=str(name)) if name else None
    return None


def _entry(src: str, message: AnyMessage) -> Message:
    match message:
        case AIMessage():
            return Message(role="assistant", blocks=tuple(_said(message)), src=src, usage=_usage(message))
        case ToolMessage():
            content = _content(message)
            result = ToolResult(
                call_id=message.tool_call_id,
                name=message.name or "",
                content=content,
                is_error=message.status == "error",
            )
            return Message(role="tool", blocks=(result,), src=src, digests=_refs(content))
        case HumanMessage():
            content = _content(message)
            return Message(role="user", blocks=content, src=src, digests=_refs(content))
        case SystemMessage():
            return Message(role="system", blocks=_content(message), src=src)
        case _:
            carried = Opaque(kind=message.type, size=len(str(message.content)))
            return Message(role="note", blocks=(carried,), src=src, digests=(str(message.content),), fixed=True)


def _said(message: AIMessage) -> list[AnyBlock]:
    blocks: list[AnyBlock] = []
    if isinstance(message.content, str):
        blocks += [Text(message.content)] if message.content else []
    else:
        for block in message.content_blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    blocks.append(Text(text))
                case {"type": "reasoning"}:
                    blocks.append(Thinking(str(block.get("reasoning", ""))))
                case {"type": "tool_call" | "invalid_tool_call"}:
                    pass
                case _:
                    blocks.append(Opaque(kind=block["type"], size=len(str(block))))
    calls = (
        ToolCall(id=call["id"] or "", name=call["name"], args=json.dumps(call["args"])) for call in message.tool_calls
    )
    return [*blocks, *calls]


def _content(message: AnyMessage) -> Content:
    if isinstance(message.content, str):
        return (Text(message.content),)
    return tuple(map(_block, message.content_blocks))


def _block(block: Any) -> Text | Image | Opaque:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "base64": str()} | {"type": "image", "url": str()}:
            return Image(media_type=block.get("mime_type", "image/png"), ref=_digest(block))
        case _:
            return Opaque(kind=str(block.get("type")), size=len(str(block)))


def _digest(block: Any) -> str:
    return sha256(str(block.get("base64") or block.get("url")).encode()).hexdigest()


def _refs(content: Content) -> tuple[str, ...]:
    return tuple(block.ref for block in content if isinstance(block, Image))


def _usage(message: AIMessage) -> Usage | None:
    told = message.usage_metadata
    if told is None:
        return None
    details = told.get("input_token_details", {})
    read_, written = details.get("cache_read", 0) or 0, details.get("cache_creation", 0) or 0
    return Usage(max(0, told["input_tokens"] - read_ - written), told["output_tokens"], read_, written)


CODEC: Codec[AnyMessage] = Codec("langchain", read, write, lambda _: (), find_image)
