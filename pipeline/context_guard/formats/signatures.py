"""Which host wrote a file, told by what stands in it: a table of marks. Where two fit or none does, nobody is named."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from context_guard.formats.pi_session import decode_line
from context_guard.formats.values import string

Format = Literal[
    "claude-code",
    "codex",
    "pi",
    "opencode",
    "mini-swe-agent",
    "openhands",
    "swe-agent",
    "cline",
    "atif",
    "anthropic",
    "openai-chat",
    "openai-responses",
]
Json = dict[str, Any]
Fits = Callable[[Json], bool]

HEAD_BYTES = 65_536
"""Enough to tell a file of JSON lines, an SQLite file and a single JSON value apart."""
SQLITE = b"SQLite format 3\x00"
EVENT_NAME = re.compile(r"event-\d+-[\w-]+\.json")
"""OpenHands: a file for each event, in one folder."""

CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "token_usage_record", "compacted")
PI_TYPES = ("message", "compaction", "context_edit", "custom", "custom_message", "branch_summary", "model_change")
ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
RESPONSES_ITEMS = ("function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output")


LINES: tuple[tuple[Format, Fits], ...] = (
    ("pi", lambda it: it.get("type") == "session" and _is_text(it, "id") and "sessionId" not in it),
    ("pi", lambda it: it.get("type") in PI_TYPES and _is_text(it, "id") and "parentId" in it),
    ("codex", lambda it: it.get("type") in CODEX_TYPES and isinstance(it.get("payload"), dict)),
    ("claude-code", lambda it: _is_text(it, "sessionId") and _is_text(it, "type") and "payload" not in it),
)
"""Marks of a single line. A line without any may be a host's new kind of record."""

DOCUMENTS: tuple[tuple[Format, Fits], ...] = (
    ("mini-swe-agent", lambda it: string(it.get("trajectory_format")).startswith("mini-swe-agent")),
    ("swe-agent", lambda it: _are_objects(it, "history") and _are_objects(it, "trajectory")),
    ("atif", lambda it: string(it.get("schema_version")).startswith("ATIF") and _are_objects(it, "steps")),
    ("cline", lambda it: _is_text(it, "sessionId") and _is_text(it, "agent") and _are_objects(it, "messages")),
    ("opencode", lambda it: all(_are_objects(it, key) for key in ("session", "message", "part"))),
    ("openhands", lambda it: _are_objects(it, "events") and all(map(is_event, it["events"]))),
    ("openai-responses", lambda it: any(map(_is_item, _objects(it.get("input"))))),
    ("openai-chat", lambda it: any(map(_is_chat, _objects(it.get("messages"))))),
    ("anthropic", lambda it: any(map(_is_anthropic, _objects(it.get("messages"))))),
)
"""Marks of a whole JSON object. The providers' own lists come last: several hosts wrap one."""

LISTS: tuple[Format, ...] = ("openai-responses", "openai-chat", "anthropic")
"""What a provider's own request looks like, and nothing of a host around it."""


def detect_lines(head: bytes) -> Format | None:
    """By the whole lines at the beginning of a file; the last one may be cut."""
    found: set[Format] = set()
    lines = head.split(b"\n")
    for line in lines if len(head) < HEAD_BYTES else lines[:-1]:
        value = decode_line(line.decode("utf-8", "replace"))
        if isinstance(value, dict):
            found |= fitting_line(value)
    return _only(found)


def fitting_line(value: Json) -> frozenset[Format]:
    return frozenset(name for name, fits in LINES if fits(value))


def detect_document(value: Any) -> Format | None:
    """By one JSON value: an object, or a provider's bare list."""
    if isinstance(value, list):
        return _only({name for name in LISTS if _fitting({"messages": value, "input": value}, name)})
    if not isinstance(value, dict):
        return None
    hosts = {name for name, fits in DOCUMENTS if name not in LISTS and fits(value)}
    return _only(hosts or {name for name in LISTS if _fitting(value, name)})


def is_event(value: Any) -> bool:
    """Whether it is an event of OpenHands."""
    return isinstance(value, dict) and all(_is_text(value, key) for key in ("id", "kind", "source"))


def _fitting(value: Json, name: Format) -> bool:
    return any(fits(value) for own, fits in DOCUMENTS if own == name)


def _only(found: Iterable[Format]) -> Format | None:
    names = set(found)
    return names.pop() if len(names) == 1 else None


def _is_text(value: Json, key: str) -> bool:
    return isinstance(value.get(key), str)


def _objects(value: Any) -> list[Json]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _are_objects(value: Json, key: str) -> bool:
    found = value.get(key)
    return isinstance(found, list) and all(isinstance(it, dict) for it in found)


def _is_chat(message: Json) -> bool:
    """Only chat completions have these; a plain text from the user is in all of them."""
    return message.get("role") in ("tool", "function") or isinstance(message.get("tool_calls"), list)


def _is_anthropic(message: Json) -> bool:
    blocks = _objects(message.get("content"))
    return message.get("role") in ("user", "assistant") and any(it.get("type") in ANTHROPIC_BLOCKS for it in blocks)


def _is_item(item: Json) -> bool:
    return item.get("type") in RESPONSES_ITEMS
