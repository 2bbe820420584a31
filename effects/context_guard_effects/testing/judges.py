"""Judges for tests: one that keeps the chunks with a given text, and one that never answers."""

import trio
from returns.result import Failure, Result, Success

from context_guard.answers import Answer, Answers, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.requests import NONE, Choice, Request


class KeepJudge:
    """Says yes to every part that holds the text, no to all others. Asked about anything else it says no."""

    def __init__(self, needle: str) -> None:
        self.name = "keep-judge"
        self.needle = needle
        self.requests: list[Request] = []
        """All it was asked, in order."""

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.lowlevel.checkpoint()
        self.requests.append(request)
        return Success(Answers(request_id=request.id, answers=tuple(self._answers(request)), judge=self.name))

    def _answers(self, request: Request) -> list[Answer]:
        wanted = {part.id for part in request.state.parts if self.needle in part.text}
        focus = next(iter(sorted(wanted)), NONE)
        return [
            ChoiceAnswer(question.id, focus, ((focus, 0.9),))
            if isinstance(question, Choice)
            else YesNoAnswer(question.id, 0.95 if question.id in wanted else 0.02)
            for question in request.questions
        ]


class SilentJudge:
    """Fails at every request: whatever it is asked about has to stay."""

    name = "silent-judge"

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.lowlevel.checkpoint()
        return Failure(Unanswered(request_id=request.id, reason="error", detail="this judge never answers"))
