"""The events of a stream of server-sent events, from pieces cut anywhere."""

import re
from collections.abc import Iterator

MAX_EVENT = 32_000_000
"""Bytes of one event; a longer one ends the reading."""

_LINE = re.compile(rb"\r\n|\n|\r")


class EventLines:
    """Gives the data of each event that is whole. Comments, names and ids are not needed here."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0
        """Since the last event ended."""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Raises ValueError for an event without end."""
        self._size += len(piece)
        if self._size > MAX_EVENT:
            raise ValueError("an event without end")
        if b"\n" not in piece and b"\r" not in piece:
            self._rest.append(piece)
            return
        text = b"".join([*self._rest, piece])
        lines = _LINE.split(text)
        if text.endswith(b"\r"):  # the line feed that may belong to it has not come
            lines = [*_LINE.split(text[:-1])]
            lines[-1] += b"\r"
        for line in lines[:-1]:
            yield from self._line(line)
        self._rest = [lines[-1]]

    def close(self) -> Iterator[bytes]:
        """What came last, where the stream ends without its empty line."""
        for line in _LINE.split(b"".join(self._rest)):
            yield from self._line(line)
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data, self._size = b"\n".join(self._data), [], 0
            yield data
