"""What all judges behind a server share: a connection for the pass, the judge's copy, and the guard over its size."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from msgspec import Struct
from returns.result import Failure, Result

from context_guard.answers import Answers, Unanswered
from context_guard.judge_copy import write_copy
from context_guard.requests import Request
from context_guard.servers import Server
from context_guard.split import estimate_request_tokens, split_request
from context_guard_effects.judges.connection import Connection


class Wire(Struct, frozen=True):
    """How one kind of server is asked. A `copy` is what of a request may leave."""

    ask: Callable[[Connection, Request, Request], Awaitable[Result[Answers, Unanswered]]]
    """The answers to a request, given it and its copy."""
    bodies: Callable[[Server, Request], tuple[bytes, ...]]
    """What is sent for a copy, in this order."""


class RemoteJudge:
    """Keeps its connections while someone is inside `async with judge`; a pass does that by itself."""

    def __init__(self, server: Server, key: str, wire: Wire) -> None:
        self.name = server.name
        self._server = server
        self._wire = wire
        self._connection = Connection(server, key)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._connection.__aexit__(kind, error, at)

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        copy = write_copy(request)
        if not self._fits(copy):
            limit = f"more than the {self._server.context_tokens:,} tokens that {self.name} takes"
            return Failure(Unanswered(request_id=request.id, reason="oversize", detail=limit, started=False))
        return await self._wire.ask(self._connection, request, copy)

    def bodies(self, request: Request) -> tuple[bytes, ...]:
        """What would be sent for a request, byte for byte; nothing for one that is too large even in halves."""
        copy = write_copy(request)
        copies = [copy] if self._fits(copy) else map(write_copy, split_request(request) or ())
        return tuple(body for each in copies if self._fits(each) for body in self._wire.bodies(self._server, each))

    def _fits(self, copy: Request) -> bool:
        return estimate_request_tokens(copy) <= self._server.context_tokens
