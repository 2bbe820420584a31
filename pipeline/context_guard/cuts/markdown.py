"""Markdown: sections with their headings; a small section joins the one before it under the same roof."""

import re

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
    pieces: list[Piece] = []
    start = 0
    is_code = False
    for at, line in enumerate(without_numbers(lines)):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and at > start and _HEADING.match(line):
            pieces.append(Piece(start, at))
            start = at
    return [*pieces, Piece(start, len(lines))]
