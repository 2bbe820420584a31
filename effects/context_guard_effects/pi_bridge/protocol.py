"""What crosses the pipe: one JSON object a line. Towards Python a request with an `id`, back a reply with that `id`.

A line with an `event` in place of the `id` is news that nobody asked for. A reply `{"need": "entries"}` asks the
extension to send the same request once more with all entries of the session in it.
"""

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from context_guard.cache.prices import ModelCost
from context_guard.transcript import Model, Usage


class Reported(Struct, frozen=True, rename="camel"):
    """Pi's model, with its prices in dollars for a million tokens."""

    provider: str
    id: str
    api: str = ""
    cost: dict[str, float] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        return Model(self.provider, self.id, self.api)

    @property
    def prices(self) -> ModelCost | None:
        if not self.cost.get("input"):
            return None
        return ModelCost(
            input=self.cost["input"],
            output=self.cost.get("output", 0.0),
            cache_read=self.cost.get("cacheRead", 0.0),
            cache_write=self.cost.get("cacheWrite", 0.0),
        )


class Classifier(Struct, frozen=True, rename="camel"):
    """A classifier of Pi's list whose provider it has a log-in for."""

    provider: str
    id: str
    context_window: float = 0

    @property
    def ref(self) -> str:
        return f"{self.provider}/{self.id}"


class Sync(Struct, frozen=True, rename="camel"):
    """Where the session is: a file that holds all of it, or else the entries that Python has not been sent yet."""

    session: str
    leaf: str | None = None
    file: str | None = None
    cwd: str = ""
    entries: list[Any] = field(default_factory=list)
    model: Reported | None = None
    classifiers: list[Classifier] | None = None
    """Told once to each process, after a reply with `askPi` has asked for those of a provider."""


class Message(Struct, frozen=True, rename="camel", tag_field="type", kw_only=True):
    id: int
    sync: Sync


class Hello(Message, frozen=True, tag="hello"):
    """The session begins. Settings are read; the reply has the status and what is wrong with the settings."""


class Status(Message, frozen=True, tag="status"):
    """What to show in the status bar now. Sent, too, when a request goes out that gets no marks."""


class OtherDraft(Struct, frozen=True, rename="camel"):
    """A draft that another extension has returned from the same boundary."""

    type: str = ""
    target_id: str | None = None


class Boundary(Message, frozen=True, tag="boundary"):
    """A run or a turn has ended."""

    phase: Literal["run-end", "mid-run"]
    outcome: str = "completed"
    drafts: list[OtherDraft] = field(default_factory=list)
    can_wait: bool = False
    """Whether the host can take the edits after it has settled, too."""


class Late(Message, frozen=True, tag="late"):
    """The host has settled and asks for the edits of a pass that had not ended by then."""


class Outgoing(Message, frozen=True, tag="outgoing"):
    """An Anthropic request is about to be sent; `skeleton` is its shape without its texts."""

    skeleton: dict[str, Any]


class Answered(Message, frozen=True, tag="answered"):
    """The model has answered; `sync.leaf` is still what it answered to."""

    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> Usage:
        return Usage(
            input=_count(self.usage.get("input")),
            output=_count(self.usage.get("output")),
            cache_read=_count(self.usage.get("cacheRead")),
            cache_write=_count(self.usage.get("cacheWrite")),
        )


class Recall(Message, frozen=True, tag="recall"):
    """The model calls the tool."""

    entry_id: str
    pattern: str | None = None
    offset: float | None = None
    limit: float | None = None
    column: float | None = None


class Command(Message, frozen=True, tag="command"):
    """The user's `/guard`."""

    text: str = ""


class Classified(Struct, frozen=True, tag_field="type", tag="classified"):
    """What Pi's classifier said to an event `classify`; nobody waits for a reply to this."""

    call: int
    result: dict[str, Any]


AnyMessage = Hello | Status | Boundary | Late | Outgoing | Answered | Recall | Command
"""What changes the session, and gets a reply."""


class ProtocolError(Exception):
    """A line that is no message of this protocol; `id` of the request where it could be read."""

    def __init__(self, said: str, id: int | None) -> None:
        super().__init__(said)
        self.id = id


def read_message(line: bytes) -> AnyMessage | Classified:
    """Raises ProtocolError."""
    value: Any = None
    try:
        # The standard library's: sessions hold lone surrogates, which msgspec refuses.
        value = json.loads(line)
        message: AnyMessage | Classified = msgspec.convert(value, AnyMessage | Classified)
        return message
    except (ValueError, RecursionError) as error:
        found = value.get("id") if isinstance(value, dict) else None
        raise ProtocolError(str(error), found if isinstance(found, int) else None) from error


def write_line(value: dict[str, Any]) -> bytes:
    """ASCII: what UTF-8 lacks is an escape, as JavaScript takes it."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15 else 0
