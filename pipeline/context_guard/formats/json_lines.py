"""Host files that hold one JSON object a line, read line by line: what cannot be read is passed over."""

from collections.abc import Iterable
from typing import Any

from returns.result import Failure, Result, Success

from context_guard.formats.errors import FormatError
from context_guard.formats.pi_session import decode_line
from context_guard.formats.signatures import Format, fitting_line

Json = dict[str, Any]
Line = tuple[int, Json]
"""Physical line from 1, and what it holds."""


def read_lines(lines: Iterable[bytes], own: Format) -> Result[list[Line], FormatError]:
    """The objects of a file. It is refused when it holds none in spite of its lines, or records of another host."""
    found: list[Line] = []
    is_empty = True
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        is_empty = False
        value = decode_line(line.decode("utf-8", "replace"))
        if not isinstance(value, dict):
            continue
        if fitting_line(value) - {own}:
            return Failure(foreign(number))
        found.append((number, value))
    if not found and not is_empty:
        return Failure(FormatError("No line of it is JSON: give a whole file."))
    return Success(found)


def foreign(number: int) -> FormatError:
    return FormatError(f"Line {number} was written by another host: give each session its own file.")
