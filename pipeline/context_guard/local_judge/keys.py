"""Strings of an answer that can only have come from somewhere: names, numbers, paths and runs of words.

What the answer took from an output stands in it word for word; keeping one part that holds each such string keeps what
the answer rests on.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

MOST_KEYS = 400
SHINGLE = 6
SHINGLE_CHARS = 24
LINE_CHARS = 12
MOST_LINES = 200

_TOKEN = re.compile(r"[A-Za-z0-9_./\\:@+#-]{0,200}[A-Za-z0-9_]")
_PIECE = re.compile(r"[A-Za-z0-9_]+")
_STRUCTURED = re.compile(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z0-9]|[A-Za-z][0-9]|[0-9][A-Za-z]|_[A-Za-z]")
_PLACE = re.compile(r"(?::[0-9]+(?:[-:][0-9]+)*)$")
_HEX = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{7,}")
_COMPOUND = re.compile(r"\w[.-]\w")
_FILE = re.compile(r"\.[a-z]{1,4}$")
_VERSION = re.compile(r"v?[0-9]+\.[0-9]+(?:\.[0-9]+)*(?:-\w+)?")
_WORD = re.compile(r"\w+")


class Keys(Struct, frozen=True):
    words: frozenset[str]
    """Single words: names with a structure, long numbers, hashes."""
    strings: tuple[str, ...]
    """Paths, dotted and hyphenated names; whole lines."""
    shingles: tuple[tuple[str, ...], ...]
    """So many words in a row."""


def read_keys(text: str, affirmed: str, known: str) -> Keys:
    """The keys of a text but for those that stand in `known`, which is there to read in any case.

    Files count only where they are not named as beside the point: from `affirmed`.
    """
    words: dict[str, None] = {}
    strings: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        words |= dict.fromkeys(_pieces(token))
    for token in _TOKEN.findall(affirmed):
        strings |= dict.fromkeys(_compounds(_PLACE.sub("", token.strip("./\\:@+#-"))))
    lines = [line for line in _lines(text) if line not in known]
    shingles = dict.fromkeys(_shingles(text))
    return Keys(
        words=frozenset([key for key in words if key not in known][:MOST_KEYS]),
        strings=(*[key for key in strings if key not in known][:MOST_KEYS], *lines[:MOST_LINES]),
        shingles=tuple([row for row in shingles if " ".join(row) not in known][:MOST_KEYS]),
    )


def find_keys(text: str, words: list[str], names: frozenset[str], keys: Keys) -> frozenset[str]:
    """The keys that a part holds; `words` are its words in order, `names` the same as a set."""
    found = set(keys.words & names)
    found |= {key for key in keys.strings if key in text}
    rows = [row for row in keys.shingles if row[0] in names and names.issuperset(row)]
    if rows:
        joined = f" {' '.join(words)} "
        found |= {run for row in rows if f" {(run := ' '.join(row))} " in joined}
    return frozenset(found)


def _pieces(token: str) -> Iterator[str]:
    for piece in _PIECE.findall(token):
        if piece.isdigit():
            if len(piece) >= 5:
                yield piece
        elif (len(piece) >= 8 and _STRUCTURED.search(piece)) or _HEX.fullmatch(piece):
            yield piece


def _compounds(token: str) -> Iterator[str]:
    if "/" in token or "\\" in token:
        parts = [part for part in re.split(r"[/\\]", token) if part]
        if len(parts) >= 2 and len(last := "/".join(parts[-2:])) >= 8:
            yield last
        if parts and "." in parts[-1] and len(parts[-1]) >= 8:
            yield parts[-1]
    elif _COMPOUND.search(token) and (
        len(token) >= 10 or (len(token) >= 8 and _FILE.search(token)) or _VERSION.fullmatch(token)
    ):
        yield token


def _lines(text: str) -> Iterator[str]:
    for line in dict.fromkeys(line.strip() for line in text.split("\n")):
        words = line.split()
        if len(words) >= 2 and sum(map(len, words)) >= LINE_CHARS:
            yield line


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.split("\n"):
        words = _WORD.findall(line)
        for i in range(len(words) - SHINGLE + 1):
            row = tuple(words[i : i + SHINGLE])
            if sum(map(len, row)) >= SHINGLE_CHARS:
                yield row
