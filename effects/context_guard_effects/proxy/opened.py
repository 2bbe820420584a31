"""A request's body, opened; and those opened last, since most requests are another one and a little more."""

import threading
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

RECENT_CHARS = 32_000_000
"""Of bodies that are remembered."""
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
        self._opened: list[Opened] = []
        """The latest first."""

    def open(self, api: Api, data: bytes) -> Opened | str:
        """A word for why where there is nothing to edit. Raises ValueError for messages that cannot be read."""
        with self._lock:
            known = [it for it in self._opened if it.api == api]
        match open_body(data, list_key(api), [(it.messages, it.spans) for it in known]):
            case Success((dict() as body, Spans() as spans)):
                messages = body[list_key(api)]
            case _:
                return "no-list"
        if find_server_state(api, body) is not None:
            return "server-held"
        before = next((it for it in known if messages and it.messages and messages[0] is it.messages[0]), None)
        named = name_entries(read_list(CODECS[api], messages), before.named if before is not None else None)
        opened = Opened(api, body, messages, spans, named)
        self._remember(opened, before)
        return opened

    def _remember(self, opened: Opened, before: Opened | None) -> None:
        """In the place of the one that it goes on from; one that it is a fork of stays."""
        goes_on = before is not None and _shared(opened, before) >= len(before.messages) - CHANGED
        with self._lock:
            self._opened = [opened, *(it for it in self._opened if not (goes_on and it is before))]
            chars = 0
            for place, it in enumerate(self._opened):
                chars += len(it.spans.text)
                if chars > RECENT_CHARS and place:
                    del self._opened[place:]
                    break


def _shared(one: Opened, other: Opened) -> int:
    pairs = enumerate(zip(one.messages, other.messages, strict=False))
    same = min(len(one.messages), len(other.messages))
    return next((place for place, (ours, theirs) in pairs if ours is not theirs), same)
