"""The judges of the benchmark: the embedded one, remembered over the rules and times, and one that reads nothing."""

from functools import lru_cache

from context_guard.answers import Answer, Answered, Answers, ChoiceAnswer, YesNoAnswer
from context_guard.local_judge import judge_locally
from context_guard.requests import Request

KEPT_OF_TEN = 3
"""Of ten parts, what the fixed judge keeps: the original reckons with 70 % that go."""


@lru_cache(maxsize=20_000)
def local_judge(request: Request) -> Answered:
    return judge_locally(request)


def fixed_judge(request: Request) -> Answered:
    """Reads nothing: three parts of ten stay, the rest goes."""
    numbers = {question.id: number for number, question in enumerate(request.questions)}
    answers: list[Answer] = []
    for question in request.questions:
        if question.id == "keep_whole":
            answers.append(YesNoAnswer(question.id, 0.0))
        elif question.id == "focus":
            answers.append(ChoiceAnswer(question.id, "none", (("none", 1.0),)))
        else:
            digits = "".join(filter(str.isdigit, question.id))
            place = int(digits) if digits else numbers[question.id]
            answers.append(YesNoAnswer(question.id, 1.0 if place * 7 % 10 < KEPT_OF_TEN else 0.0))
    return Answers(request.id, tuple(answers))
