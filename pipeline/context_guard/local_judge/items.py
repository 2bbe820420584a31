"""The answers about things judged whole: small outputs and old exchanges, one yes or no each."""

from context_guard.answers import Answer, YesNoAnswer
from context_guard.config import Config
from context_guard.local_judge.coverage import coverage_features
from context_guard.local_judge.odds import move, shift
from context_guard.local_judge.passages import read_passages
from context_guard.local_judge.places import Source
from context_guard.local_judge.query import MIN_CONTENT_WORDS, Query
from context_guard.local_judge.weights import WEIGHTS, Rule
from context_guard.local_judge.words import terms_of, words_of
from context_guard.requests import Part, Request
from context_guard.text import clip

UNKNOWN = 0.5
"""Too few words to judge by: above the threshold of both kinds."""
EXCHANGE_CHARS = 8_000

Scores = tuple[tuple[str, float], ...]

_DEFAULTS = Config()


def judge_small_outputs(request: Request, query: Query, rule: Rule) -> tuple[tuple[Answer, ...], Scores]:
    """An output that a later call made out of date goes; one that failed goes more easily once there is an answer."""
    answers: list[Answer] = []
    raw: list[tuple[str, float]] = []
    for part in request.state.parts:
        p = _needed(part, query)
        moved = move(p, rule.small, _DEFAULTS.small_keep_threshold)
        if query.is_unclear or query.is_foreign:
            moved = max(moved, UNKNOWN)
        if part.superseded:
            moved = min(moved, WEIGHTS.superseded_small)
        answers.append(YesNoAnswer(part.id, moved))
        raw.append((part.id, p))
    return tuple(answers), tuple(raw)


def judge_exchanges(request: Request, query: Query) -> tuple[tuple[Answer, ...], Scores]:
    scores = tuple((part.id, _relevant(part, query)) for part in request.state.parts)
    return tuple(YesNoAnswer(name, p) for name, p in scores), scores


def _needed(part: Part, query: Query) -> float:
    shown = Source(part.tool.partition(" ")[2])
    features = coverage_features(read_passages([part.text], query, shown, None), query, part.tool, shown)
    p = WEIGHTS.small.probability(features)
    return shift(p, -WEIGHTS.failed) if part.failed and query.has_answer else p


def _relevant(part: Part, query: Query) -> float:
    text = clip("\n".join((part.text, part.reply, *part.calls)), EXCHANGE_CHARS)
    features = coverage_features(read_passages([text], query, Source(), None), query, text, Source())
    p = WEIGHTS.exchange.probability(features)
    said = {term for word in words_of(text) for term in terms_of(word)}
    unclear = query.is_unclear or query.is_foreign or len(said) < MIN_CONTENT_WORDS
    return max(p, UNKNOWN) if unclear else p
