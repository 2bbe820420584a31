"""A request's body on its way from the agent: gathered where it is edited, else handed on as it comes."""

from collections.abc import AsyncIterator

import httpx
import trio

from context_guard_effects.proxy.asgi import HungUp, Message, Receive, Refused
from context_guard_effects.proxy.checks import Refusal

STALL_SECONDS = 30.0
"""How long the next piece of a body may take while others wait for its place."""


async def gather(receive: Receive, limit: int) -> bytes:
    """All of a body. Raises Refused, with more than `limit` bytes or when it stalls, and HungUp."""
    pieces: list[bytes] = []
    size = 0
    while True:
        with trio.move_on_after(STALL_SECONDS) as scope:
            message = await receive()
        if scope.cancelled_caught:
            raise Refused(Refusal(408, "stalled", f"No more of the body came for {STALL_SECONDS:g} seconds."))
        if message["type"] == "http.disconnect":
            raise HungUp
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise Refused(Refusal(413, "too-large", f"The body has more than {limit:,} bytes."))
        if not message.get("more_body", False):
            return b"".join(pieces)


class Streamed(httpx.AsyncByteStream):
    """A request's body as it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = trio.Event()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._ended.is_set():
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            if not message.get("more_body", False):
                self._ended.set()
            if message.get("body"):
                return bytes(message["body"])
        raise StopAsyncIteration

    async def wait_for_end(self) -> Message:
        """What comes behind the body."""
        await self._ended.wait()
        return await self._receive()
