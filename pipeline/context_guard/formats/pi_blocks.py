"""What one message of Pi holds, as blocks. Total: a block that cannot be understood is carried as `Opaque`."""

from typing import Any

from context_guard.formats.base64_image import image_size
from context_guard.formats.pi_session import Json
from context_guard.formats.values import json_text, string
from context_guard.transcript import AnyBlock, Image, Opaque, Text, Thinking, ToolCall, ToolResult


def read_blocks(content: Any, source: str) -> tuple[AnyBlock, ...]:
    """Blocks of a message's content; `source` is the line that holds it."""
    return tuple(
        Text(block) if isinstance(block, str) else _block(block, f"{source}/{i}")
        for i, block in enumerate(_listed(content))
    )


def read_text(text: Any) -> tuple[AnyBlock, ...]:
    return (Text(text),) if isinstance(text, str) and text else ()


def read_result(message: Json, content: Any, source: str) -> ToolResult:
    """A tool result with this content, its own or that of an edit; everything else stays the message's."""
    details = message.get("details")
    is_error = message.get("isError")
    return ToolResult(
        call_id=string(message.get("toolCallId")),
        name=string(message.get("toolName")),
        content=tuple(
            Text(block) if isinstance(block, str) else _plain_block(block, f"{source}/{i}")
            for i, block in enumerate(_listed(content))
        ),
        is_error=is_error if isinstance(is_error, bool) else None,
        full_ref=(string(details.get("fullOutputPath")) or None) if isinstance(details, dict) else None,
    )


def shell_text(message: Json) -> str:
    """The user's own command as Pi tells the model of it."""
    output = string(message.get("output"))
    text = f"Ran `{string(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif code is not None and code != 0:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def _listed(content: Any) -> list[Any]:
    """Content as a list; a bare string is one text, an empty one none."""
    if isinstance(content, str):
        return [content] if content else []
    return content if isinstance(content, list) else []


def _block(block: Any, source: str) -> AnyBlock:
    match block:
        case {"type": "thinking"}:
            return Thinking(string(block.get("thinking")), string(block.get("thinkingSignature")))
        case {"type": "toolCall"}:
            args = block.get("arguments")
            return ToolCall(
                id=string(block.get("id")),
                name=string(block.get("name")),
                args=json_text(args) if isinstance(args, dict) else "",
            )
        case _:
            return _plain_block(block, source)


def _plain_block(block: Any, source: str) -> Text | Image | Opaque:
    """The blocks that a tool result may hold too."""
    match block:
        case {"type": "text"}:
            return Text(string(block.get("text")))
        case {"type": "image"}:
            width, height = image_size(block.get("data"))
            return Image(media_type=string(block.get("mimeType")), ref=source, width=width, height=height)
        case _:
            kind = string(block.get("type")) if isinstance(block, dict) else ""
            return Opaque(kind=kind, size=len(json_text(block)))
