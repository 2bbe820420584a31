"""Labels: which lines of an output are needed, as people said it, and how many of them a pass still shows.

    {"3f9c2a1b": [[12, 15], 40], "77aa01cd": []}

An output's entry → its needed lines, counted from 1, as numbers or as [first, last]. Over a folder of sessions, one
such object under the name of each session's file.
"""

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from context_guard.render import LineRanges

if TYPE_CHECKING:
    from returns.result import Result


class Need(Struct, frozen=True):
    entry_id: str
    lines: LineRanges


class Labels(Struct, frozen=True):
    sessions: tuple[tuple[str, tuple[Need, ...]], ...]
    """File name of a session and its labels; the name is empty where they are of any session."""

    def of(self, session: str) -> tuple[Need, ...]:
        return tuple(need for name, needs in self.sessions if name in ("", session) for need in needs)


class LabelError(Struct, frozen=True):
    message: str


def read_labels(data: bytes) -> "Result[Labels, LabelError]":
    """The labels of a file. The whole of it is checked: a slip in a label would count as lines that nobody needs."""
    from returns.result import Failure, Success

    try:
        value = json.loads(data.decode("utf-8-sig"))
        if not isinstance(value, dict):
            raise ValueError("no JSON object of entry → needed lines")
        if value and all(isinstance(own, dict) for own in value.values()):
            return Success(Labels(tuple((name, _needs(own)) for name, own in value.items())))
        return Success(Labels((("", _needs(value)),)))
    except (ValueError, RecursionError) as error:
        return Failure(LabelError(f"the labels are not usable: {error}"))


def count_lines(ranges: LineRanges) -> int:
    return sum(end - start for start, end in ranges)


def common(one: LineRanges, other: LineRanges) -> LineRanges:
    """The lines that are in both."""
    found = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple((start, end) for start, end in found if start < end)


def without(one: LineRanges, other: LineRanges) -> LineRanges:
    """The lines of the first that are not in the other."""
    left = list(one)
    for start, end in other:
        cut: list[tuple[int, int]] = []
        for a, b in left:
            cut += [piece for piece in ((a, min(b, start)), (max(a, end), b)) if piece[0] < piece[1]]
        left = cut
    return tuple(left)


def as_ranges(lines: list[Any]) -> LineRanges:
    """Lines as people write them, counted from 1, both ends included; raises ValueError where they are none."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(_pair(line) for line in lines):
        if found and first - 1 <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first - 1, last))
    return tuple(found)


def as_pairs(ranges: LineRanges) -> list[list[int]]:
    """Ranges as people write them: [first, last], counted from 1, both ends included."""
    return [[start + 1, end] for start, end in ranges]


def _needs(value: dict[str, Any]) -> tuple[Need, ...]:
    needs: list[Need] = []
    for entry_id, lines in value.items():
        if not isinstance(lines, list):
            raise ValueError(f"{entry_id}: no list of line numbers and [first, last]")
        try:
            needs.append(Need(entry_id, as_ranges(lines)))
        except ValueError as error:
            raise ValueError(f"{entry_id}: {error}") from error
    return tuple(needs)


def _pair(line: Any) -> tuple[int, int]:
    match [line, line] if isinstance(line, int) else line:
        case [int(first), int(last)] if 1 <= first <= last and not isinstance(line, bool):
            return first, last
        case _:
            raise ValueError(f"{json.dumps(line)[:40]} is no line and no [first, last], counted from 1")
