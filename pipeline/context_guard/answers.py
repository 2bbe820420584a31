"""Stage 6. What the judge said, one answer at a time: a bad one costs only itself.

The standard library's `json` reads a reply, since it may hold NaN, lone surrogates and keys given twice; each of these
spoils the answer it is in and no other.
"""

import json
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, assert_never

from msgspec import Struct

from context_guard.requests import Choice, Question, Request, YesNo

if TYPE_CHECKING:
    from returns.result import Result

SUM_TOLERANCE = 0.05
ROUNDING = 0.005
"""Probabilities come with two decimals, so each option may be off by this much."""

_MAX_COUNT = 1e12


class YesNoAnswer(Struct, frozen=True, tag="yes_no"):
    id: str
    probability: float
    """P(yes), 0 to 1."""


class ChoiceAnswer(Struct, frozen=True, tag="choice"):
    id: str
    choice: str
    probabilities: tuple[tuple[str, float], ...] = ()
    """In the judge's order; an option may be missing."""

    def probability_of(self, option: str) -> float | None:
        return next((p for name, p in self.probabilities if name == option), None)


Answer = YesNoAnswer | ChoiceAnswer


class JudgeUsage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


class Answers(Struct, frozen=True, tag="answers"):
    """A reply. Questions without a usable answer are simply not among `answers`."""

    request_id: str
    answers: tuple[Answer, ...]
    judge: str = ""
    """The model that answered, as it names itself."""
    usage: JudgeUsage = JudgeUsage()
    raw: tuple[tuple[str, float], ...] = ()
    """Probabilities before a judge mapped them onto the thresholds, for the trace."""
    reply_id: str = ""
    """The server's own name for the reply, for asking its makers about it."""
    by: tuple[tuple[str, str], ...] = ()
    """Question and who answered it, where not all are by one judge."""

    def yes_no(self, question: str) -> float | None:
        return next((a.probability for a in self.answers if isinstance(a, YesNoAnswer) and a.id == question), None)

    def choice(self, question: str) -> ChoiceAnswer | None:
        return next((a for a in self.answers if isinstance(a, ChoiceAnswer) and a.id == question), None)


UnansweredReason = Literal["timeout", "error", "aborted", "oversize"]


class Unanswered(Struct, frozen=True, tag="unanswered"):
    """No reply, or one that is no reply: everything asked about is kept."""

    request_id: str
    reason: UnansweredReason
    detail: str = ""
    replied: bool = False
    """Whether the judge did answer, with an error instead of answers."""
    started: bool = True
    """Whether the request was ever sent."""
    again_ms: int | None = None
    """The same request may be sent again after so many milliseconds; None: it may not."""


Answered = Answers | Unanswered
"""The outcome of one request."""


class Asked(Struct, frozen=True):
    """What came of all requests of one pass."""

    outcomes: tuple[Answered, ...] = ()
    """At most one a request; a request without one counts as timed out."""
    judge: str = ""
    ms: int = 0
    timed_out: bool = False
    """Whether the time budget ran out."""
    missed: tuple[Unanswered, ...] = ()
    """What the better judge of a chain left unanswered where another's answers took its place in `outcomes`."""


def read_answers(request: Request, body: bytes, usd_per_million: float = 0.0) -> "Result[Answers, Unanswered]":
    """The usable answers of a reply; a failure only when it is no reply at all.

    The cost is the server's own figure where it sends one, otherwise its input tokens at `usd_per_million`.
    """
    from returns.result import Failure, Success  # only here: `import context_guard` would take a third longer

    try:
        reply = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_to_object, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return Failure(_no_reply(request, "the reply is not JSON"))
    if not isinstance(reply, _Object):
        return Failure(_no_reply(request, "the reply is no JSON object"))
    given = reply.get("answers")
    if not isinstance(given, _Object) or "answers" in reply.repeated:
        return Failure(_no_reply(request, "the reply has no answers object"))
    answers = (_answer(question, given) for question in request.questions)
    return Success(
        Answers(
            request_id=request.id,
            answers=tuple(answer for answer in answers if answer is not None),
            judge=_text(reply.get("model")),
            usage=_usage(reply.get("usage"), usd_per_million),
            reply_id=_text(reply.get("id")),
        )
    )


def to_probability(value: Any) -> float | None:
    """A number from 0 to 1; None for everything else, `true` and NaN among it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def to_count(value: Any) -> int:
    """A count of tokens, also where it comes as 742.0; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_COUNT:
        return 0
    return int(value)


class _Object(dict[str, Any]):
    """A JSON object that remembers which keys it was given more than once."""

    repeated: frozenset[str] = frozenset()


def _to_object(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        found.repeated = frozenset(key for key in found if keys.count(key) > 1)
    return found


def _no_number(_: str) -> None:
    """NaN and the infinities are no answers."""


def _no_reply(request: Request, detail: str) -> Unanswered:
    return Unanswered(request_id=request.id, reason="error", detail=detail, replied=True)


def _answer(question: Question, given: _Object) -> Answer | None:
    answer = given.get(question.id)
    if not isinstance(answer, _Object) or answer.repeated or question.id in given.repeated:
        return None
    match question:
        case YesNo(id=name):
            p = to_probability(answer.get("noul")) if answer.get("type") == "noul" else None
            return None if p is None else YesNoAnswer(name, p)
        case Choice():
            return _choice(question, answer) if answer.get("type") == "choice" else None
        case _:
            assert_never(question)


def _choice(question: Choice, answer: _Object) -> ChoiceAnswer | None:
    """A choice may come without probabilities; with some that do not fit its options it is not to be trusted."""
    options = [option for option, _ in question.options]
    choice, given = answer.get("choice"), answer.get("probabilities")
    if choice not in options:
        return None
    if given is None:
        return ChoiceAnswer(question.id, choice)
    if not isinstance(given, _Object) or given.repeated or given.keys() != set(options):
        return None
    found = [(option, p) for option, value in given.items() if (p := to_probability(value)) is not None]
    off = abs(sum(p for _, p in found) - 1)
    if len(found) < len(options) or off > max(SUM_TOLERANCE, ROUNDING * len(options)) + 1e-9:
        return None
    return ChoiceAnswer(question.id, choice, tuple(found))


def _usage(usage: Any, usd_per_million: float) -> JudgeUsage:
    if not isinstance(usage, dict):
        return JudgeUsage()
    tokens = to_count(usage.get("input_tokens"))
    cost = usage.get("cost")
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not (isfinite(cost) and cost >= 0):
        cost = tokens * usd_per_million / 1_000_000
    return JudgeUsage(
        input_tokens=tokens,
        output_tokens=to_count(usage.get("output_tokens")),
        cost_usd=float(cost),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
