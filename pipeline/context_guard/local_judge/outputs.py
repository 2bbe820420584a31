"""The answers about one segment of a large output, made for the default thresholds.

A needed part lost costs more than a spare one kept, so the parts are kept by expected recall: the likeliest ones, until
they hold the wanted share of what is probably needed. What is kept gets at least `chunkKeepThreshold`, the rest less;
the probabilities before that stand in `raw`.
"""

from collections.abc import Iterator
from math import exp, log

from context_guard.answers import Answer, ChoiceAnswer, YesNoAnswer
from context_guard.config import Config
from context_guard.local_judge.cover import cover_keys
from context_guard.local_judge.later import choose_later, later_rates
from context_guard.local_judge.odds import move, shift
from context_guard.local_judge.passages import Passage
from context_guard.local_judge.query import Query
from context_guard.local_judge.reading import read_output
from context_guard.local_judge.scope import is_past, scope_features
from context_guard.local_judge.settings import USUAL_SHARE, Settings
from context_guard.local_judge.standing import Standing, newer_texts, read_standing
from context_guard.local_judge.stay import stay_worth
from context_guard.local_judge.weights import Rule, Weights
from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, WHOLE, Request
from context_guard.superseded import is_repeated

UNCLEAR = "unclear"
"""In `raw` when there was no ground for a judgement, and all is kept for that."""

STAYS = "stays"
"""In `raw` when all is kept for what the run tells."""

Scores = tuple[tuple[str, float], ...]

_DEFAULTS = Config()
_SURE = 0.95
_JUST_BELOW = 0.99
_FLAT = 0.02
_LIKELY_NONE = 0.5
_SOME = 0.8
"""With more than this P(something is needed) it counts as certain, so that a word more or less decides nothing."""
SLACK_POWER = 1.5


def judge_output(
    request: Request, query: Query, rule: Rule, settings: Settings, weights: Weights
) -> tuple[tuple[Answer, ...], Scores]:
    """The answers and the raw probabilities."""
    state = request.state
    ids = [part.id for part in state.parts]
    read = read_output(request, query)
    passages, coverage = read.passages, read.coverage
    late = weights.superseded if state.superseded else 0.0
    if state.status and is_past(query) and not coverage["cited"]:
        late += weights.failed
    needed = [shift(weights.part.probability(each), -late) for each in read.parts]
    none = shift(weights.none.probability(coverage), late)
    share = sum(p * q.size for p, q in zip(needed, passages, strict=True)) / (sum(q.size for q in passages) or 1)
    whole = weights.whole.probability(scope_features(query, share, bool(coverage["cited"])))
    chances = [whole + (1 - whole) * p for p in needed]
    sure_whole = whole >= _DEFAULTS.keep_whole_threshold
    raw: Scores = ((KEEP_WHOLE, whole), (NONE, none), *zip(ids, chances, strict=True))
    if _is_unclear(query, passages, needed, none, rule):
        return _unclear(request, ids), ((UNCLEAR, 1.0), *raw)
    standing = read_standing(request)
    if request.phase == "mid-run":
        gone = exp(-late if is_repeated(state.superseded) else 0.0)
        rates = [rate * gone for rate in later_rates(weights.later_mid, read, standing.own)]
        kept = choose_later(rates, passages, read.context["segments"], rule.later * _slack(settings))
    elif none < rule.stay_none and not late and _stays(standing, rule, settings, weights):
        kept, raw = set(range(len(ids))), ((STAYS, 1.0), *raw)
    else:
        kept = cover_keys(passages, needed, newer_texts(request))
        if none < rule.none or query.is_foreign or sure_whole:
            rests = min(1.0, (1 - none) / _SOME) ** rule.answer_power
            kept |= _answered(passages, [rests * p for p in needed], standing, rule, settings)
        elif not standing.is_known:
            kept = set()
    none = _none(none, bool(kept), rule)
    answers: list[Answer] = [
        YesNoAnswer(KEEP_WHOLE, whole),
        _focus(ids, needed, none, whole),
        *(YesNoAnswer(name, _moved(p, i in kept)) for i, (name, p) in enumerate(zip(ids, chances, strict=True))),
    ]
    return tuple(answers), raw


