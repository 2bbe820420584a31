"""Material whose indentation is its structure: source files by definitions, printed JSON and YAML by keys and items.

A piece over the wanted size falls apart at its least indented lines, again and again, until its parts fit; comments and
decorators stay with what they stand above, closing brackets with what they close.
"""

import re
from collections.abc import Iterator

from context_guard.cuts.pieces import Piece
from context_guard.cuts.windows import find_windows

MAX_DEPTH = 8
_NUMBERED = re.compile(r" *[0-9]+(?:\t|→|\| ?|: )")
_CLOSERS = frozenset("}])")
_LEADS = ("@", "#", "//", "/*", "*", "--", '"""', "'''", "///", "[[", "<!--", "template", "export default")
_BLANK = 1_000
_FOLLOWS = re.compile(r"(?:else|elif|except|finally|catch|then|fi|done|end|esac)\b")


def find_outline(lines: list[str], target: int) -> list[Piece]:
    bodies = without_numbers(lines)
    indents = [len(body) - len(body.lstrip()) if body and not body.isspace() else _BLANK for body in bodies]
    pieces: list[Piece] = []
    sizes = [len(line) + 1 for line in lines]
    _split(bodies, indents, sizes, 0, len(lines), target, 0, pieces, lines)
    return pieces


def without_numbers(lines: list[str]) -> list[str]:
    """The lines without the numbers in front, where most lines bear one."""
    step = max(1, len(lines) // 50)
    sample = [line for line in lines[::step] if line]
    if sum(1 for line in sample if _NUMBERED.match(line)) * 10 < len(sample) * 9:
        return lines
    return [line[found.end() :] if (found := _NUMBERED.match(line)) else line for line in lines]


def _split(
    bodies: list[str],
    indents: list[int],
    sizes: list[int],
    start: int,
    end: int,
    target: int,
    depth: int,
    pieces: list[Piece],
    lines: list[str],
) -> None:
    """Append the pieces of lines `start` to `end`, each at most about the target where the material allows."""
    if sum(sizes[start:end]) <= target:
        pieces.append(Piece(start, end))
        return
    inner = range(_after_head(bodies, start, end) if depth else start, end)
    least = min((indents[at] for at in inner if indents[at] < _BLANK and not _closes(bodies[at])), default=_BLANK)
    borders = [at for at in inner if indents[at] == least and _opens(bodies[at])]
    if least == _BLANK or len(borders) < 1 or depth >= MAX_DEPTH or (len(borders) == 1 and borders[0] == start):
        if depth < MAX_DEPTH and least < _BLANK and borders == [start] and end - start > 1:
            _split(bodies, indents, sizes, start, end, target, depth + 1, pieces, lines)
            return
        pieces.extend(Piece(*window) for window in find_windows(lines, start, end, target))
        return
    starts = sorted({start, *_leads(bodies, borders)})
    group = starts[0]
    size = 0
    for one, other in zip(starts, [*starts[1:], end], strict=True):
        own = sum(sizes[one:other])
        if size and size + own > target:
            pieces.append(Piece(group, one))
            group, size = one, 0
        if own > target:
            if size:
                pieces.append(Piece(group, one))
            _split(bodies, indents, sizes, one, other, target, depth + 1, pieces, lines)
            group, size = other, 0
        else:
            size += own
    if size:
        pieces.append(Piece(group, end))


def _after_head(bodies: list[str], start: int, end: int) -> int:
    """The line after the first one that is no comment, decorator or blank: what a piece begins with is not torn off."""
    while start < end and (not bodies[start].strip() or bodies[start].lstrip().startswith(_LEADS)):
        start += 1
    return start + 1


def _opens(body: str) -> bool:
    """Whether a line can begin a piece: it closes nothing and goes on with nothing."""
    stripped = body.lstrip()
    return stripped[:1] not in _CLOSERS and not _FOLLOWS.match(stripped)


def _closes(body: str) -> bool:
    return body.lstrip()[:1] in _CLOSERS


def _leads(bodies: list[str], borders: list[int]) -> Iterator[int]:
    """For each border the first of the comment and decorator lines right above it, which are borders themselves."""
    first, before = -1, -2
    for at in borders:
        if at - 1 != before or not bodies[before].lstrip().startswith(_LEADS):
            first = at
        before = at
        yield first
