"""What a scripted model says."""

import threading
from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class Call(Struct, frozen=True):
    tool: str
    args: dict[str, Any]
    id: str = ""
    """Made of the request's number by default."""
    namespace: str = ""
    """Of an MCP server, as Codex has it."""


class Turn(Struct, frozen=True):
    """One answer of the model: a text, tool calls or both. It ends the run when there are no calls."""

    text: str = ""
    calls: Sequence[Call] = ()
    refusal: int = 0
    """An HTTP status in place of an answer."""
    gate: threading.Event | None = None
    """The answer waits for it, at most half a minute."""
