"""Runs of lines of about the wanted size: what is left to do where the material shows no borders."""

from bisect import bisect_right
from itertools import accumulate

from context_guard.text import WHITESPACE

BLANK_LINE_FROM = 0.6
"""A window may end early after a blank line in the part behind this share of its lines."""


def find_windows(lines: list[str], start: int, end: int, target: int) -> list[tuple[int, int]]:
    """First line and line after the last of each; a line over the target stands alone."""
    windows: list[tuple[int, int]] = []
    sizes = [0, *accumulate(map(len, lines[start:end]))]
    first = start
    while start < end:
        limit = sizes[start - first] + start + target
        stop = max(start + 1, first - 1 + _last_within(sizes, start - first, limit - first))
        if stop < end:
            stop = _after_blank_line(lines, start, stop)
        windows.append((start, stop))
        start = stop
    return windows


def _last_within(sizes: list[int], start: int, limit: int) -> int:
    """The place after the last line up to which lines and newlines fit; looked for near the start, then further on."""
    step = 16
    while start + step < len(sizes) and sizes[start + step] + start + step <= limit:
        step *= 4
    high = min(len(sizes), start + step + 1)
    return bisect_right(range(high), limit, start, key=lambda at: sizes[at] + at)


def is_blank(line: str) -> bool:
    return not line or (not " " < line[0] < "\x7f" and not line.strip(WHITESPACE))


def _after_blank_line(lines: list[str], start: int, stop: int) -> int:
    floor = start + max(1, int((stop - start) * BLANK_LINE_FROM))
    return next((end for end in range(stop, floor, -1) if is_blank(lines[end - 1])), stop)
