"""An output beside what an earlier edit shows of it: which of its lines stand there, read from the two texts alone."""

import re
from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from context_guard.report.rows import Row, to_row
from context_guard.text import MARKER

_KEPT = re.compile(r": kept ([0-9]+) of [0-9,]+ lines? \(")
_OMISSION = re.compile(r"\[… ([0-9,]+) (?:line|match)[^\n]* …\]")


def align(raw: str, seen: str) -> tuple[Row, ...]:
    """The lines that stay and the gaps between them, in order; nothing when `seen` is not made of whole lines of `raw`
    under a header of the guard (another made the edit, only a part of a line stays).

    A line like those that stand in place of gaps is a line of the output where `raw` holds it. Whether it was read
    right tells the header, which counts the lines that stay.
    """
    lines = raw.split("\n")
    head, _, body = seen.partition("\n")
    if not head.startswith(MARKER) or not body:
        return ()
    quoted = frozenset(filter(_OMISSION.fullmatch, lines))
    rows: list[Row] = []
    at, note = 0, ""
    for is_gap, found in groupby(body.split("\n"), lambda line: line not in quoted and bool(_OMISSION.fullmatch(line))):
        part = list(found)
        if is_gap:
            note = "\n".join(part)
            continue
        place = _find(lines, part, at, note)
        if place is None:
            return ()
        rows += _gap(lines, at, place, note)
        rows.append(_row(lines, place, place + len(part), True, ""))
        at, note = place + len(part), ""
    if quoted and _kept(head) != sum(row.last - row.first + 1 for row in rows if row.kept):
        return ()
    return (*rows, *_gap(lines, at, len(lines), note))


def _kept(head: str) -> int | None:
    """The count of the guard's own words, which stand behind those of the call."""
    said = _KEPT.findall(head)
    return int(said[-1]) if said else None


def _find(lines: list[str], part: list[str], at: int, note: str) -> int | None:
    """Where the part stands from `at` on: as far on as the note says, or else its first place."""
    said = _OMISSION.fullmatch(note)
    told = [at + int(said[1].replace(",", ""))] if said else []
    places = (place for place in range(at, len(lines)) if lines[place] == part[0])
    return next((place for place in (*told, *places) if lines[place : place + len(part)] == part), None)


def _gap(lines: list[str], start: int, end: int, note: str) -> Iterator[Row]:
    if start < end:
        yield _row(lines, start, end, False, note)


def _row(lines: list[str], start: int, end: int, kept: bool, note: str) -> Row:
    return replace(to_row("\n".join(lines[start:end]), kept, note), first=start + 1, last=end)
