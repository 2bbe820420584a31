"""A transcript as an Anthropic Messages list."""

import re
from typing import Any

from context_guard.formats.wire.turns import SEE_IMAGE, Message, read_turns
from context_guard.labels import read_args
from context_guard.text import trim, without_lone_surrogates
from context_guard.transcript import (
    AnyBlock,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    images_of,
    text_of,
)

_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


def to_anthropic(transcript: Transcript) -> list[Message]:
    """A Messages list. Neighbouring results are one user message; white space alone is not sent."""
    messages: list[Message] = []
    for turn in read_turns(transcript):
        if turn.role == "tool":
            messages.append({"role": "user", "content": _results(turn.blocks)})
        elif content := _blocks(turn.blocks):
            messages.append({"role": "assistant" if turn.role == "assistant" else "user", "content": content})
    return messages


def _blocks(blocks: tuple[AnyBlock, ...]) -> list[Message]:
    content: list[Message] = []
    for block in blocks:
        match block:
            case Text(text=text) if trim(text):
                content.append({"type": "text", "text": without_lone_surrogates(text)})
            case Thinking(text=text, signature=signature) if signature:
                thinking = {"type": "thinking", "thinking": without_lone_surrogates(text), "signature": signature}
                content.append(thinking)
            case Thinking(text=text) if trim(text):
                content.append({"type": "text", "text": without_lone_surrogates(text)})
            case ToolCall(id=id, name=name, args=args):
                content.append({"type": "tool_use", "id": _id(id), "name": name, "input": _safe(read_args(args))})
            case Image():
                content.append(_image(block))
    return content


def _results(blocks: tuple[AnyBlock, ...]) -> list[Message]:
    """The results, then the pictures of failed ones, which a result that reports a failure may not hold."""
    content: list[Message] = []
    moved: list[Message] = []
    for block in blocks:
        if not isinstance(block, ToolResult):
            continue
        images = [_image(image) for image in images_of(block.content)]
        texts = _blocks(tuple(inner for inner in block.content if isinstance(inner, Text)))
        row: Message = {"type": "tool_result", "tool_use_id": _id(block.call_id)}
        if not images:
            row["content"] = without_lone_surrogates(text_of(block.content))
        elif block.is_error:
            row["content"] = texts or SEE_IMAGE
            moved += images
        else:
            row["content"] = [*(texts or [{"type": "text", "text": SEE_IMAGE}]), *images]
        if block.is_error is not None:
            row["is_error"] = block.is_error
        content.append(row)
    return [*content, *moved]


def _image(image: Image) -> Message:
    return {"type": "image", "source": {"type": "file", "file_id": image.ref}}


def _id(id: str) -> str:
    return _NOT_IN_ID.sub("_", id)[:64] or "_"


def _safe(value: Any) -> Any:
    """The value with every lone surrogate in it replaced: escapes in JSON text hide them."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, list):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(key): _safe(item) for key, item in value.items()}
    return value
