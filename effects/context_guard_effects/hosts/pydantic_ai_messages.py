"""The message history of pydantic-ai as entries, and edits written into copies of its messages."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from returns.result import Result, Success

from context_guard.edit_log import RawImage
from context_guard.formats.codec import Codec
from context_guard.formats.errors import FormatError
from context_guard.formats.message_list import Changes, Message
from context_guard.transcript import AnyBlock, Image, Opaque, Text, Thinking, ToolCall, ToolResult, Usage
from context_guard_effects.hosts.places import Change, changes_by_message, source

Content = tuple[Text | Image | Opaque, ...]


def read(messages: list[ModelMessage]) -> Result[tuple[Message, ...], FormatError]:
    return Success(tuple(entry for place, message in enumerate(messages) for entry in _entries(place, message)))


def write(messages: list[ModelMessage], found: tuple[Message, ...], changes: Changes) -> list[ModelMessage]:
    """Copies down to the changed part: parts are shared with the history that pydantic-ai keeps."""
    by_message = changes_by_message(found, changes)
    edited = (_edited(message, by_message.get(place, ())) for place, message in enumerate(messages))
    return [message for message in edited if message is not None]


def find_image(messages: list[ModelMessage], image: Image) -> RawImage | None:
    """By the digest that `read` gave it as its ref."""
    for message in messages:
        for part in message.parts:
            content = getattr(part, "content", None)
            for item in content if isinstance(content, list | tuple) else (content,):
                if isinstance(item, BinaryContent | ImageUrl) and _digest(item) == image.ref:
                    if isinstance(item, ImageUrl):
                        return RawImage(media_type=image.media_type, data=item.url, kind="url")
                    return RawImage(media_type=item.media_type, data=base64.b64encode(item.data).decode())
    return None


def _entries(place: int, message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelResponse):
        usage = message.usage
        cached = usage.cache_read_tokens + usage.cache_write_tokens
        yield Message(
            role="assistant",
            blocks=tuple(map(_said, message.parts)),
            src=str(place),
            time=_ms(message.timestamp),
            usage=Usage(
                max(0, usage.input_tokens - cached),
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            ),
        )
        return
    prompts: list[int] = []
    for at, part in enumerate(message.parts):
        match part:
            case UserPromptPart():
                prompts.append(at)
                if not isinstance(_next(message.parts, at), UserPromptPart):
                    yield _prompt(place, prompts, message.parts)
                    prompts = []
            case ToolReturnPart():
                content = _content(part.content_items(mode="str", wrap_if_error=False))
                result = ToolResult(
                    call_id=part.tool_call_id,
                    name=part.tool_name,
                    content=content,
                    is_error=part.outcome != "success",
                )
                yield Message("tool", (result,), source(place, [at]), _refs(content), time=_ms(part.timestamp))
            case SystemPromptPart():
                yield Message("system", (Text(part.content),), source(place, [at]))
            case _:
                said = repr(part)
                carried = Opaque(kind=part.part_kind, size=len(said))
                yield Message("note", (carried,), source(place, [at]), (said,), fixed=True)


def _prompt(place: int, at: list[int], parts: Sequence[ModelRequestPart]) -> Message:
    content = tuple(block for index in at for block in _prompted(parts[index]))
    sent: datetime | None = getattr(parts[at[0]], "timestamp", None)
    return Message("user", content, source(place, at), _refs(content), time=_ms(sent))


def _prompted(part: Any) -> Content:
    return _content([part.content] if isinstance(part.content, str) else part.content)


def _content(items: Sequence[Any]) -> Content:
    return tuple(map(_block, items))


def _block(item: Any) -> Text | Image | Opaque:
    match item:
        case str():
            return Text(item)
        case TextContent():
            return Text(item.content)
        case BinaryContent(is_image=True) | ImageUrl():
            return Image(media_type=item.media_type, ref=_digest(item))
        case _:
            return Opaque(kind=getattr(item, "kind", "data"), size=len(repr(item)))


def _said(part: ModelResponsePart) -> AnyBlock:
    match part:
        case TextPart():
            return Text(part.content)
        case ThinkingPart():
            return Thinking(part.content, signature=part.signature or "")
        case ToolCallPart():
            return ToolCall(id=part.tool_call_id, name=part.tool_name, args=part.args_as_json_str())
        case _:
            return Opaque(kind=part.part_kind, size=len(repr(part)))


def _edited(message: ModelMessage, changes: tuple[Change, ...]) -> ModelMessage | None:
    """None where nothing of the message is left."""
    if not changes:
        return message
    if isinstance(message, ModelResponse):
        return None
    parts = list(message.parts)
    for change in changes:
        for at in reversed(change.parts or ()):
            part: Any = parts[at]
            is_first = change.parts is not None and at == change.parts[0]
            parts[at : at + 1] = [replace(part, content="\n".join(change.texts))] if change.texts and is_first else []
    return replace(message, parts=parts) if parts else None


def _digest(item: BinaryContent | ImageUrl) -> str:
    return sha256(item.data if isinstance(item, BinaryContent) else item.url.encode()).hexdigest()


def _refs(content: Content) -> tuple[str, ...]:
    return tuple(block.ref for block in content if isinstance(block, Image))


def _next(parts: Sequence[ModelRequestPart], at: int) -> ModelRequestPart | None:
    return parts[at + 1] if at + 1 < len(parts) else None


def _ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1_000)


CODEC: Codec[ModelMessage] = Codec("pydantic-ai", read, write, lambda _: (), find_image)
