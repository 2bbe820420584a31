"""What tells the needed parts of an output from the others: a few numbers a part."""

from collections import Counter
from collections.abc import Callable, Iterable
from math import log, log1p, sqrt

from context_guard.local_judge.passages import Passage
from context_guard.local_judge.query import Query

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
QUESTION_WEIGHT = 0.5
HISTORY_WEIGHT = 0.3

Features = dict[str, float]


class Rarity:
    """How telling it is that a part holds something: 1 when only this part does, 0 when all do."""

    def __init__(self, passages: tuple[Passage, ...], of: Callable[[Passage], Iterable[str]]) -> None:
        self._parts = len(passages)
        self._holding = Counter(item for passage in passages for item in frozenset(of(passage)))

    def idf(self, item: str) -> float:
        holding = self._holding[item]
        return log(1 + (self._parts - holding + 0.5) / (holding + 0.5))

    def share(self, item: str) -> float:
        return 1.0 if self._parts < 2 else log((self._parts + 1) / self._holding[item]) / log(self._parts + 1)

    def sum(self, items: Iterable[str]) -> float:
        return sum(self.share(item) for item in sorted(items))

    @property
    def found(self) -> frozenset[str]:
        return frozenset(self._holding)


def part_features(passages: tuple[Passage, ...], query: Query, failed: bool) -> tuple[Features, ...]:
    terms = Rarity(passages, lambda passage: passage.counts)
    names = Rarity(passages, lambda passage: passage.identifiers)
    earlier = Rarity(passages, lambda passage: passage.earlier)
    quotes = Rarity(passages, lambda passage: passage.quotes)
    keys = Rarity(passages, lambda passage: passage.keys)
    by_answer = bm25(passages, query.answer, terms)
    by_question = bm25(passages, query.question, terms)
    by_history = bm25(passages, query.history, terms)
    by_notes = bm25(passages, query.notes, terms)
    q_shares, h_shares, n_shares = _shares(by_question), _shares(by_history), _shares(by_notes)
    n_parts = len(passages)
    scores = [
        max(a, QUESTION_WEIGHT * q, HISTORY_WEIGHT * h) + 0.25 * QUESTION_WEIGHT * q
        for a, q, h in zip(by_answer, by_question, by_history, strict=True)
    ]
    total = _weight(query.answer & terms.found, terms) or 1.0
    shares, spread = _shares(scores), _spread(scores)
    somewhere = any(passage.mentions.cited for passage in passages)
    features: list[Features] = []
    order = sorted(range(n_parts), key=lambda i: -scores[i])
    rank = [0] * n_parts
    for r, i in enumerate(order):
        rank[i] = r
    for i, passage in enumerate(passages):
        named, defined = names.sum(passage.identifiers), names.sum(passage.defined & query.identifiers)
        around = [j for j in (i - 1, i + 1) if 0 <= j < len(passages)]
        features.append(
            {
                "bm25_share": shares[i],
                "bm25_spread": spread[i],
                "bm25_log": log1p(scores[i]),
                "answer_cover": _weight(query.answer & passage.counts.keys(), terms) / total,
                "identifiers": log1p(named),
                "defined": log1p(defined),
                "defined_before": log1p(names.sum(passages[i - 1].defined & query.identifiers)) if i else 0.0,
                "earlier_defined": log1p(earlier.sum(passage.defined & query.earlier)),
                "quotes": log1p(quotes.sum(passage.quotes)),
                "cited": min(1.0, log1p(passage.mentions.cited)),
                "cited_elsewhere": float(somewhere and not passage.mentions.cited),
                "file_named": float(passage.mentions.named),
                "file_negated": float(passage.mentions.negated),
                "around_share": max((shares[j] for j in around), default=0.0),
                "around_cited": float(any(passages[j].mentions.cited for j in around)),
                "errors_failed": log1p(passage.errors) if failed else 0.0,
                "parts_log": log(len(passages)),
                "question_part": q_shares[i],
                "history_part": h_shares[i],
                "notes_part": n_shares[i],
                "question_bm": log1p(by_question[i]),
                "history_bm": log1p(by_history[i]),
                "notes_bm": log1p(by_notes[i]),
                "answer_bm": log1p(by_answer[i]),
                "rank": rank[i] / n_parts,
                "rank_log": log1p(rank[i]),
                "size_log": log1p(passage.size),
                "position": i / (n_parts - 1) if n_parts > 1 else 0.5,
                "place": log1p(i),
                "is_last": float(i == n_parts - 1),
                "errors": log1p(passage.errors),
                "best_hit": log1p(passage.best_hit),
                "hit_share": len(passage.lines) / (passage.height or 1),
                "hit_lines": log1p(len(passage.lines)),
                "vocabulary": log1p(passage.vocabulary),
                "structured": log1p(passage.structured),
                "definitions": log1p(passage.definitions),
                "part_numbers": log1p(len(passage.numbers)),
                "answer_terms": log1p(len(passage.counts.keys() & query.answer)),
                "fresh_terms": log1p(len(passage.counts.keys() & query.notes)),
                "line_length": log1p(passage.size / (passage.height or 1)),
                "keys": log1p(len(passage.keys)),
                "keys_rare": log1p(keys.sum(passage.keys)),
                "around_names": log1p(max((names.sum(passages[j].identifiers) for j in around), default=0.0)),
            }
        )
    return tuple(features)


def bm25(passages: tuple[Passage, ...], terms: frozenset[str], rarity: Rarity) -> list[float]:
    average = sum(passage.words for passage in passages) / len(passages) or 1.0
    scores: list[float] = []
    for passage in passages:
        norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * passage.words / average)
        hits = sorted(terms & passage.counts.keys())
        scores.append(
            sum(rarity.idf(t) * passage.counts[t] * (1 + SATURATION) / (passage.counts[t] + norm) for t in hits)
        )
    return scores


def _weight(terms: Iterable[str], rarity: Rarity) -> float:
    return sum(rarity.idf(term) for term in sorted(terms))


def _shares(scores: list[float]) -> list[float]:
    top = max(scores)
    return [score / top if top else 0.0 for score in scores]


def _spread(scores: list[float]) -> list[float]:
    """Distances from the mean in deviations, within ±3."""
    mean = sum(scores) / len(scores)
    deviation = sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    return [max(-3.0, min(3.0, (score - mean) / deviation)) if deviation else 0.0 for score in scores]
