"""A request's body, opened; and those opened last, since most requests are another one and a little more."""

import threading
from itertools import accumulate
from typing import Any

from msgspec import Struct
from returns.result import Success

from context_guard.formats.codec import CODECS, Codec
from context_guard.formats.message import Message, Named, name_entries
from context_guard.formats.request_body import list_key
from context_guard.formats.splice import Spans, open_body
from context_guard.proxy_routes import Api
from context_guard.server_state import find_server_state
from context_guard_effects.settling import read_list

RECENT = 64
"""Bodies that are remembered, the latest used."""
RECENT_CHARS = 32_000_000
"""Of all of them."""
CHANGED = 3
"""Messages at the end that the next request of a conversation may give another form: a cache mark moves on."""

Json = dict[str, Any]


class Opened(Struct, frozen=True):
    api: Api
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


class Recent:
    """For any thread. What is remembered changes how long a request takes, and nothing else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.known: list[Opened] = []
        """The latest first."""

    def open(self, api: Api, data: bytes) -> Opened | str:
        """A word for why where there is nothing to edit. Raises ValueError for messages that cannot be read."""
        with self._lock:
            known = [it for it in self.known if it.api == api]
        match open_body(data, list_key(api), [(it.messages, it.spans) for it in known]):
            case Success((dict() as body, Spans() as spans)):
                messages = body[list_key(api)]
            case _:
                return "no-list"
        if find_server_state(api, body) is not None:
            return "server-held"
        before = max(known, key=lambda it: _shared(messages, it.messages), default=None)
        named = name_entries(read_list(CODECS[api], messages), before.named if before is not None else None)
        opened = Opened(api, body, messages, spans, named)
        self._remember(opened, before)
        return opened

    def _remember(self, opened: Opened, before: Opened | None) -> None:
        """In the place of the one that it goes on from; one that it is a fork of stays."""
        goes_on = before is not None and _goes_on(opened.messages, before.messages)
        with self._lock:
            self.known = [opened, *(it for it in self.known if not (goes_on and it is before))][:RECENT]
            sizes = accumulate(len(it.spans.text) for it in self.known)
            self.known = [
                it for it, size in zip(self.known, sizes, strict=True) if size <= RECENT_CHARS or it is opened
            ]


def _goes_on(messages: list[Json], before: list[Json]) -> bool:
    shared = _shared(messages, before)
    return shared > 0 and shared >= len(before) - CHANGED


def _shared(messages: list[Json], others: list[Json]) -> int:
    """With how many of the same objects both begin."""
    pairs = enumerate(zip(messages, others, strict=False))
    return next((place for place, (one, other) in pairs if one is not other), min(len(messages), len(others)))
