"""Where the lines of a part come from: a file that was read, or `path:line` as a search or a compiler prints it."""

import re
from collections.abc import Iterator

from msgspec import Struct

from context_guard.labels import first_text, read_args
from context_guard.local_judge.citations import Citation, count_inside, is_same_file
from context_guard.requests import State

MOST_PLACES = 3_000

_LONGEST_PATH = 200
_PATH_BEFORE = re.compile(r"[\w./\\@+-]*\Z")
_NUMBER_AFTER = re.compile(r"(?:\"?,? line |:|-|\()([0-9]{1,7})\b")
_PRINTED = re.compile(r"^ *([0-9]{1,7})(?:\t|→| ?[|│:] ?)", re.MULTILINE)
_SED = re.compile(r"\bsed -n ['\"]?([0-9]{1,7}),[0-9]*p['\"]? ([^\s|;&\"]+)")
_CAT = re.compile(r"^(?:cd [^;&]{1,200}&& )?(?:cat|head(?: -n? ?[0-9]+)?) ([^\s|;&\"-][^\s|;&\"]*)$")


class Source(Struct, frozen=True):
    """The one file an output shows, when it shows one."""

    path: str = ""
    first: int = 1
    """Number of the output's first line in the file."""


class Mentions(Struct, frozen=True):
    """What an answer's citations find in one part."""

    cited: int = 0
    """Lines that a citation names."""
    named: bool = False
    """A file is named that the answer names, without or with a line."""
    negated: bool = False
    """A file is named that the answer sets aside."""


def read_source(state: State) -> Source:
    args = read_args(state.args)
    if path := first_text(args, "path", "file_path", "file"):
        return Source(path, _line(args.get("offset")) or _line(args.get("start_line")) or 1)
    command = first_text(args, "command", "cmd").strip()
    if shown := _SED.search(command):
        return Source(shown[2], int(shown[1]))
    return Source(shown[1]) if (shown := _CAT.match(command)) else Source()


def find_mentions(
    text: str, first: int | None, lines: int, citations: tuple[Citation, ...], source: Source
) -> Mentions:
    """`first` is the place of the part's first line in the output from 0, None when it is not known."""
    cited = 0
    named = negated = False
    printed = _printed_numbers(text, lines)
    found: dict[str, dict[str, list[int]]] = {}
    for citation in citations:
        if citation.first and (not citation.path or is_same_file(citation.path, source.path)):
            if printed:
                cited += count_inside(printed, citation.first, citation.last)
            elif source.path and first is not None:
                low = source.first + first
                cited += max(0, min(citation.last, low + lines - 1) - max(citation.first, low) + 1)
        if not citation.path:
            continue
        base = citation.base
        if base not in found:
            found[base] = _numbers_by_path(text, base)
        for path, numbers in found[base].items():
            if not is_same_file(path, citation.path):
                continue
            negated = negated or citation.negated
            named = named or not citation.negated
            if citation.first and not citation.negated:
                cited += count_inside(numbers, citation.first, citation.last)
    return Mentions(cited=cited, named=named, negated=negated and not named)


def _line(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 1 <= value < 10_000_000 else 0


def _printed_numbers(text: str, lines: int) -> list[int]:
    """Line numbers in front of the lines, as `cat -n` prints them; none unless most lines bear one."""
    numbers = [int(number) for number in _PRINTED.findall(text)]
    return numbers if len(numbers) * 2 > lines and numbers == sorted(numbers) else []


def _numbers_by_path(text: str, base: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for path, number in _places(text, base):
        numbers = places.setdefault(path, [])
        if number:
            numbers.append(number)
    for numbers in places.values():
        numbers.sort()
    return places


def _places(text: str, base: str) -> Iterator[tuple[str, int]]:
    """Every path in the text that ends with `base`, and the line number behind it (0 for none)."""
    position = text.find(base)
    for _ in range(MOST_PLACES):
        if position < 0:
            return
        end = position + len(base)
        before = _PATH_BEFORE.search(text[max(0, position - _LONGEST_PATH) : position])
        path = (before[0] if before else "") + base
        if path == base or path[-len(base) - 1] in "/\\":
            number = _NUMBER_AFTER.match(text, end)
            if not text[end : end + 1].isalnum():
                yield path, int(number[1]) if number else 0
        position = text.find(base, end)
