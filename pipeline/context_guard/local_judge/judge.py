"""The judge that runs with no key, no network and no model: the words of the answer against the parts of a request.

Total and deterministic: any text gets an answer, the same text the same one. Text inside a part has no say beyond being
words that were looked for or were not.
"""

from context_guard.answers import Answer, Answers, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.local_judge.items import judge_exchanges, judge_small_outputs
from context_guard.local_judge.outputs import judge_output
from context_guard.local_judge.query import read_query
from context_guard.local_judge.settings import USUAL, Settings
from context_guard.local_judge.weights import WEIGHTS, Weights
from context_guard.requests import Request

JUDGE = "local/trained-1"
DIGITS = 4


def judge_locally(request: Request, settings: Settings = USUAL) -> Answers | Unanswered:
    """Answers for every part that is asked about; without any part there is nothing to judge."""
    return judge_with(WEIGHTS, request, settings)


def judge_with(weights: Weights, request: Request, settings: Settings = USUAL) -> Answers | Unanswered:
    """The same with weights of one's own."""
    if not request.state.parts:
        return Unanswered(request.id, "error", detail="the request has no parts")
    query = read_query(request)
    rule = weights.mid_run if request.phase == "mid-run" else weights.run_end
    match request.kind:
        case "segment":
            answers, raw = judge_output(request, query, rule, settings, weights)
        case "small":
            answers, raw = judge_small_outputs(request, query, rule)
        case "exchange":
            answers, raw = judge_exchanges(request, query)
    asked = {question.id for question in request.questions}
    return Answers(
        request_id=request.id,
        answers=tuple(_rounded(answer) for answer in answers if answer.id in asked),
        judge=JUDGE,
        raw=tuple((name, round(p, DIGITS)) for name, p in raw),
    )


def _rounded(answer: Answer) -> Answer:
    match answer:
        case YesNoAnswer(id=name, probability=p):
            return YesNoAnswer(name, round(p, DIGITS))
        case ChoiceAnswer(id=name, choice=choice, probabilities=options):
            return ChoiceAnswer(name, choice, tuple((option, round(p, DIGITS)) for option, p in options))
