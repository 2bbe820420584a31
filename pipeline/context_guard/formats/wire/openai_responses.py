"""A transcript as an OpenAI Responses input list."""

import json
from collections.abc import Iterator

from context_guard.formats.wire.turns import NO_TEXT, Message, is_said, read_turns
from context_guard.text import without_lone_surrogates
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


def to_openai_responses(transcript: Transcript) -> list[Message]:
    """An input list. Thinking goes along only where its signature is a reasoning item of this API."""
    items: list[Message] = []
    for turn in read_turns(transcript):
        if turn.role == "tool":
            items += [_output(block) for block in turn.blocks if isinstance(block, ToolResult)]
        elif turn.role == "assistant":
            items += _items(turn.blocks, len(items))
        elif parts := [_part(block) for block in turn.blocks if is_said(block)]:
            items.append({"role": turn.role, "content": parts})
    return items


def _items(blocks: tuple[AnyBlock, ...], place: int) -> Iterator[Message]:
    for index, block in enumerate(blocks):
        match block:
            case Thinking(signature=signature) if item := _reasoning(signature):
                yield item
            case Text(text=text) if text:
                yield {
                    "type": "message",
                    "role": "assistant",
                    "id": f"msg_{place}_{index}",
                    "content": [{"type": "output_text", "text": without_lone_surrogates(text)}],
                }
            case ToolCall(id=id, name=name, args=args):
                call_id, _, item_id = id.partition("|")
                yield {
                    "type": "function_call",
                    **({"id": item_id} if item_id.startswith("fc") else {}),
                    "call_id": call_id,
                    "name": name,
                    "arguments": without_lone_surrogates(args) or "{}",
                }


def _output(result: ToolResult) -> Message:
    images = images_of(result.content)
    text = without_lone_surrogates(text_of(result.content))
    output: str | list[Message] = text or NO_TEXT
    if images:
        texts = [{"type": "input_text", "text": text}] if text else []
        output = [*texts, *map(_part, images)]
    return {"type": "function_call_output", "call_id": result.call_id.partition("|")[0], "output": output}


def _part(block: AnyBlock) -> Message:
    if isinstance(block, Image):
        return {"type": "input_image", "file_id": block.ref}
    return {"type": "input_text", "text": without_lone_surrogates(text_of((block,)))}


def _reasoning(signature: str) -> Message | None:
    """The reasoning item that this API left in a signature; None in the signature of another."""
    try:
        item = json.loads(signature) if signature.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) and item.get("type") == "reasoning" else None
