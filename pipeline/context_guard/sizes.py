"""Sizes in characters, the pipeline's unit for context; an image counts as the text of as many tokens."""

from math import ceil
from typing import assert_never

from context_guard.transcript import AnyBlock, Entry, Image, Opaque, Text, Thinking, ToolCall, ToolResult

CHARS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 750
MAX_IMAGE_TOKENS = 6_700
UNREADABLE_IMAGE_TOKENS = 1_600
"""About a 1280 × 960 picture, for an image whose header tells nothing."""


def image_tokens(image: Image) -> int:
    if not image.width or not image.height:
        return UNREADABLE_IMAGE_TOKENS
    return min(MAX_IMAGE_TOKENS, max(1, ceil(image.width * image.height / PIXELS_PER_TOKEN)))


def block_chars(block: AnyBlock) -> int:
    """Characters of one block. A signature counts half: it takes fewer tokens a character than text."""
    match block:
        case Text(text=text):
            return len(text)
        case Image():
            return image_tokens(block) * CHARS_PER_TOKEN
        case Thinking(text=text, signature=signature):
            return len(text) + ceil(len(signature) / 2)
        case ToolCall(name=name, args=args):
            return len(name) + len(args)
        case ToolResult(content=content):
            return blocks_chars(content)
        case Opaque(size=size):
            return size
        case _:
            assert_never(block)


def blocks_chars(blocks: tuple[AnyBlock, ...] | None) -> int:
    total = 0
    for block in blocks or ():  # at every boundary over all of the context: matching classes takes twice as long
        if type(block) is Text:
            total += len(block.text)
        elif type(block) is ToolResult:
            total += blocks_chars(block.content)
        elif type(block) is ToolCall:
            total += len(block.name) + len(block.args)
        else:
            total += block_chars(block)
    return total


def visible_chars(entry: Entry) -> int:
    """What the entry takes in the model's context now."""
    return blocks_chars(entry.visible)
