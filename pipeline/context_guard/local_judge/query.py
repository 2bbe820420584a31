"""What a request is about: the answer (mid-run: the latest note and the later calls), the question, the history."""

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from msgspec import Struct

from context_guard.local_judge.citations import Citation, affirmed, read_citations
from context_guard.local_judge.keys import Keys, read_keys
from context_guard.local_judge.words import ENGLISH, terms_of, words_of
from context_guard.requests import Request, State
from context_guard.span import Span
from context_guard.text import clip, trim

FIELD_CHARS = 16_000
LONGEST_ANSWER = 64_000
"""Of a longer answer the strings of its head and its tail are looked for."""
MOST_QUOTES = 60
RUNS_REMEMBERED = 8
"""The requests of a run ask about the same question and answer."""
MIN_CONTENT_WORDS = 3
"""With fewer words to look for there is no ground to drop anything on."""

_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]\w{0,79}_\w{1,79}|_\w{2,79}|[a-z]\w{0,79}?[a-z][A-Z]\w{0,79}|[A-Z][a-z]+[A-Z]\w{0,79}"
    r"|[A-Z]{3,80}|[A-Za-z]{1,40}[0-9]\w{0,40}|[A-Za-z]\w{1,79}(?=\())"
)
_QUOTE = re.compile(r"`([^`\n]{3,200})`|\"([^\"\n]{4,200})\"|'([^'\n]{4,200})'|“([^”\n]{4,200})”")
_NUMBER = re.compile(r"(?<![\w.])(?:[0-9]{3,9}|[0-9]{1,5}(?:\.[0-9]{1,6})+)(?![\w])")
_PLAIN_NAME = re.compile(r"\w+(?:\(\))?")
_OTHER_SCRIPT = re.compile(r"[^\W\u0000-\u024f]")
_MUCH_OTHER_SCRIPT = 0.2
_FEW_ENGLISH = 0.12
_ENOUGH_WORDS = 8
_SAME_PROMPT = 300


class Query(Struct, frozen=True):
    answer: frozenset[str]
    """Terms of what was answered, sentences about what does not matter left out."""
    question: frozenset[str]
    history: frozenset[str]
    notes: frozenset[str]
    earlier: frozenset[str]
    """Identifiers of the question and of what went before."""
    identifiers: frozenset[str]
    quotes: tuple[str, ...]
    """Verbatim strings of the answer that are more than a name."""
    numbers: tuple[str, ...]
    citations: tuple[Citation, ...]
    keys: Keys
    """Strings that the answer must have from somewhere, and not from the user."""
    asked: str
    told: str
    """Question and answer as they are, for what they say about the whole."""
    is_foreign: bool
    """Hardly any English function word, or another script: what it paraphrases cannot be found by its words."""
    has_answer: bool

    @property
    def terms(self) -> frozenset[str]:
        return self.answer | self.question | self.history | self.notes

    @property
    def is_unclear(self) -> bool:
        return len(self.terms) < MIN_CONTENT_WORDS


def read_query(request: Request) -> Query:
    state = request.state
    mid_run = request.phase == "mid-run"
    answer = _field([state.latest_note, *(state.later_calls or ())] if mid_run else [state.answer])
    question = _field([state.question])
    before = _field(_history(state))
    noted = _field([state.notes])
    query = _query(question, answer, before, noted, bool(state.answer.strip()))
    if request.run is None or mid_run:
        return query
    return msgspec.structs.replace(query, keys=_keys_in_run(request.run, f"{question}\n{before}"))


@lru_cache(maxsize=RUNS_REMEMBERED)
def _keys_in_run(run: Span, known: str) -> Keys:
    """The keys of the whole answer but for those that the agent had written before, which stay to be read there."""
    own = (known, run.notes, *(call.args for call in run.calls))
    answer = clip(run.answer, LONGEST_ANSWER)
    return read_keys(answer, affirmed(answer), "\n".join(own))


@lru_cache(maxsize=RUNS_REMEMBERED)
def _query(question: str, answer: str, before: str, noted: str, has_answer: bool) -> Query:
    told = affirmed(answer)
    return Query(
        answer=_terms(told),
        question=_terms(question),
        history=_terms(before),
        notes=_terms(noted),
        earlier=_identifiers(f"{question}\n{before}\n{noted}"),
        identifiers=_identifiers(told),
        quotes=_quotes(told),
        numbers=tuple(dict.fromkeys(_NUMBER.findall(told)))[:MOST_QUOTES],
        citations=read_citations(answer),
        keys=read_keys(answer, told, f"{question}\n{before}"),
        asked=question,
        told=answer,
        is_foreign=_is_foreign(f"{question} {answer}"),
        has_answer=has_answer,
    )


def _is_foreign(text: str) -> bool:
    words = words_of(text)
    if len(_OTHER_SCRIPT.findall(text)) > _MUCH_OTHER_SCRIPT * len(text):
        return True
    return len(words) >= _ENOUGH_WORDS and sum(word.lower() in ENGLISH for word in words) < _FEW_ENGLISH * len(words)


def _field(texts: Iterable[str]) -> str:
    return clip("\n".join(text for text in texts if text), FIELD_CHARS)


def _history(state: State) -> list[str]:
    """What went before; an old exchange that is itself asked about does not speak for itself."""
    asked = {trim(part.text)[:_SAME_PROMPT] for part in state.parts}
    history = state.history
    spoken = [
        text
        for exchange in history.exchanges
        if trim(exchange.user)[:_SAME_PROMPT] not in asked
        for text in (exchange.user, exchange.assistant)
    ]
    first = "" if trim(history.first_request)[:_SAME_PROMPT] in asked else history.first_request
    return [history.summary, first, *spoken]


def _terms(text: str) -> frozenset[str]:
    return frozenset(term for word in set(words_of(text)) for term in terms_of(word))


def _identifiers(text: str) -> frozenset[str]:
    quoted = (next(filter(None, groups)).removesuffix("()") for groups in _QUOTE.findall(text))
    return frozenset(_IDENTIFIER.findall(text)) | frozenset(name for name in quoted if _PLAIN_NAME.fullmatch(name))


def _quotes(text: str) -> tuple[str, ...]:
    found = (next(filter(None, groups)).strip() for groups in _QUOTE.findall(text))
    strings = dict.fromkeys(quote for quote in found if len(quote) > 3 and not _PLAIN_NAME.fullmatch(quote))
    return tuple(strings)[:MOST_QUOTES]
