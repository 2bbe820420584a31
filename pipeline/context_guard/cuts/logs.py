"""Logs whose lines begin with a time: an entry with the lines under it stays together, pieces end where time passes."""

import re

from context_guard.cuts.pieces import Piece

_TIME = re.compile(
    r"\W{0,3}(?:[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T ,_]+|[A-Z][a-z]{2} +[0-9]{1,2} "
    r"|[0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4}[: ]|\S+ +)?"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?![0-9])"
)
_ALARM = re.compile(r".{0,90}\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b")
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
    before = -1
    alarmed = False
    for at, line in enumerate(lines):
        found = _TIME.match(line)
        if found is None:
            size += len(line) + 1
            continue
        hours, minutes, seconds = found.groups()
        now = int(hours) * 3_600 + int(minutes) * 60 + int(seconds)
        alarm = _ALARM.match(line) is not None
        if size and (
            size + len(line) + 1 > target
            or (size > target * _FROM and ((now - before) % _DAY > PAUSE or (alarm and not alarmed)))
        ):
            borders.append(at)
            size = 0
        before, alarmed = now, alarm
        size += len(line) + 1
    starts = [0, *borders]
    return [Piece(one, other) for one, other in zip(starts, [*borders, len(lines)], strict=True)]
