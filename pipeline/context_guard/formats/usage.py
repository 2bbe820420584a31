"""The token counts of a reply, by any of the providers, as one `Usage`."""

from collections.abc import Mapping
from typing import Any

from context_guard.transcript import Usage


def usage_of(reply: Mapping[str, Any]) -> Usage:
    """The `usage` object of a response of any of the three providers, as plain JSON."""

    def count(*names: str) -> int:
        found = next((reply[name] for name in names if isinstance(reply.get(name), int)), 0)
        return int(found)

    details = reply.get("prompt_tokens_details") or reply.get("input_tokens_details") or {}
    cached = int(details.get("cached_tokens") or 0)
    return Usage(
        input=max(0, count("input_tokens", "prompt_tokens") - cached),
        output=count("output_tokens", "completion_tokens"),
        cache_read=count("cache_read_input_tokens") or cached,
        cache_write=count("cache_creation_input_tokens"),
    )
