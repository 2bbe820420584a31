"""A request that is too large for its judge, asked in two halves, and the two replies as one."""

import msgspec

from context_guard.answers import Answer, Answered, Answers, ChoiceAnswer, JudgeUsage, Unanswered, YesNoAnswer
from context_guard.requests import NONE, WHOLE, Choice, Question, Request
from context_guard.system_one import compact, state_of

CHARS_PER_TOKEN = 2.2
"""Of a state; code and search output have about 2.3 characters a token."""
TOKENS_PER_QUESTION = 40


def estimate_request_tokens(request: Request) -> int:
    """About how many tokens a judge will count, rather too many than too few."""
    return int(len(compact(state_of(request))) / CHARS_PER_TOKEN) + TOKENS_PER_QUESTION * len(request.questions)


def split_request(request: Request) -> tuple[Request, Request] | None:
    """The same request about the first and about the second half of its parts, by size; None when there is one part."""
    parts = request.state.parts
    if len(parts) < 2:
        return None
    total = sum(len(part.text) for part in parts)
    at, so_far = 1, len(parts[0].text)
    while at < len(parts) - 1 and so_far + len(parts[at].text) / 2 < total / 2:
        so_far += len(parts[at].text)
        at += 1
    first, second = (frozenset(part.id for part in half) for half in (parts[:at], parts[at:]))
    return narrow_request(request, first, f"{request.id}/1"), narrow_request(request, second, f"{request.id}/2")


def narrow_request(request: Request, kept: frozenset[str], name: str) -> Request:
    """The request about some of its parts only, under another id. `entry_ids` stay those of the whole."""
    gone = frozenset(part.id for part in request.state.parts) - kept
    parts = tuple(part for part in request.state.parts if part.id in kept)
    return msgspec.structs.replace(
        request,
        id=name,
        state=msgspec.structs.replace(request.state, parts=parts),
        questions=tuple(_without(question, gone) for question in request.questions if question.id not in gone),
    )


def merge_halves(request: Request, first: Answered, second: Answered) -> Answered:
    """One outcome for both. What one half says of the whole output counts where it keeps more; the parts of a half
    without a reply have no answers, and so are kept."""
    halves = [half for half in (first, second) if isinstance(half, Answers)]
    if not halves:
        failed = first if isinstance(first, Unanswered) else second
        assert isinstance(failed, Unanswered)
        return msgspec.structs.replace(failed, request_id=request.id)
    given: dict[str, list[Answer]] = {}
    for half in halves:
        for answer in half.answers:
            given.setdefault(answer.id, []).append(answer)
    merged = {name: _merged(answers) for name, answers in given.items()}
    for answers in given.values():
        # The part that only the other half chose has no place in the one choice: unanswered, it stays as well.
        for answer in answers[1:] if len(answers) > 1 else ():
            for chosen in (answers[0], answer):
                kept = merged.get(answer.id)
                if isinstance(chosen, ChoiceAnswer) and isinstance(kept, ChoiceAnswer) and chosen.choice != kept.choice:
                    merged.pop(chosen.choice, None)
    return Answers(
        request_id=request.id,
        answers=tuple(merged[question.id] for question in request.questions if question.id in merged),
        judge=halves[0].judge,
        usage=add_usage(*(half.usage for half in halves)),
        raw=tuple(pair for half in halves for pair in half.raw),
        reply_id=" ".join(half.reply_id for half in halves if half.reply_id),
    )


def add_usage(*usages: JudgeUsage) -> JudgeUsage:
    return JudgeUsage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=sum(usage.cost_usd for usage in usages),
    )


def _without(question: Question, gone: frozenset[str]) -> Question:
    if not isinstance(question, Choice):
        return question
    return msgspec.structs.replace(
        question, options=tuple(option for option in question.options if option[0] not in gone)
    )


def _merged(answers: list[Answer]) -> Answer:
    first = answers[0]
    if isinstance(first, YesNoAnswer):
        return YesNoAnswer(first.id, max(answer.probability for answer in answers if isinstance(answer, YesNoAnswer)))
    return _merged_choice([answer for answer in answers if isinstance(answer, ChoiceAnswer)])


def _merged_choice(choices: list[ChoiceAnswer]) -> ChoiceAnswer:
    """`whole` if either half chose it, `none` only if both did, otherwise the part that was chosen most surely."""
    if len(choices) == 1:
        return choices[0]
    ranked = sorted(choices, key=lambda c: (c.choice == WHOLE, c.choice != NONE, c.probability_of(c.choice) or 0.0))
    options = dict.fromkeys(name for choice in choices for name, _ in choice.probabilities)
    shares = []
    for option in options:
        said = [p for choice in choices if (p := choice.probability_of(option)) is not None]
        shares.append((option, min(said) if option == NONE else max(said)))
    return ChoiceAnswer(ranked[-1].id, ranked[-1].choice, tuple(shares))
