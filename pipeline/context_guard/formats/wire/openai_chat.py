"""A transcript as an OpenAI chat completions list."""

import hashlib
import re

from context_guard.formats.wire.turns import NO_TEXT, SEE_IMAGE, Message, is_said, read_turns
from context_guard.text import trim, without_lone_surrogates
from context_guard.transcript import AnyBlock, Image, Text, ToolResult, Transcript, calls_of, images_of, text_of

IMAGES_OF_RESULT = "Attached image(s) from tool result:"
ID_CHARS = 40
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


def to_openai_chat(transcript: Transcript) -> list[Message]:
    """A chat completions list. Pictures of results follow them in a user message of their own; no thinking."""
    messages: list[Message] = []
    for turn in read_turns(transcript):
        match turn.role:
            case "tool":
                messages += _results(turn.blocks)
            case "assistant":
                messages += _assistant(turn.blocks)
            case "system":
                if text := _text(turn.blocks, "\n"):
                    messages.append({"role": "system", "content": text})
            case _:
                if parts := [_part(block) for block in turn.blocks if is_said(block)]:
                    messages.append({"role": "user", "content": parts})
    return messages


def _text(blocks: tuple[AnyBlock, ...], between: str) -> str:
    texts = (block.text for block in blocks if isinstance(block, Text) and trim(block.text))
    return without_lone_surrogates(between.join(texts))


def _assistant(blocks: tuple[AnyBlock, ...]) -> list[Message]:
    text = _text(blocks, "")
    message: Message = {"role": "assistant", "content": text or None}
    if calls := calls_of(blocks):
        message["tool_calls"] = [
            {
                "id": _id(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": without_lone_surrogates(call.args) or "{}"},
            }
            for call in calls
        ]
    return [message] if text or calls else []


def _results(blocks: tuple[AnyBlock, ...]) -> list[Message]:
    messages: list[Message] = []
    images: list[Message] = []
    for block in blocks:
        if isinstance(block, ToolResult):
            found = images_of(block.content)
            text = text_of(block.content) or (SEE_IMAGE if found else NO_TEXT)
            messages.append(
                {"role": "tool", "content": without_lone_surrogates(text), "tool_call_id": _id(block.call_id)}
            )
            images += map(_part, found)
    if images:
        messages.append({"role": "user", "content": [{"type": "text", "text": IMAGES_OF_RESULT}, *images]})
    return messages


def _part(block: AnyBlock) -> Message:
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": _stand_in(block)}}
    return {"type": "text", "text": without_lone_surrogates(text_of((block,)))}


def _id(id: str) -> str:
    """The id of a Responses call joined from its two halves and cut to what this API takes; any other as it is."""
    if "|" not in id:
        return id
    joined = "_".join(_NOT_IN_ID.sub("_", half) for half in id.split("|", 1) if half)
    if len(joined) <= ID_CHARS:
        return joined
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{joined[: ID_CHARS - 9]}_{digest}"


def _stand_in(image: Image) -> str:
    """An address in a domain that is set aside for examples: this API has no other way to name a stored picture."""
    return f"https://image.invalid/#{image.ref}"
