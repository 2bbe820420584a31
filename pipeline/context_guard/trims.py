"""Lines inside a kept chunk that add nothing: blank runs, repeats of the line above, passed tests beside a failure.

Only what cannot be needed goes: a repeated line can be read above the gap, and a passed test that the answer speaks of
stays.
"""

import re
from collections.abc import Iterator

from context_guard.chunks import Chunk, Cut
from context_guard.gaps import Trim, Why
from context_guard.signs import sign_of

MIN_CHARS = 150
"""An omission line takes about half of it."""

_STATE = re.compile(
    r"(?<![\w./-])[0-9][0-9.,]*(?: ?%|/[0-9.,]+(?![\w/])| ?[kKMGT]?i?[bB](?:/s|ps)?(?!\w)"
    r"|(?::[0-9]{2})+|(?: ?(?:ms|s|it/s))(?!\w))"
)
"""Numbers with a unit that grows: per cent, bytes, seconds, so many of so many."""
_BAR = re.compile(r"[#=>█▉▊▋▌▍▎▏░▒▓━╸╺·.\-|\s]+")

_TEST_NAME = re.compile(r"\w{2,}(?:[_.:/-]+\w+)+|\w+[a-z][A-Z]\w*")


def find_trims(cut: Cut, kept: list[int], answer: str) -> dict[int, tuple[Trim, ...]]:
    """By chunk; none for a chunk of which nothing is worth a gap."""
    found: dict[int, tuple[Trim, ...]] = {}
    for index in kept:
        chunk = cut.chunks[index]
        if not chunk.joined and chunk.end - chunk.start > 2 and len(chunk.text) > MIN_CHARS:
            trims = tuple(_runs(chunk, cut.kind == "tests", answer))
            if trims:
                found[index] = trims
    return found


def _runs(chunk: Chunk, is_test_run: bool, answer: str) -> Iterator[Trim]:
    lines = chunk.text.split("\n")
    sorts = [_sort(lines, at) for at in range(len(lines))]
    if is_test_run and chunk.role != "pass" and any(sign_of(line) == "failure" for line in lines):
        sorts = [sort or _pass(line, answer) for sort, line in zip(sorts, lines, strict=True)]
    start = 0
    for at in range(1, len(lines) + 1):
        if at < len(lines) and sorts[at] == sorts[start]:
            continue
        why = sorts[start]
        if why and at - start < len(lines) and sum(map(len, lines[start:at])) + at - start >= MIN_CHARS:
            yield Trim(chunk.start + start, chunk.start + at, why)
        start = at


def _sort(lines: list[str], at: int) -> Why:
    if not lines[at].strip():
        return "blank"
    if at and lines[at] == lines[at - 1]:
        return "repeated"
    is_progress = at + 1 < len(lines) and "%" in lines[at] and _progress(lines[at]) == _progress(lines[at + 1])
    return "progress" if is_progress else ""


def _progress(line: str) -> str:
    """The line without what changes from one state of a progress to the next; with the numbers that name something."""
    return _BAR.sub("", _STATE.sub("%", line)) if "%" in line else ""


def _pass(line: str, answer: str) -> Why:
    if sign_of(line) != "pass":
        return ""
    return "" if any(name in answer for name in _TEST_NAME.findall(line)) else "passed"
