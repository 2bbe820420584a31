"""What is wrong inside one message, and the content that could be shown in its place."""

import re
from collections.abc import Callable
from typing import Any

from context_guard.doctor.pictures import picture_fault
from context_guard.formats.pi_session import Json
from context_guard.text import MARKER, compact_json, format_chars, recall_hint

UNREADABLE = f"{MARKER} What stood here could not be read."
"""In place of a message of which nothing is left."""

ENCODED_CHARS = 100_000
"""A run of that many characters of encoded data is a finding: some 25,000 tokens that no model can read."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]+")


def as_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def content_fault(message: Json) -> str:
    """Why Pi cannot build a request of it; empty where every block is one that its role may have, and complete."""
    content, role = message.get("content"), message.get("role")
    if content is None or (isinstance(content, str) and role in ("user", "custom", "system")):
        return ""
    if not isinstance(content, list):
        return f"it is {'a text' if isinstance(content, str) else 'no list'}, where a list of blocks has to be"
    return next((_said(block, i) for i, block in enumerate(content, 1) if not is_readable(block, role)), "")


def _said(block: Any, number: int) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        return f"block {number} has no type"
    return f"block {number} ({kind}) lacks something, or cannot stand there"


def is_readable(block: Any, role: object) -> bool:
    match block:
        case {"type": "text"}:
            return isinstance(block.get("text"), str)
        case {"type": "image"}:
            return role != "assistant"
        case {"type": "thinking"} if role == "assistant":
            return isinstance(block.get("thinking"), str)
        case {"type": "toolCall"} if role == "assistant":
            id, name = block.get("id"), block.get("name")
            is_named = isinstance(id, str) and isinstance(name, str) and "" not in (id, name)
            return is_named and isinstance(block.get("arguments"), dict)
        case {"type": str()} if role == "assistant":
            return True  # Pi leaves out what it does not know of its own
        case _:
            return False


def readable_blocks(message: Json) -> list[Any]:
    """The blocks that can be read, calls with what is left of them; a stand-in where nothing is."""
    role = message.get("role")
    blocks = [mended for block in as_blocks(message.get("content")) if (mended := _readable(block, role)) is not None]
    if blocks or role == "assistant":
        return blocks
    return [{"type": "text", "text": UNREADABLE}]


def _readable(block: Any, role: Any) -> Any:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if is_readable(block, role):
        return block
    match block:
        case {"type": "toolCall", "id": str(id), "name": str(name)} if id and name and role == "assistant":
            return block | {"arguments": {}}
        case _:
            return None


def calls_hold_surrogate(message: Json) -> bool:
    """Whether what Pi sends as it stands does: calls and signatures, but not texts."""
    return any(
        holds_surrogate(block if block.get("type") == "toolCall" else block.get("thinkingSignature"))
        for block in as_blocks(message.get("content"))
        if isinstance(block, dict) and block.get("type") in ("toolCall", "thinking")
    )


def holds_surrogate(value: Any) -> bool:
    """Quick, as nearly always there is none."""
    try:
        compact_json(value).encode()
    except UnicodeEncodeError:
        return True
    except RecursionError:
        return False
    return False


def without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def calls_without_surrogates(message: Json) -> list[Any]:
    """Ids stay: a call's is the name by which its result knows it."""
    return [
        without_surrogates(block) | ({"id": block["id"]} if "id" in block else {})
        if isinstance(block, dict) and block.get("type") == "toolCall"
        else block
        for block in as_blocks(message.get("content"))
    ]


def map_pictures(message: Json, fault: Callable[[Json], str]) -> list[Any]:
    """The blocks, each picture that has a fault replaced by a line that names it."""
    return [
        {"type": "text", "text": f"{MARKER} Left out a picture: {said}."}
        if isinstance(block, dict) and block.get("type") == "image" and (said := fault(block))
        else block
        for block in as_blocks(message.get("content"))
    ]


def picture_faults(message: Json) -> list[str]:
    images = [block for block in as_blocks(message.get("content")) if isinstance(block, dict)]
    return [said for block in images if block.get("type") == "image" and (said := picture_fault(block))]


def encoded_chars(message: Json) -> int:
    """The longest run of encoded data in its texts."""
    texts = [block.get("text") for block in as_blocks(message.get("content")) if isinstance(block, dict)]
    runs = (
        len(run[0]) for text in texts if isinstance(text, str) and len(text) >= ENCODED_CHARS for run in _runs(text)
    )
    return max(runs, default=0)


def without_encoded(message: Json, entry_id: str) -> list[Any]:
    """The texts with a line in place of every long run, all else of them as it is."""

    def line(run: re.Match[str]) -> str:
        if len(run[0]) < ENCODED_CHARS:
            return run[0]
        hint = recall_hint("Original", entry_id)
        return f"[… {format_chars(len(run[0]))} characters of encoded data omitted. {hint} …]"

    return [
        block | {"text": _ENCODED.sub(line, block["text"])}
        if isinstance(block, dict) and isinstance(block.get("text"), str)
        else block
        for block in as_blocks(message.get("content"))
    ]


def _runs(text: str) -> list[re.Match[str]]:
    return [run for run in _ENCODED.finditer(text) if len(run[0]) >= ENCODED_CHARS]


def is_blank(content: Any) -> bool:
    """Whether there is nothing in it that a model could read or do."""
    blocks = as_blocks(content)
    return all(
        isinstance(block, dict)
        and block.get("type") == "text"
        and (not isinstance(block.get("text"), str) or not block["text"].strip())
        for block in blocks
    )
