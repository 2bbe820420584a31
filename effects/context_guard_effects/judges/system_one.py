"""The judge on a System One server: Jev at its makers' or through a gateway, or any server that speaks its wire."""

import msgspec
from returns.result import Result

from context_guard.answers import Answers, Unanswered, read_answers
from context_guard.requests import Request
from context_guard.servers import Server
from context_guard.system_one import encode_request
from context_guard_effects.judges.connection import Connection, Reply
from context_guard_effects.judges.remote import RemoteJudge, Wire


class SystemOneJudge(RemoteJudge):
    def __init__(self, server: Server, key: str = "") -> None:
        super().__init__(server, key, Wire(_ask, _bodies))


async def _ask(connection: Connection, request: Request, copy: Request) -> Result[Answers, Unanswered]:
    server = connection.server
    replied = await connection.post(request.id, encode_request(copy, server.model))
    return replied.bind(lambda reply: _read(server, request, reply))


def _bodies(server: Server, copy: Request) -> tuple[bytes, ...]:
    return (encode_request(copy, server.model),)


def _read(server: Server, request: Request, reply: Reply) -> Result[Answers, Unanswered]:
    """Under the name of who answered, which an alias does not tell."""
    provider = server.name.partition("/")[0]
    return read_answers(request, reply.body, server.usd_per_million).map(
        lambda answers: msgspec.structs.replace(
            answers,
            judge=f"{provider}/{answers.judge}" if answers.judge else server.name,
            reply_id=reply.reply_id or answers.reply_id,
        )
    )
