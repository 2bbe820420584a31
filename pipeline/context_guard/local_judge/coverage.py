"""How much of what was asked and answered an output, a small output or an old exchange holds at all."""

from math import log, log1p

from context_guard.local_judge.citations import is_same_file
from context_guard.local_judge.features import Features
from context_guard.local_judge.passages import Passage
from context_guard.local_judge.places import Source
from context_guard.local_judge.query import Query
from context_guard.local_judge.words import terms_of, words_of


def coverage_features(passages: tuple[Passage, ...], query: Query, args: str, source: Source) -> Features:
    """`args`: the words that the material was asked for with, as the arguments of the call."""
    here = frozenset(term for passage in passages for term in passage.counts)
    names = frozenset(name for passage in passages for name in passage.identifiers)
    told = frozenset(term for word in words_of(args) for term in terms_of(word))
    lines = [len(line & query.answer) for passage in passages for line in passage.lines]
    parts = [len(passage.counts.keys() & query.answer) for passage in passages]
    cited = any(passage.mentions.cited for passage in passages)
    of_source = any(is_same_file(citation.path, source.path) for citation in query.citations if not citation.negated)
    return {
        "names_share": _share(names, query.identifiers),
        "names_missing": log1p(len(query.identifiers - names)),
        "names_log": log1p(len(names)),
        "answer_share": _share(here, query.answer),
        "answer_log": log1p(len(here & query.answer)),
        "question_share": _share(here, query.question),
        "history_share": _share(here, query.history | query.notes),
        "args_share": _share(query.answer | query.question, told),
        "quotes": log1p(len({quote for passage in passages for quote in passage.quotes})),
        "numbers": log1p(len({number for passage in passages for number in passage.numbers})),
        "defined": log1p(len({name for passage in passages for name in passage.defined})),
        "cited": float(cited),
        "file_named": float(any(passage.mentions.named for passage in passages)),
        "source_named": float(of_source),
        "cited_missing": float(any(c.first for c in query.citations) and not (cited or of_source)),
        "best_line": log1p(max(lines, default=0)),
        "best_part": max(parts, default=0) / (len(query.answer) or 1),
        "parts_log": log(len(passages)),
    }


def _share(found: frozenset[str], wanted: frozenset[str]) -> float:
    return len(found & wanted) / len(wanted) if wanted else 0.0
