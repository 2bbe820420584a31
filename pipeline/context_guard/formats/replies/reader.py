"""Reads one reply, a stream of events or one JSON body, for one API."""

import json
from typing import Any

from context_guard.formats.replies.anthropic import AnthropicReply
from context_guard.formats.replies.events import EventLines
from context_guard.formats.replies.openai_chat import ChatReply
from context_guard.formats.replies.openai_responses import ResponsesReply
from context_guard.formats.replies.reply import Collector, Reply
from context_guard.proxy_routes import Api

MAX_BODY = 64_000_000
"""Bytes of a reply that is one body; a longer one is not read."""

COLLECTORS: dict[Api, type[Collector]] = {
    "anthropic": AnthropicReply,
    "openai-chat": ChatReply,
    "openai-responses": ResponsesReply,
}


class ReplyReader:
    """Never raises: what cannot be read leaves it without an opinion."""

    def __init__(self, collector: Collector, is_stream: bool) -> None:
        self._collector = collector
        self._events = EventLines() if is_stream else None
        self._body: list[bytes] = []
        self._size = 0
        self._is_lost = False

    def feed(self, piece: bytes) -> None:
        if self._is_lost:
            return
        try:
            self._take(piece)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            self._lose()

    def close(self) -> Reply | None:
        """The reply, when all of it has come."""
        if self._is_lost:
            return None
        try:
            if self._events is None:
                self._collector.whole(json.loads(b"".join(self._body)))
            else:
                for data in self._events.close():
                    self._event(data)
            return self._collector.reply()
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None

    def _take(self, piece: bytes) -> None:
        if self._events is None:
            self._size += len(piece)
            self._body.append(piece)
            if self._size > MAX_BODY:
                self._lose()
            return
        for data in self._events.feed(piece):
            self._event(data)

    def _event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            return
        event: Any = json.loads(data)
        if isinstance(event, dict):
            self._collector.event(event)

    def _lose(self) -> None:
        self._is_lost = True
        self._body = []


def open_reply(api: Api, content_type: str) -> ReplyReader:
    """`content_type` as the provider's header has it."""
    return ReplyReader(COLLECTORS[api](), content_type.strip().lower().startswith("text/event-stream"))
