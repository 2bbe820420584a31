"""Two judges in a row: a cheap one for everything, a better one for what the first is unsure of."""

from returns.result import Failure, Result, Success

from context_guard.answers import Answered, Answers, Unanswered
from context_guard.requests import Request
from context_guard.second_opinion import Otherwise, combine_opinions, second_request
from context_guard_effects.judges.port import Judge


class Chain:
    """`ask_all` asks the first judge about all requests and then the second about what is left, within one budget.

    Called by itself, it answers one request, without trying again.
    """

    def __init__(self, first: Judge, second: Judge, otherwise: Otherwise = "keep", asks_all: bool = False) -> None:
        self.name = second.name if asks_all else f"{first.name}+{second.name}"
        self.first = first
        self.second = second
        self.otherwise = otherwise
        self.asks_all = asks_all
        """The first judge is there only for when the second has no answer."""

    def left_to_ask(self, request: Request, first: Answered) -> Request | None:
        return request if self.asks_all else second_request(request, first)

    def combined(self, request: Request, first: Answered, asked: Request | None, second: Answered | None) -> Answered:
        return combine_opinions(request, first, asked, second, self.otherwise)

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        first = _outcome(await self.first(request))
        asked = self.left_to_ask(request, first)
        second = None if asked is None else _outcome(await self.second(asked))
        match self.combined(request, first, asked, second):
            case Answers() as answers:
                return Success(answers)
            case Unanswered() as unanswered:
                return Failure(unanswered)


def _outcome(result: Result[Answers, Unanswered]) -> Answered:
    match result:
        case Success(Answers() as answers):
            return answers
        case Failure(Unanswered() as unanswered):
            return unanswered
        case _:
            raise TypeError("the judge answered something else")
