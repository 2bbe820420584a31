"""Inside one huge line (minified code, JSON on one line, data): places where it may be cut, in characters."""

import re
from collections.abc import Iterator

from context_guard.cuts.encoded import find_blobs
from context_guard.cuts.pieces import Role

HUGE = 2
"""A line over this multiple of the wanted size is cut inside."""
_OVERWRITTEN = re.compile(r"\r(?!\Z)|\x1b\[2K")
"""Only the last state of such a line is of interest, and no part shows it."""
_FROM = 0.6
_BREAKS = ("},", "],", ";", "}", ",", ">", " ", "\t")
"""Behind these a line may be cut, the best ones first."""
_HIGH, _LOW = ("\ud800", "\udbff"), ("\udc00", "\udfff")


def find_stops(line: str, target: int) -> Iterator[tuple[int, Role]]:
    """Where each part of the line ends, and what it is: data and overwritten lines are one part each."""
    start = 0
    if _OVERWRITTEN.search(line):
        yield len(line), "progress"
        return
    for first, last in find_blobs(line):
        if last - first < target:
            continue
        for stop in _windows(line, start, first, target):
            yield stop, ""
        yield last, "blob"
        start = last
    for stop in _windows(line, start, len(line), target):
        yield stop, ""


def _windows(line: str, start: int, end: int, target: int) -> Iterator[int]:
    while end - start > target * 1.25:
        stop = _break(line, start + int(target * _FROM), start + target)
        yield stop
        start = stop
    if end > start:
        yield end


def _break(line: str, low: int, high: int) -> int:
    """The last good place between the two; never inside a character."""
    for mark in _BREAKS:
        place = line.rfind(mark, low, high)
        if place >= 0:
            return place + len(mark)
    if _HIGH[0] <= line[high - 1] <= _HIGH[1] and _LOW[0] <= line[high] <= _LOW[1]:
        return high - 1
    return high
