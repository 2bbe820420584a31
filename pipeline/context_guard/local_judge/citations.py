"""Places that an answer names: `path`, `path:12`, `path:12-20, 31`, and line numbers told after a path."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

LONGEST_RANGE = 2_000
"""A cited range beyond this many lines says nothing about any of them."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEGATION = re.compile(
    r"\b(?:unrelated|irrelevant|unaffected|not (?:relevant|related|affected|needed|involved)|no need|"
    r"(?:don't|doesn't|do not|does not) (?:matter|apply|need|affect)|can be ignored|ignore|nothing to do with"
    r"|only noise)\b",
    re.IGNORECASE,
)
_PATH = r"(?<![\w./\\-])[\w./\\@+-]{0,200}\w\.[A-Za-z]\w{0,9}\b"
_NUMBERS = r"[0-9]{1,6}(?:\s?[-–]\s?[0-9]{1,6})?(?:(?:,\s?|\s(?:and|und)\s)[0-9]{1,6}(?:\s?[-–]\s?[0-9]{1,6})?)*"
_PLACE = re.compile(
    rf"(?P<path>{_PATH})(?:::?(?P<at>{_NUMBERS}))?"
    rf"|\b(?:lines?|Zeilen?|L)\s?(?P<told>{_NUMBERS})"
    rf"|\((?P<bare>{_NUMBERS})\)"
)
_RANGE = re.compile(r"([0-9]+)(?:\s?[-–]\s?([0-9]+))?")
_SCHEME = re.compile(r"https?://\S+")


class Citation(Struct, frozen=True):
    path: str
    """Empty when the answer told a line of a file it did not name."""
    first: int = 0
    """0 when only the path is named."""
    last: int = 0
    negated: bool = False
    """Named only to say that it does not matter."""

    @property
    def base(self) -> str:
        return self.path.replace("\\", "/").rpartition("/")[2]


def affirmed(text: str) -> str:
    """The text without the sentences that only say what does not matter."""
    return "\n".join(sentence for sentence in _SENTENCE.split(text) if not _NEGATION.search(sentence))


def read_citations(text: str) -> tuple[Citation, ...]:
    return tuple(dict.fromkeys(_citations(text)))


def is_same_file(one: str, other: str) -> bool:
    """Whether one path ends with the other, directory by directory."""
    a, b = (path.replace("\\", "/").removeprefix("./").split("/") for path in (one, other))
    shorter = min(len(a), len(b))
    return bool(one) and bool(other) and a[-shorter:] == b[-shorter:]


def count_inside(numbers: list[int], first: int, last: int) -> int:
    """How many of the ascending line numbers lie in the range, both ends included."""
    return bisect_left(numbers, last + 1) - bisect_left(numbers, first)


def _citations(text: str) -> Iterator[Citation]:
    path = ""
    for sentence in _SENTENCE.split(_SCHEME.sub(" ", text)):
        negated = _NEGATION.search(sentence) is not None
        for found in _PLACE.finditer(sentence):
            path = found["path"] or path
            numbers = found["at"] or found["told"] or found["bare"]
            if numbers is None:
                yield Citation(path, negated=negated)
                continue
            for first, last in _RANGE.findall(numbers):
                low, high = int(first), int(last or first)
                if high < low:
                    high = _completed(first, last)
                if 0 < low <= high <= low + LONGEST_RANGE:
                    yield Citation(path, low, high, negated)


def _completed(first: str, last: str) -> int:
    """The end of a range told short: 1210-15 is 1210 to 1215."""
    return int(first[: -len(last)] + last) if len(last) < len(first) else 0
