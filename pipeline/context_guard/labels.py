"""How a tool call is named to a reader: one safe line."""

import json
from functools import lru_cache
from typing import Any

from context_guard.text import one_line, shorten

_LIMIT = 80


def read_args(args: str) -> dict[str, Any]:
    """The arguments of a call as an object; empty when there are none or they are no JSON object."""
    try:
        value = json.loads(args) if args else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=4_096)
def tool_label(tool: str, args: str) -> str:
    """``bash `npm test` ``, `read src/a.py` or the bare tool name; no line break, control character, inner backtick.

    Kept for a while: every boundary of a live host names the same calls again.
    """
    given = read_args(args)
    name = one_line(tool)
    if command := first_text(given, "command", "cmd"):
        return f"{name} `{_value(command)}`"
    if path := first_text(given, "path", "file_path", "file"):
        return f"{name} {_value(path)}"
    if pattern := first_text(given, "pattern", "query"):
        return f"{name} `{_value(pattern)}`"
    return name


def first_text(args: dict[str, Any], *keys: str) -> str:
    """The first non-empty string among the named arguments."""
    return next((value for key in keys if isinstance(value := args.get(key), str) and value), "")


def _value(text: str) -> str:
    return shorten(one_line(text).replace("`", "'"), _LIMIT)
