"""Stage 6. What the judge said, one answer at a time: a bad one costs only itself."""

from typing import Literal

from msgspec import Struct


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
