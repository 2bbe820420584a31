"""The answers about one segment of a large output, made for the default thresholds.

A needed part lost costs more than a spare one kept, so the parts are kept by expected recall: the likeliest ones, until
they hold the wanted share of what is probably needed. What is kept gets at least `chunkKeepThreshold`, the rest less;
the probabilities before that stand in `raw`.
"""

from collections.abc import Iterator

from context_guard.answers import Answer, ChoiceAnswer, YesNoAnswer
from context_guard.config import Config
from context_guard.local_judge.coverage import coverage_features
from context_guard.local_judge.features import part_features
from context_guard.local_judge.odds import move, shift
from context_guard.local_judge.passages import Passage, read_passages
from context_guard.local_judge.places import read_source
from context_guard.local_judge.query import Query
from context_guard.local_judge.scope import is_past, scope_features
from context_guard.local_judge.weights import WEIGHTS, Rule
from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, WHOLE, Request

UNCLEAR = "unclear"
"""In `raw` when there was no ground for a judgement, and all is kept for that."""

Scores = tuple[tuple[str, float], ...]

_DEFAULTS = Config()
_SURE = 0.95
_JUST_BELOW = 0.99
_FLAT = 0.02


def judge_output(request: Request, query: Query, rule: Rule) -> tuple[tuple[Answer, ...], Scores]:
    """The answers and the raw probabilities."""
    state = request.state
    ids = [part.id for part in state.parts]
    source = read_source(state)
    begins = ids[0] == "chunk_1"
    passages = read_passages((part.text for part in state.parts), query, source, 0 if begins else None)
    features = part_features(passages, query, failed=bool(state.status))
    coverage = coverage_features(passages, query, state.args, source)
    late = WEIGHTS.superseded if state.superseded else 0.0
    if state.status and is_past(query) and not coverage["cited"]:
        late += WEIGHTS.failed
    needed = [shift(WEIGHTS.part.probability(each), -late) for each in features]
    none = shift(WEIGHTS.none.probability(coverage), late)
    share = sum(p * q.size for p, q in zip(needed, passages, strict=True)) / (sum(q.size for q in passages) or 1)
    whole = WEIGHTS.whole.probability(scope_features(query, share, bool(coverage["cited"])))
    raw = ((KEEP_WHOLE, whole), (NONE, none), *zip(ids, needed, strict=True))
    if _is_unclear(query, passages, needed, none, rule):
        return _unclear(request, ids), ((UNCLEAR, 1.0), *raw)
    none = move(none, rule.none, _DEFAULTS.none_threshold)
    if query.is_foreign or whole >= _DEFAULTS.keep_whole_threshold:
        none = min(none, _JUST_BELOW * _DEFAULTS.none_threshold)
    removed = none >= _DEFAULTS.none_threshold
    kept = _scaled(needed) if removed else by_expected_recall(needed, rule)
    answers: list[Answer] = [
        YesNoAnswer(KEEP_WHOLE, whole),
        _focus(ids, needed, none, whole),
        *(YesNoAnswer(name, p) for name, p in zip(ids, kept, strict=True)),
    ]
    return tuple(answers), raw


def by_expected_recall(needed: list[float], rule: Rule) -> list[float]:
    """Each part's probability moved to its side of `chunkKeepThreshold`, the order kept."""
    threshold = _DEFAULTS.chunk_keep_threshold
    total = sum(needed) or 1.0
    answers = [0.0] * len(needed)
    above = 0.0
    for i in sorted(range(len(needed)), key=lambda i: -needed[i]):
        share = above / total
        if share < rule.recall and needed[i] >= rule.floor:
            answers[i] = threshold + (1 - threshold) * (1 - share / rule.recall)
        else:
            left = min(1.0, (1 - share) / (1 - rule.recall), needed[i] / rule.floor)
            answers[i] = _JUST_BELOW * threshold * max(0.0, left)
        above += needed[i]
    return answers


def _scaled(needed: list[float]) -> list[float]:
    """All below the threshold, the order kept: nothing of the segment is needed."""
    return [_JUST_BELOW * _DEFAULTS.chunk_keep_threshold * p for p in needed]


def _is_unclear(query: Query, passages: tuple[Passage, ...], needed: list[float], none: float, rule: Rule) -> bool:
    if query.is_unclear:
        return True
    overlap = any(passage.counts for passage in passages)
    if query.is_foreign and not overlap:
        return True
    return none < rule.none and len(needed) > 2 and max(needed) - min(needed) < _FLAT


def _unclear(request: Request, ids: list[str]) -> tuple[Answer, ...]:
    return (
        YesNoAnswer(KEEP_WHOLE, _SURE),
        ChoiceAnswer(FOCUS, WHOLE, ((WHOLE, _SURE), (NONE, 0.0), *((name, (1 - _SURE) / len(ids)) for name in ids))),
        *(YesNoAnswer(name, _SURE) for name in ids),
    )


def _focus(ids: list[str], needed: list[float], none: float, whole: float) -> ChoiceAnswer:
    options = tuple(_options(ids, needed, none, whole))
    choice = NONE if none >= _DEFAULTS.none_threshold else max(
        (option for option in options if option[0] != NONE), key=lambda option: option[1]
    )[0]
    return ChoiceAnswer(FOCUS, choice, options)


def _options(ids: list[str], needed: list[float], none: float, whole: float) -> Iterator[tuple[str, float]]:
    yield WHOLE, (1 - none) * whole
    yield NONE, none
    rest = (1 - none) * (1 - whole) / (sum(needed) or 1.0)
    yield from ((name, rest * p) for name, p in zip(ids, needed, strict=True))
