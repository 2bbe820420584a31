"""A reply on its way to the agent: handed on untouched, and read in passing where that is possible."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from context_guard.formats.replies import Reply, ReplyReader, open_reply
from context_guard.proxy_routes import Guarded, Untouched, read_encodings
from context_guard_effects.proxy.asgi import Send, by_name
from context_guard_effects.proxy.bodies import Opener, find_opener
from context_guard_effects.proxy.upstream import Answer

PIECE = 256_000
"""Bytes of a reply that are opened at a time, for reading only."""


class ReadReply:
    """A reply read on its way, where that is possible; nothing that goes wrong here is told to anybody."""

    def __init__(self, reader: ReplyReader, opener: Opener | None) -> None:
        self._reader: ReplyReader | None = reader
        self._opener = opener

    @classmethod
    def of(cls, route: Guarded | Untouched, answer: Answer) -> "ReadReply | None":
        headers = by_name(answer.headers)
        encodings = read_encodings(headers)
        opener = find_opener(encodings[0]) if len(encodings) == 1 else None
        if isinstance(route, Untouched) or len(encodings) > (opener is not None):
            return None
        return cls(open_reply(route.api, headers.get("content-type", "")), opener)

    def feed(self, piece: bytes) -> None:
        if self._reader is None:
            return
        if self._opener is not None:
            try:
                piece = self._opener.open(piece, PIECE + 100 * len(piece))
            except Exception:  # of whatever library opens it
                self._reader = None
                return
        self._reader.feed(piece)

    def close(self) -> Reply | None:
        return self._reader.close() if self._reader is not None else None


async def pass_back(pieces: AsyncGenerator[bytes, None], reading: ReadReply | None, send: Send) -> None:
    """Every piece as it comes, none held back: the agent's pace is the upstream's."""
    async with aclosing(pieces):
        async for piece in pieces:
            try:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            finally:  # the agent has it, and may be gone already
                if reading is not None:
                    reading.feed(piece)
