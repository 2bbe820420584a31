"""The judge on any chat server that gives log-probabilities: vLLM, llama.cpp, Ollama, OpenRouter."""

from functools import partial

import msgspec
from returns.result import Failure, Result, Success

from context_guard.answers import Answer, Answers, Unanswered
from context_guard.one_token import (
    UNCALIBRATED,
    LabelThresholds,
    encode_label_request,
    label_questions,
    move_answers,
    read_label,
    spread_focus,
)
from context_guard.requests import Request
from context_guard.servers import Server
from context_guard.split import add_usage
from context_guard_effects.judges.connection import Connection
from context_guard_effects.judges.remote import RemoteJudge, Wire


class LogprobsJudge(RemoteJudge):
    """One call a question, in sequence: the server keeps the state that they share, and the limit of requests in flight
    holds."""

    def __init__(self, server: Server, key: str = "", thresholds: LabelThresholds = UNCALIBRATED) -> None:
        super().__init__(server, key, Wire(partial(_ask, thresholds), _bodies))


async def _ask(
    thresholds: LabelThresholds, connection: Connection, request: Request, copy: Request
) -> Result[Answers, Unanswered]:
    server = connection.server
    found = Answers(request_id=request.id, answers=(), judge=server.name)
    given: list[Answer] = []
    for question in label_questions(copy):
        match await connection.post(request.id, encode_label_request(copy, question, server.model)):
            case Success(reply):
                label = read_label(copy, question, reply.body, server.usd_per_million)
            case Failure(Unanswered() as unanswered):
                return Failure(unanswered)
        if label is None:
            detail = "the reply has no log-probabilities: this server or model does not give any"
            return Failure(Unanswered(request_id=request.id, reason="error", detail=detail, replied=True))
        given += [label.answer] if label.answer is not None else []
        found = msgspec.structs.replace(found, usage=add_usage(found.usage, label.usage), reply_id=reply.reply_id)
    answers = msgspec.structs.replace(found, answers=spread_focus(copy, given))
    return Success(move_answers(answers, request.kind, thresholds))


def _bodies(server: Server, copy: Request) -> tuple[bytes, ...]:
    return tuple(encode_label_request(copy, asked, server.model) for asked in label_questions(copy))
