"""A part of the material, read once: which of the looked-for terms and strings it holds, and on which lines."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from context_guard.local_judge.keys import find_keys
from context_guard.local_judge.places import Mentions, Source, find_mentions
from context_guard.local_judge.query import Query
from context_guard.local_judge.words import terms_of, words_of
from context_guard.text import clip

PART_CHARS = 64_000
"""Of a longer part only the head and the tail are read."""

_NAME = r"[A-Za-z_$][\w$]{0,99}"
_DEFINITION = re.compile(
    r"\b(?:def|class|fn|func|function|struct|enum|trait|interface|type|const|let|var|static|macro|module|define)\s{1,8}"
    rf"(?:\([^)\n]{{0,60}}\)\s)?({_NAME})"
    rf"|^(?:[^\s:]{{1,200}}:[0-9]{{1,7}}:)?[ \t]{{0,16}}(?:self\.|this\.)?({_NAME})[ ]?(?::[^=\n]{{1,60}})?=(?!=)",
    re.MULTILINE,
)
_STRUCTURED = re.compile(r"[a-z][A-Z0-9]|[A-Za-z0-9]_[A-Za-z0-9]")
_ERROR = re.compile(
    r"(?:error|exception)s?\b|\b(?:fail(?:ed|ures?)?|fatal|panic|traceback|undefined|cannot|assert\w*)\b"
    r"|^E {2,}|[✖✗✘]",
    re.IGNORECASE | re.MULTILINE,
)


class Passage(Struct, frozen=True):
    size: int
    """Characters, all of them."""
    words: int
    counts: Mapping[str, int]
    """How often each looked-for term occurs."""
    lines: tuple[frozenset[str], ...]
    """The looked-for terms of each line that has any."""
    identifiers: frozenset[str]
    earlier: frozenset[str]
    defined: frozenset[str]
    quotes: frozenset[str]
    numbers: frozenset[str]
    mentions: Mentions
    errors: int
    height: int = 0
    """Lines."""
    best_hit: int = 0
    """Most looked-for terms on one line."""
    vocabulary: int = 0
    """Distinct words."""
    structured: int = 0
    """Those among them that can only be names."""
    definitions: int = 0
    keys: frozenset[str] = frozenset()


class Lexicon(dict[str, tuple[str, ...]]):
    """Word → the looked-for terms it stands for; worked out once a word."""

    def __init__(self, terms: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms

    def __missing__(self, word: str) -> tuple[str, ...]:
        hits = tuple(term for term in terms_of(word) if term in self._terms)
        self[word] = hits
        return hits


def read_passages(texts: Iterable[str], query: Query, source: Source, first: int | None) -> tuple[Passage, ...]:
    """`first`: place of the first line of the first text in the output, from 0; None when it is not known."""
    lexicon = Lexicon(query.terms)
    passages: list[Passage] = []
    for text in texts:
        lines = text.count("\n") + 1
        passages.append(_read(text, first, lines, query, source, lexicon))
        first = None if first is None else first + lines
    return tuple(passages)


def _read(text: str, first: int | None, lines: int, query: Query, source: Source, lexicon: Lexicon) -> Passage:
    seen = clip(text, PART_CHARS)
    counts: Counter[str] = Counter()
    hit_lines: list[frozenset[str]] = []
    words: list[str] = []
    for line in seen.split("\n"):
        spoken = words_of(line)
        words += spoken
        hits = [term for word in spoken for term in lexicon[word]]
        if hits:
            counts.update(hits)
            hit_lines.append(frozenset(hits))
    names = frozenset(words)
    identifiers = query.identifiers & names
    wanted = identifiers | (query.earlier & names)
    named = _defined(seen)
    return Passage(
        size=len(text),
        words=len(words),
        counts=counts,
        lines=tuple(hit_lines),
        identifiers=identifiers,
        earlier=query.earlier & names,
        defined=frozenset(named & wanted),
        quotes=frozenset(quote for quote in query.quotes if quote in seen),
        numbers=frozenset(number for number in query.numbers if number in seen),
        mentions=find_mentions(seen, first, lines, query.citations, source),
        errors=sum(1 for _ in _ERROR.finditer(seen)),
        height=lines,
        best_hit=max(map(len, hit_lines), default=0),
        vocabulary=len(names),
        structured=sum(1 for name in names if len(name) > 7 and _STRUCTURED.search(name)),
        definitions=len(named),
        keys=find_keys(seen, words, names, query.keys),
    )


def _defined(text: str) -> set[str]:
    return {one or other for one, other in _DEFINITION.findall(text)}
