"""Answers from a file: for tests, for a look at what other answers would do, and for replaying a run exactly.

The file is one JSON object, request id → what the judge said to it:

    {
      "3f9c2a1b#0": {
        "keep_whole": 0.15,
        "focus": {"choice": "chunk_4", "probabilities": {"chunk_4": 0.52, "none": 0.3}},
        "chunk_1": 0.02,
        "chunk_4": 0.91
      },
      "77aa01cd#0": {"error": "http 500"}
    }

A number answers a yes/no question (the probability of yes, 0 to 1), an object a choice. A question that is not there
was not answered, and a request that is not there is an error; `stage requests` prints the ids of both. `"error"` may
have a `"reason"` beside it (timeout, error, aborted or oversize), `"replied": true` and `"started": false`. Names with
a `$` are about all of the answer: `"$judge"` (who answered), `"$usage"` ({"inputTokens", "outputTokens", "costUsd"}),
`"$raw"` (question → probability before it was mapped onto the thresholds), `"$by"` (question → who answered it, where
there were several), `"$replyId"` (the server's name for the reply).

A whole trace (`context-guard trace`) is such a file too. It knows what each request was, so its answers are to those
that still ask the same; to any other there is none.
"""

import json
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import trio
from msgspec import Meta, Struct
from returns.result import Failure, Result, Success

from context_guard.answers import (
    Answer,
    Answered,
    Answers,
    ChoiceAnswer,
    JudgeUsage,
    Unanswered,
    UnansweredReason,
    YesNoAnswer,
)
from context_guard.printable import pretty_json
from context_guard.requests import Request
from context_guard.rerun import CHANGED, asks_the_same
from context_guard.saved_trace import Trace, decode_trace, is_trace

NO_ANSWER = "no recorded answer"

Probability = Annotated[float, Meta(ge=0, le=1)]


class RecordingError(Struct, frozen=True):
    message: str
    """One line: what is wrong, and where. It names no file."""


class RecordedJudge:
    def __init__(self, outcomes: Iterable[Answered], requests: Iterable[Request] | None = None) -> None:
        """`requests`: what the outcomes are to; without them an answer is told by the id of its request alone."""
        self._outcomes = {outcome.request_id: outcome for outcome in outcomes}
        judges = {outcome.judge for outcome in self._outcomes.values() if isinstance(outcome, Answers)} - {""}
        self.name = judges.pop() if len(judges) == 1 else "recorded"
        """The judge that was recorded, where all answers are of one."""
        self.requests = None if requests is None else {request.id: request for request in requests}

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.lowlevel.checkpoint()
        earlier = (self.requests or {}).get(request.id)
        if earlier is not None and not asks_the_same(request, earlier):
            return Failure(Unanswered(request_id=request.id, reason="error", detail=CHANGED))
        match self._outcomes.get(request.id):
            case Answers() as answers:
                return Success(answers)
            case Unanswered() as unanswered:
                return Failure(unanswered)
            case None:
                return Failure(Unanswered(request_id=request.id, reason="error", detail=NO_ANSWER))


def is_recording(data: bytes) -> bool:
    """Whether it holds answers and nothing else that could be lost."""
    match read_recording(data):
        case Success(RecordedJudge(requests=None)):
            return True
        case _:
            return False


def read_recording(data: bytes) -> Result[RecordedJudge, RecordingError]:
    """A judge that says what the file says. The whole file is checked, so that a slip in it is no silent `keep`."""
    try:
        recording = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Failure(RecordingError(f"the recorded answers are not JSON: {error}"))
    if is_trace(recording):
        return decode_trace(data).map(_judge_of).alt(lambda error: RecordingError(error.message))
    if not isinstance(recording, dict):
        return Failure(RecordingError("the recorded answers are no JSON object of request id → answers"))
    outcomes: list[Answered] = []
    for request_id, said in recording.items():
        try:
            outcomes.append(_outcome(request_id, said))
        except (msgspec.ValidationError, RecursionError) as error:
            return Failure(RecordingError(f"the recorded answers to {request_id!r} are not usable: {error}"))
    return Success(RecordedJudge(outcomes))


def _judge_of(trace: Trace) -> RecordedJudge:
    return RecordedJudge(trace.settlement.outcomes, trace.plan.requests)


def record_answers(outcomes: Iterable[Answered]) -> str:
    """The file from which `read_recording` gives exactly these outcomes."""
    return pretty_json({outcome.request_id: _said(outcome) for outcome in outcomes})


class _Error(Struct, frozen=True, forbid_unknown_fields=True):
    error: str
    reason: UnansweredReason = "error"
    replied: bool = False
    started: bool = True


class _Usage(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    input_tokens: Annotated[int, Meta(ge=0)] = 0
    output_tokens: Annotated[int, Meta(ge=0)] = 0
    cost_usd: Annotated[float, Meta(ge=0)] = 0.0


class _Choice(Struct, frozen=True, forbid_unknown_fields=True):
    choice: str
    probabilities: dict[str, Probability] = {}


def _outcome(request_id: str, said: Any) -> Answered:
    said = msgspec.convert(said, dict[str, Any])
    if "error" in said:
        error = msgspec.convert(said, _Error)
        return Unanswered(request_id, error.reason, error.error, error.replied, error.started)
    usage = msgspec.convert(said.pop("$usage", {}), _Usage)
    raw = msgspec.convert(said.pop("$raw", {}), dict[str, float])
    by = msgspec.convert(said.pop("$by", {}), dict[str, str])
    judge = msgspec.convert(said.pop("$judge", ""), str)
    reply_id = msgspec.convert(said.pop("$replyId", ""), str)
    return Answers(
        request_id=request_id,
        answers=tuple(_answer(question, value) for question, value in said.items()),
        judge=judge,
        usage=JudgeUsage(usage.input_tokens, usage.output_tokens, usage.cost_usd),
        raw=tuple(raw.items()),
        reply_id=reply_id,
        by=tuple(by.items()),
    )


def _answer(question: str, value: Any) -> Answer:
    if question.startswith("$"):
        raise msgspec.ValidationError(f"{question}: not one of $judge, $usage, $raw, $by and $replyId")
    try:
        if isinstance(value, dict):
            choice = msgspec.convert(value, _Choice)
            return ChoiceAnswer(question, choice.choice, tuple(choice.probabilities.items()))
        return YesNoAnswer(question, msgspec.convert(value, Probability))
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"{question}: {error}") from error


def _said(outcome: Answered) -> dict[str, Any]:
    if isinstance(outcome, Unanswered):
        return {
            "error": outcome.detail,
            "reason": outcome.reason,
            "replied": outcome.replied,
            "started": outcome.started,
        }
    said: dict[str, Any] = {}
    for answer in outcome.answers:
        match answer:
            case YesNoAnswer():
                said[answer.id] = answer.probability
            case ChoiceAnswer():
                said[answer.id] = {"choice": answer.choice, "probabilities": dict(answer.probabilities)}
    if outcome.judge:
        said["$judge"] = outcome.judge
    if outcome.usage != JudgeUsage():
        said["$usage"] = {
            "inputTokens": outcome.usage.input_tokens,
            "outputTokens": outcome.usage.output_tokens,
            "costUsd": outcome.usage.cost_usd,
        }
    if outcome.raw:
        said["$raw"] = dict(outcome.raw)
    if outcome.by:
        said["$by"] = dict(outcome.by)
    if outcome.reply_id:
        said["$replyId"] = outcome.reply_id
    return said