def _stays(standing: Standing, rule: Rule, settings: Settings, weights: Weights) -> bool:
    """Whether the output stays as it is for what its run tells."""
    if not standing.is_known:
        return False
    return stay_worth(weights.stay, standing.own, standing.run) >= rule.stay * _slack(settings)


def _answered(
    passages: tuple[Passage, ...], needed: list[float], standing: Standing, rule: Rule, settings: Settings
) -> set[int]:
    """What the answer probably rests on beside its own strings."""
    if not any(passage.keys or passage.identifiers or passage.quotes or passage.mentions.cited for passage in passages):
        recall, floor = rule.vague_recall, rule.vague_floor
    elif standing.is_known:
        recall, floor = rule.run_recall, rule.run_floor
    else:
        recall, floor = rule.recall, rule.floor
    share = settings.keep_share ** (log(recall) / log(USUAL_SHARE))
    return by_expected_recall(needed, share, floor * _slack(settings))


def _slack(settings: Settings) -> float:
    """How much stricter than usual: 1 at the usual share, 0 where all is to be kept."""
    return float(((1 - settings.keep_share) / (1 - USUAL_SHARE)) ** SLACK_POWER)


def by_expected_recall(needed: list[float], recall: float, floor: float) -> set[int]:
    """The likeliest parts, until they hold the wanted share of what is probably needed."""
    total = sum(needed) or 1.0
    kept: set[int] = set()
    above = 0.0
    for i in sorted(range(len(needed)), key=lambda i: (-needed[i], i)):
        if above / total >= recall or needed[i] < floor:
            break
        kept.add(i)
        above += needed[i]
    return kept


def _moved(p: float, kept: bool) -> float:
    """A probability on its side of `chunkKeepThreshold`, the order on each side kept."""
    threshold = _DEFAULTS.chunk_keep_threshold
    return threshold + (1 - threshold) * p if kept else _JUST_BELOW * threshold * p


def _none(none: float, kept: bool, rule: Rule) -> float:
    """P(nothing needed) on the side of `noneThreshold` that says whether anything stays."""
    threshold = _DEFAULTS.none_threshold
    moved = move(none, rule.none, threshold)
    return min(moved, _JUST_BELOW * threshold) if kept else max(moved, threshold)


def _is_unclear(query: Query, passages: tuple[Passage, ...], needed: list[float], none: float, rule: Rule) -> bool:
    if query.is_unclear:
        return True
    overlap = any(passage.counts for passage in passages)
    if query.is_foreign and not overlap:
        return True
    return bool(rule.recall) and none < _LIKELY_NONE and len(needed) > 2 and max(needed) - min(needed) < _FLAT


def _unclear(request: Request, ids: list[str]) -> tuple[Answer, ...]:
    return (
        YesNoAnswer(KEEP_WHOLE, _SURE),
        ChoiceAnswer(FOCUS, WHOLE, ((WHOLE, _SURE), (NONE, 0.0), *((name, (1 - _SURE) / len(ids)) for name in ids))),
        *(YesNoAnswer(name, _SURE) for name in ids),
    )


def _focus(ids: list[str], needed: list[float], none: float, whole: float) -> ChoiceAnswer:
    options = tuple(_options(ids, needed, none, whole))
    choice = (
        NONE
        if none >= _DEFAULTS.none_threshold
        else max((option for option in options if option[0] != NONE), key=lambda option: option[1])[0]
    )
    return ChoiceAnswer(FOCUS, choice, options)


def _options(ids: list[str], needed: list[float], none: float, whole: float) -> Iterator[tuple[str, float]]:
    yield WHOLE, (1 - none) * whole
    yield NONE, none
    rest = (1 - none) * (1 - whole) / (sum(needed) or 1.0)
    yield from ((name, rest * p) for name, p in zip(ids, needed, strict=True))
