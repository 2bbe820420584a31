"""What a reply came to, and what each API's reader offers."""

from typing import Any, Protocol

from msgspec import Struct

from context_guard.text import compact_json
from context_guard.transcript import Usage

Json = dict[str, Any]


class Reply(Struct, frozen=True):
    messages: str
    """The list, as JSON, that the agent will add to its own: one message, or the items of a response."""
    ends_run: bool
    """Nothing is left for the agent to do: no call waits for a result and nothing was cut off."""
    stop: str = ""
    """The provider's own word."""
    usage: Usage | None = None
    model: str = ""
    """As the provider names the one that answered."""


class Collector(Protocol):
    """Gathers what one API streams, or takes a whole body."""

    def event(self, event: Json) -> None: ...

    def whole(self, body: Json) -> None: ...

    def reply(self) -> Reply | None:
        """None until everything is there."""
        ...


def as_json(messages: list[Json]) -> str:
    return compact_json(messages)
