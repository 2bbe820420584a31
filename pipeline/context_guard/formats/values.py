"""JSON values as formats read them: whatever stands there, nothing fails."""

from typing import Any

from context_guard.text import compact_json


def string(value: Any) -> str:
    """Empty for what is no string."""
    return value if isinstance(value, str) else ""


def json_text(value: Any) -> str:
    """The value as JSON, keys in their order; empty for what cannot be printed."""
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError):  # an SDK's own object, or nested so deep that only reading worked
        return ""
