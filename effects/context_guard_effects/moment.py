"""What only a live host knows when it asks for a pass, and the boundary that comes of it."""

import time

import msgspec
from msgspec import Struct

from context_guard.boundary import Boundary
from context_guard.cache.prices import ModelCost
from context_guard.formats.message_list import Message
from context_guard.formats.usage import usage_of
from context_guard.records import Phase
from context_guard.transcript import Model, Usage

__all__ = ["Moment", "usage_of", "with_moment"]


class Moment(Struct, frozen=True, kw_only=True):
    """Everything is optional; what is given makes the sums about the prompt cache better."""

    model: str | None = None
    """`provider/id` of the model that the next request goes to, as in `anthropic/claude-sonnet-5-5`."""
    usage: Usage | None = None
    """Of the last response; see `usage_of`."""
    cost: ModelCost | None = None
    """The host's own prices."""
    overhead_chars: int | None = None
    """System prompt and tool definitions."""
    now: int | None = None
    """Milliseconds since the epoch; the clock by default."""
    answered: int | None = None
    """When the last response came; `now` by default, so that the cache counts as warm."""
    session: str | None = None
    """The host's name for the conversation, in place of the guard's."""

    def boundary(self, phase: Phase) -> Boundary:
        return Boundary(phase=phase, now=self.time(), cost=self.cost)

    def time(self) -> int:
        return time.time_ns() // 1_000_000 if self.now is None else self.now

    def model_at(self, api: str) -> Model | None:
        if self.model is None:
            return None
        provider, _, name = self.model.partition("/")
        return Model(provider=provider, id=name, api=api)


def with_moment(messages: tuple[Message, ...], moment: Moment) -> tuple[Message, ...]:
    """The last assistant message with its time and usage, where it has none of its own."""
    place = next((at for at in reversed(range(len(messages))) if messages[at].role == "assistant"), None)
    if place is None:
        return messages
    last = messages[place]
    answered = moment.time() if moment.answered is None else moment.answered
    told = msgspec.structs.replace(
        last,
        time=answered if last.time is None else last.time,
        usage=moment.usage if last.usage is None else last.usage,
    )
    return (*messages[:place], told, *messages[place + 1 :])
