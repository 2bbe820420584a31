"""The lines of a Claude Code session as entries, and edits written into copies of them.

Each line holds one block of an Anthropic message, and its parent's id: what the model sees is the chain that ends in
the last line. Nothing is ever taken out of the chain, so edits of whole exchanges do not apply here.
"""

from typing import Any

from msgspec import structs
from returns.result import Result

from context_guard.edit_log import RawImage
from context_guard.formats import anthropic
from context_guard.formats.claude_code import seen_lines
from context_guard.formats.codec import Codec
from context_guard.formats.errors import FormatError
from context_guard.formats.message_list import Changes, Message
from context_guard.formats.recorded import milliseconds
from context_guard.transcript import Image

Line = dict[str, Any]


def read(lines: list[Line]) -> Result[tuple[Message, ...], FormatError]:
    chain = seen_lines(lines)

    def told(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(_told(message, lines[chain[int(message.src.partition("/")[0])]]) for message in messages)

    return anthropic.read([lines[at]["message"] for at in chain]).map(told)


def write(lines: list[Line], found: tuple[Message, ...], changes: Changes) -> list[Line]:
    chain = seen_lines(lines)
    messages = [lines[at]["message"] for at in chain]
    edited = anthropic.write(messages, found, {at: texts for at, texts in changes.items() if texts is not None})
    new = {at: message for at, old, message in zip(chain, messages, edited, strict=True) if message is not old}
    return [{**line, "message": new[at]} if at in new else line for at, line in enumerate(lines)]


def find_image(lines: list[Line], image: Image) -> RawImage | None:
    return anthropic.find_image([lines[at]["message"] for at in seen_lines(lines)], image)


def _told(message: Message, line: Line) -> Message:
    """With its time; what the program itself put in is no prompt."""
    is_note = message.role == "user" and line.get("isMeta") is True
    return structs.replace(message, time=milliseconds(line.get("timestamp")), role="note" if is_note else message.role)


CODEC: Codec[Line] = Codec("claude-code", read, write, lambda _: (), find_image, api="anthropic-messages")
