"""Which lines of an output survive in what a peer made of it.

A line survives where it stands in the peer's text as it was, white space at its ends aside; a match of a search
(`path:12:text`) also where its path has become a heading. Lines that occur more than once are told apart by their
neighbours. Everything else that the peer wrote is changed text: markers, summaries, cut lines.
"""

import re
from bisect import bisect_right
from collections import defaultdict

from msgspec import Struct

MATCH = re.compile(r"(?:[^\s:]+:)?(\d+)[:-](.*)")


class Survivors(Struct, frozen=True):
    lines: tuple[int, ...] | None
    """From 0; None when the whole text stands as it was."""
    changed: int = 0
    """Characters of the peer's text that are no line of the output."""


def find_survivors(text: str, made: str) -> Survivors:
    if made == text:
        return Survivors(None)
    old, new = ([line.strip() for line in each.split("\n")] for each in (text, made))
    match = _grow(_anchors(old, new), old, new)
    _fill(match, old, new)
    _fill(match, [_without_path(line) for line in old], [_without_path(line) for line in new])
    kept = set(match.values())
    changed = sum(len(line) + 1 for at, line in enumerate(new) if line and at not in match)
    if not changed and all(at in kept for at, line in enumerate(old) if line):
        return Survivors(None)
    return Survivors(tuple(sorted(kept)), changed)


def _without_path(line: str) -> str:
    """Number and text of a match; empty for any other line."""
    found = MATCH.fullmatch(line)
    return f"{found[1]}:{found[2].strip()}" if found else ""


def _anchors(old: list[str], new: list[str]) -> dict[int, int]:
    """Place in `new` → place in `old`, for lines that both hold just once."""
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, lines in enumerate((old, new)):
        for at, line in enumerate(lines):
            if line:
                places[line][side].append(at)
    return {theirs[0]: ours[0] for ours, theirs in places.values() if len(ours) == len(theirs) == 1}


def _grow(match: dict[int, int], old: list[str], new: list[str]) -> dict[int, int]:
    """Neighbours of what is matched, as long as they are equal."""
    taken = set(match.values())
    grown = dict(match)
    for step in (1, -1):
        for at, place in sorted(match.items(), reverse=step < 0):
            here, there = at + step, place + step
            while 0 <= here < len(new) and 0 <= there < len(old) and old[there] == new[here]:
                if here in grown or there in taken:
                    break
                grown[here] = there
                taken.add(there)
                here, there = here + step, there + step
    return grown


def _fill(match: dict[int, int], old: list[str], new: list[str]) -> None:
    """The rest, each to the next free place behind the match before it, else to any free one."""
    taken = set(match.values())
    free: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(old):
        if line and at not in taken:
            free[line].append(at)
    last = -1
    for at, line in enumerate(new):
        if at in match:
            last = match[at]
        elif spots := free.get(line):
            match[at] = last = spots.pop(bisect_right(spots, last) % len(spots))
