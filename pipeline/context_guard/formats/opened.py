"""A request's body, opened: most requests are another one and a little more, and then only that is read."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.formats.codec import CODECS, Codec, Provider
from context_guard.formats.errors import FormatError
from context_guard.formats.message import NOT_BEGUN, Begun, Message, Named, name_entries
from context_guard.formats.parts import places_of
from context_guard.formats.request_body import list_key
from context_guard.formats.splice import Spans, open_body

CHANGED = 3
"""Messages at the end that the next request of a conversation may give another form: a cache mark moves on."""

Json = dict[str, Any]


class Opened(Struct, frozen=True):
    api: Provider
    body: Json
    messages: list[Json]
    spans: Spans
    named: Named

    @property
    def codec(self) -> Codec[Json]:
        return CODECS[self.api]

    @property
    def read(self) -> tuple[Message, ...]:
        return self.named.messages

    @property
    def ids(self) -> tuple[str, ...]:
        return self.named.ids

    @property
    def model(self) -> str:
        found = self.body.get("model")
        return found if isinstance(found, str) else ""


def open_list(api: Provider, data: bytes, known: Sequence[Opened]) -> Result[tuple[Json, Spans], FormatError]:
    """The body and where its messages stand; those that a known request of this API began with are the same objects."""
    return open_body(data, list_key(api), [(it.messages, it.spans) for it in known])


def name_list(api: Provider, body: Json, spans: Spans, known: Sequence[Opened]) -> Result[Opened, FormatError]:
    messages = body[list_key(api)]
    before = nearest(messages, known)
    read_on = CODECS[api].read_on
    match read_on(messages, _begun(messages, before)) if read_on else CODECS[api].read(messages):
        case Success(tuple() as read):
            named = name_entries(read, before.named if before is not None else None)
            return Success(Opened(api, body, messages, spans, named))
        case Failure(FormatError() as error):
            return Failure(error)
        case other:
            raise TypeError(f"the codec gave {other!r}")


def _begun(messages: list[Json], before: Opened | None) -> Begun:
    """What a request before said with the same objects; all but its last entry, which may go on in the next message."""
    if before is None:
        return NOT_BEGUN
    shared = _shared(messages, before.messages)
    places = [places_of(it.src)[0] for it in before.read]
    last = next((at for at in reversed(places) if at.stop <= shared), range(0))
    count = bisect_left(places, last.start, key=lambda at: at.start)
    return Begun(before.read[:count], last.start)


def nearest(messages: list[Json], known: Sequence[Opened]) -> Opened | None:
    """The one that begins most like these messages."""
    return max(known, key=lambda it: _shared(messages, it.messages), default=None)


def goes_on(messages: list[Json], before: Opened) -> bool:
    """Whether these messages are those of a later request of its conversation, not of a fork."""
    shared = _shared(messages, before.messages)
    return shared > 0 and shared >= len(before.messages) - CHANGED


def _shared(messages: list[Json], others: list[Json]) -> int:
    """With how many of the same objects both begin."""
    pairs = enumerate(zip(messages, others, strict=False))
    return next((place for place, (one, other) in pairs if one is not other), min(len(messages), len(others)))
