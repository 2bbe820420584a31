"""What a scripted model says."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class Call(Struct, frozen=True):
    tool: str
    args: dict[str, Any]
    id: str = ""
    """Made of the request's number by default."""


class Turn(Struct, frozen=True):
    """One answer of the model: a text, tool calls or both. It ends the run when there are no calls."""

    text: str = ""
    calls: Sequence[Call] = ()
