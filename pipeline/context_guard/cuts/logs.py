"""Logs whose lines begin with a time: an entry with the lines under it stays together, pieces end where time passes."""

import re

from context_guard.cuts.pieces import Piece

_TIME = re.compile(
    r"\W{0,3}(?:[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T ,_]+|[A-Z][a-z]{2} +[0-9]{1,2} "
    r"|[0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4}[: ]|\S+ +)?"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?![0-9])"
)
_ALARMS = ("ERROR", "FATAL", "CRITICAL", "PANIC")
PAUSE = 5
"""Seconds without an entry after which a piece may end early."""
_DAY = 86_400
_FROM = 0.5
"""A piece may end at a pause or before an alarm behind this share of the wanted size."""


def is_log(sample: list[str]) -> bool:
    return sum(1 for line in sample if _TIME.match(line)) * 10 >= len(sample) * 6


def find_entries(lines: list[str], target: int) -> list[Piece]:
    """Pieces of about the wanted size, each from an entry's first line on."""
    borders: list[int] = []
    size = 0
    before: re.Match[str] | None = None
    for at, line in enumerate(lines):
        found = _TIME.match(line)
        if found is not None:
            if size and (
                size + len(line) + 1 > target
                or (size > target * _FROM and before is not None and _is_border(before, found))
            ):
                borders.append(at)
                size = 0
            before = found
        size += len(line) + 1
    starts = [0, *borders]
    return [Piece(one, other) for one, other in zip(starts, [*borders, len(lines)], strict=True)]


def _is_border(before: re.Match[str], found: re.Match[str]) -> bool:
    """Whether time passed between two entries, or the second one raises an alarm after one that raised none."""
    if (_seconds(found) - _seconds(before)) % _DAY > PAUSE:
        return True
    return _is_alarm(found.string) and not _is_alarm(before.string)


def _seconds(found: re.Match[str]) -> int:
    hours, minutes, seconds = found.groups()
    return int(hours) * 3_600 + int(minutes) * 60 + int(seconds)


def _is_alarm(line: str) -> bool:
    return any(word in line[:120] for word in _ALARMS)
