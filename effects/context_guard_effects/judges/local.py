"""The embedded judge behind the port: no key, no network, nothing leaves the machine."""

from functools import partial

import trio
from returns.result import Failure, Result, Success

from context_guard.answers import Answers, Unanswered
from context_guard.local_judge import JUDGE, USUAL, Settings, judge_locally
from context_guard.requests import Request

LONG_CHARS = 20_000
"""From here on a request takes so long that a deadline would not hold without a thread."""


class LocalJudge:
    name = JUDGE

    def __init__(self, settings: Settings = USUAL) -> None:
        self._settings = settings

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.lowlevel.checkpoint()
        judge = partial(judge_locally, request, self._settings)
        chars = sum(len(part.text) for part in request.state.parts)
        outcome = await trio.to_thread.run_sync(judge, abandon_on_cancel=True) if chars > LONG_CHARS else judge()
        match outcome:
            case Answers():
                return Success(outcome)
            case Unanswered():
                return Failure(outcome)
