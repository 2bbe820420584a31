"""Two judges on one request: the second is asked only about the parts of which the first is unsure."""

from typing import Literal

import msgspec

from context_guard.answers import Answer, Answered, Answers, Unanswered
from context_guard.config import Config
from context_guard.local_judge.outputs import UNCLEAR
from context_guard.requests import KEEP_WHOLE, Request
from context_guard.split import add_usage, narrow_request

SURELY_NOT = 0.05
SURELY = 0.6
"""Between the two the local judge is unsure: about a fifth of the chunks."""

Otherwise = Literal["keep", "local"]
"""What counts where the second judge has no answer: everything is kept, or the first judge's answers."""

_DEFAULTS = Config()


def second_request(request: Request, first: Answered) -> Request | None:
    """What is left to ask, under the same id: all of it where the first judge has no ground for a judgement, otherwise
    only the parts it is unsure of, and only about these; None when it is sure of all."""
    if isinstance(first, Unanswered) or any(name == UNCLEAR for name, _ in first.raw):
        return request
    whole = first.yes_no(KEEP_WHOLE)
    if whole is not None and whole >= _DEFAULTS.keep_whole_threshold:
        return None
    raw = dict(first.raw)
    unsure = frozenset(
        part.id
        for part in request.state.parts
        if (p := raw.get(part.id, first.yes_no(part.id))) is None or SURELY_NOT < p < SURELY
    )
    if not unsure:
        return None
    narrow = narrow_request(request, unsure, request.id)
    return msgspec.structs.replace(narrow, questions=tuple(item for item in narrow.questions if item.id in unsure))


def combine_opinions(
    request: Request, first: Answered, asked: Request | None, second: Answered | None, otherwise: Otherwise
) -> Answered:
    """One outcome. `asked`: what `second_request` gave; `second`: what came of it.

    What was asked of both counts as the second says. An answer that it owes leaves the part unanswered, and so kept.
    """
    if asked is None:
        return first
    if not isinstance(second, Answers):
        failed = second or Unanswered(request_id=request.id, reason="timeout", started=False)
        return first if otherwise == "local" and isinstance(first, Answers) else failed
    if isinstance(first, Unanswered) or len(asked.questions) == len(request.questions):
        return second
    ids = frozenset(question.id for question in asked.questions)
    own = {answer.id: answer for answer in first.answers if answer.id not in ids}
    other = {answer.id: answer for answer in second.answers if answer.id in ids}
    given: dict[str, Answer] = own | other
    in_order = tuple(given[question.id] for question in request.questions if question.id in given)
    return Answers(
        request_id=request.id,
        answers=in_order,
        judge=f"{first.judge}+{second.judge}",
        usage=add_usage(first.usage, second.usage),
        raw=(*((name, p) for name, p in first.raw if name not in ids), *second.raw),
        reply_id=second.reply_id,
        by=tuple((answer.id, second.judge if answer.id in ids else first.judge) for answer in in_order),
    )
