"""The judge on a System One server: Jev at its makers' or through a gateway, or any server that speaks its wire."""

from types import TracebackType
from typing import Self

import msgspec
from returns.result import Failure, Result

from context_guard.answers import Answers, Unanswered, read_answers
from context_guard.judge_copy import write_copy
from context_guard.requests import Request
from context_guard.servers import Server
from context_guard.split import estimate_request_tokens, split_request
from context_guard.system_one import encode_request
from context_guard_effects.judges.connection import Connection, Reply


class SystemOneJudge:
    """Keeps its connections while someone is inside `async with judge`; a pass does that by itself."""

    def __init__(self, server: Server, key: str = "") -> None:
        self.name = server.name
        self._server = server
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
        if estimate_request_tokens(copy) > self._server.context_tokens:
            return Failure(oversize(request, self._server))
        replied = await self._connection.post(request.id, encode_request(copy, self._server.model))
        return replied.bind(lambda reply: self._read(request, reply))

    def bodies(self, request: Request) -> tuple[bytes, ...]:
        """What would be sent for a request, byte for byte; nothing for one that is too large even in halves."""
        copies = [write_copy(each) for each in fitting(request, self._server)]
        return tuple(encode_request(copy, self._server.model) for copy in copies)

    def _read(self, request: Request, reply: Reply) -> Result[Answers, Unanswered]:
        """Under the name of who answered, which an alias does not tell."""
        server = self._server
        provider = server.name.partition("/")[0]
        return read_answers(request, reply.body, server.usd_per_million).map(
            lambda answers: msgspec.structs.replace(
                answers,
                judge=f"{provider}/{answers.judge}" if answers.judge else server.name,
                reply_id=reply.reply_id or answers.reply_id,
            )
        )


def fitting(request: Request, server: Server) -> tuple[Request, ...]:
    """The request, or those of its halves that are small enough for the server."""
    if estimate_request_tokens(write_copy(request)) <= server.context_tokens:
        return (request,)
    halves = split_request(request) or ()
    return tuple(half for half in halves if estimate_request_tokens(write_copy(half)) <= server.context_tokens)


def oversize(request: Request, server: Server) -> Unanswered:
    limit = f"more than the {server.context_tokens:,} tokens that {server.name} takes"
    return Unanswered(request_id=request.id, reason="oversize", detail=limit, started=False)
