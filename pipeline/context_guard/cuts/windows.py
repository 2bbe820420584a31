"""Runs of lines of about the wanted size: what is left to do where the material shows no borders."""

from context_guard.text import WHITESPACE

BLANK_LINE_FROM = 0.6
"""A window may end early after a blank line in the part behind this share of its lines."""


def find_windows(lines: list[str], start: int, end: int, target: int) -> list[tuple[int, int]]:
    """First line and line after the last of each; a line over the target stands alone."""
    windows: list[tuple[int, int]] = []
    while start < end:
        stop, size = start + 1, len(lines[start]) + 1
        while stop < end and size + len(lines[stop]) + 1 <= target:
            size += len(lines[stop]) + 1
            stop += 1
        if stop < end:
            stop = _after_blank_line(lines, start, stop)
        windows.append((start, stop))
        start = stop
    return windows


def is_blank(line: str) -> bool:
    return not line.strip(WHITESPACE)


def _after_blank_line(lines: list[str], start: int, stop: int) -> int:
    floor = start + max(1, int((stop - start) * BLANK_LINE_FROM))
    return next((end for end in range(stop, floor, -1) if is_blank(lines[end - 1])), stop)
