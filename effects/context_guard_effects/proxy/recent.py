"""The requests that were opened last."""

import threading
from itertools import accumulate

from returns.result import Failure, Success

from context_guard.formats.opened import CHANGED, Opened, goes_on, name_list, nearest, open_list
from context_guard.formats.splice import Spans
from context_guard.proxy_routes import Api
from context_guard.server_state import find_server_state

RECENT = 64
"""Bodies that are remembered, the latest used."""
RECENT_CHARS = 32_000_000
"""Of all of them."""
AT_HAND = 2_000_000
"""Bytes of a body that is opened at once where nearly all of it is known: a thread would not be asked any sooner."""
NEW = 100_000
"""Characters of it that may be new."""
SAMPLE = 200
"""Characters that tell whether two bodies are likely to begin alike."""


class Recent:
    """For any thread. What is remembered changes how long a request takes, and nothing else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.known: tuple[Opened, ...] = ()
        """The latest first."""

    def open(self, api: Api, data: bytes) -> Opened | str:
        """A word for why where there is nothing to edit. Raises ValueError for messages that cannot be read."""
        with self._lock:
            known = tuple(it for it in self.known if it.api == api)
        match open_list(api, data, known):
            case Success((dict() as body, spans)):
                pass
            case _:
                return "no-list"
        if find_server_state(api, body) is not None:
            return "server-held"
        match name_list(api, body, spans, known):
            case Success(Opened() as opened):
                self._remember(opened, nearest(opened.messages, known))
                return opened
            case Failure(error):
                raise ValueError(error.message)
            case other:
                raise TypeError(f"opening gave {other!r}")

    def is_at_hand(self, api: Api, data: bytes) -> bool:
        """Whether a body is likely to go on from one that is remembered, and not by much."""
        if len(data) > AT_HAND:
            return False
        text = data.decode(errors="replace")
        with self._lock:
            return any(it.api == api and _begins_like(text, it.spans) for it in self.known)

    def _remember(self, opened: Opened, before: Opened | None) -> None:
        """In the place of the one that it goes on from; one that it is a fork of stays."""
        is_later = before is not None and goes_on(opened.messages, before)
        with self._lock:
            kept = (opened, *(it for it in self.known if not (is_later and it is before)))[:RECENT]
            sizes = accumulate(len(it.spans.text) for it in kept)
            self.known = tuple(it for it, size in zip(kept, sizes, strict=True) if size <= RECENT_CHARS or it is opened)


def _begins_like(text: str, known: Spans) -> bool:
    if len(known.messages) <= CHANGED:
        return False
    end = known.messages[-CHANGED - 1][1]
    begin = max(0, end - SAMPLE)
    return len(text) - end <= NEW and text[begin:end] == known.text[begin:end]
