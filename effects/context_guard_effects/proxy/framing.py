"""Where one request ends and the next begins, read strictly: in front of the HTTP server, which is lenient.

What two programs could read in two ways (smuggling) is refused: a bare line feed, a length beside a transfer encoding,
a folded header, a target that is no path. What passes is passed on byte for byte.
"""

import re
from collections.abc import Iterator
from typing import Literal

MAX_HEAD = 64 * 1024
"""Bytes of the request line and the headers."""
MAX_CHUNK_LINE = 256

_REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[\x21-\x7e]*) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(;[\x20-\x7e]*)?")
_BARE = re.compile(rb"\r(?!\n)|(?<!\r)\n")

State = Literal["head", "body", "size", "chunk", "chunk-end", "trailer"]


class BadFraming(Exception):
    """What is wrong, for the log; it quotes nothing of the request."""


class Framing:
    """Of one connection's requests."""

    def __init__(self) -> None:
        self._state: State = "head"
        self._buffer = bytearray()
        self._left = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What may be passed on. Raises BadFraming, after which nothing of the connection may be."""
        if self._state == "body" and not self._buffer and len(data) < self._left:
            self._left -= len(data)  # the middle of a large body, without a copy
            yield data
            return
        self._buffer += data
        while self._buffer:
            passed = self._step()
            if passed is None:
                return
            yield passed

    def _step(self) -> bytes | None:
        """None while more is needed."""
        match self._state:
            case "head":
                return self._head()
            case "body" | "chunk":
                return self._counted()
            case "size":
                return self._size()
            case "chunk-end":
                return self._exactly(b"\r\n", "size")
            case "trailer":
                return self._exactly(b"\r\n", "head")

    def _head(self) -> bytes | None:
        if self._buffer.startswith(b"\r\n"):  # some clients end a body with one too many
            return self._take(2) and b""
        end = self._buffer.find(b"\r\n\r\n")
        known = self._buffer[: end if end >= 0 else len(self._buffer)].removesuffix(b"\r")  # its line feed may follow
        if bare := _BARE.search(known):
            raise BadFraming("a bare carriage return" if bare[0] == b"\r" else "a bare line feed")
        if (end if end >= 0 else len(self._buffer)) > MAX_HEAD:
            raise BadFraming("headers without end")
        if end < 0:
            return None
        self._state, self._left = read_head(bytes(self._buffer[:end]))
        return self._take(end + 4)

    def _counted(self) -> bytes:
        passed = self._take(min(self._left, len(self._buffer)))
        self._left -= len(passed)
        if not self._left:
            self._state = "head" if self._state == "body" else "chunk-end"
        return passed

    def _size(self) -> bytes | None:
        end = self._buffer.find(b"\n", 0, MAX_CHUNK_LINE)
        if end < 0:
            if len(self._buffer) >= MAX_CHUNK_LINE:
                raise BadFraming("a chunk's size without end")
            return None
        line = bytes(self._buffer[:end])
        found = _CHUNK.fullmatch(line[:-1]) if line.endswith(b"\r") else None
        if found is None:
            raise BadFraming("a chunk's size that is none")
        self._left = int(found[1], 16)
        self._state = "chunk" if self._left else "trailer"
        return self._take(end + 1)

    def _exactly(self, wanted: bytes, state: State) -> bytes | None:
        if not wanted.startswith(bytes(self._buffer[: len(wanted)])):
            raise BadFraming("a chunk longer than its size, or a trailer")
        if len(self._buffer) < len(wanted):
            return None
        self._state = state
        return self._take(len(wanted))

    def _take(self, count: int) -> bytes:
        if count == len(self._buffer):  # without moving what is left
            taken, self._buffer = bytes(self._buffer), bytearray()
            return taken
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def read_head(head: bytes) -> tuple[State, int]:
    """How the body behind this head is read; the head without its empty line. Raises BadFraming."""
    first, *lines = head.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None or request[1] == b"CONNECT":
        raise BadFraming("a request line that names no path here")
    values: dict[bytes, list[bytes]] = {}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise BadFraming("a header that is none")
        values.setdefault(header[1].lower(), []).append(header[2].strip(b" \t").lower())
    if len(values.get(b"host", ())) != 1 and (request[3] == b"1" or b"host" in values):
        raise BadFraming("not one host")
    if b"h2c" in b",".join(values.get(b"upgrade", ())):
        raise BadFraming("an upgrade to HTTP/2")
    lengths, codings = values.get(b"content-length", []), values.get(b"transfer-encoding", [])
    if codings:
        if lengths or codings != [b"chunked"] or request[3] != b"1":
            raise BadFraming("two ways to tell the body's length")
        return "size", 0
    if lengths:
        if len(lengths) != 1 or not re.fullmatch(rb"[0-9]{1,15}", lengths[0]):
            raise BadFraming("a length that is none")
        return ("body", int(lengths[0])) if int(lengths[0]) else ("head", 0)
    return "head", 0
