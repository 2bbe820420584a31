"""Markdown: sections with their headings; a small section joins the one before it under the same roof."""

import re
from collections.abc import Iterator
from itertools import pairwise

from context_guard.cuts.outline import without_numbers
from context_guard.cuts.pieces import Piece

_HEADING = re.compile(r"#{1,6} +\S")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")


def is_markdown(sample: list[str]) -> bool:
    """Headings, and among the rest signs of prose or lists that a script's comments do not show."""
    headings = sum(1 for line in sample if _HEADING.match(line))
    marks = sum(1 for line in sample if line.startswith(("- ", "* ", "```", "| ", "> ", "1. ")) or "](" in line)
    return headings >= 2 and headings * 3 < len(sample) and marks >= headings


def find_sections(lines: list[str]) -> list[Piece]:
    starts = [0, *(at for at in _headings(lines) if at > 0)]
    return [Piece(one, other) for one, other in pairwise((*starts, len(lines)))]


def section_lines(lines: list[str]) -> list[int]:
    """For each line the heading of its section; -1 for a heading and for what stands before the first one."""
    found = [-1] * len(lines)
    starts = list(_headings(lines))
    for one, other in pairwise((*starts, len(lines))):
        found[one + 1 : other] = [one] * (other - one - 1)
    return found


def _headings(lines: list[str]) -> Iterator[int]:
    is_code = False
    for at, line in enumerate(without_numbers(lines)):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and _HEADING.match(line):
            yield at
