"""Bodies as they travel: gathered up to a limit, opened where they are compressed, never larger than the limit."""

import zlib
from collections.abc import Callable, Sequence
from typing import Protocol

MAX_ENCODINGS = 2
"""Of one body; nobody needs more than one."""


class TooLarge(Exception):
    """The body, or what a compressed one opens to, has more bytes than are taken."""


class Opener(Protocol):
    """Opens a compressed body piece by piece."""

    def open(self, piece: bytes, limit: int) -> bytes:
        """At most about `limit` bytes; more raises TooLarge."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether the compressed body has come to its end."""
        ...


def open_body(data: bytes, encodings: Sequence[str], limit: int) -> bytes | None:
    """The body without its encodings, None when it is not what they say. Raises TooLarge."""
    if len(encodings) > MAX_ENCODINGS:
        return None
    for name in reversed(encodings):
        opener = find_opener(name)
        if opener is None:
            return None
        try:
            data = opener.open(data, limit)
            if not opener.is_done:
                return None
        except TooLarge:
            raise
        except Exception:  # each library has errors of its own for data that is damaged
            return None
    return data


def find_opener(name: str) -> Opener | None:
    """None for an encoding that is not known, or whose library is not there."""
    make = OPENERS.get(name)
    try:
        return make() if make is not None else None
    except ImportError:
        return None


class _Zlib:
    def __init__(self, bits: int) -> None:
        self._inner = zlib.decompressobj(bits)

    def open(self, piece: bytes, limit: int) -> bytes:
        found = self._inner.decompress(piece, limit + 1)
        if len(found) > limit:
            raise TooLarge
        return found

    @property
    def is_done(self) -> bool:
        return self._inner.eof


class _Brotli:
    def __init__(self) -> None:
        import brotli

        self._inner = brotli.Decompressor()

    def open(self, piece: bytes, limit: int) -> bytes:
        found = bytes(self._inner.process(piece, output_buffer_limit=limit + 1))
        if len(found) > limit or not self._inner.can_accept_more_data():
            raise TooLarge
        return found

    @property
    def is_done(self) -> bool:
        return bool(self._inner.is_finished())


class _Zstd:
    STEP = 256
    """The library has no limit of its own: so many bytes open to 10 MB at the most."""

    def __init__(self) -> None:
        import zstandard

        self._inner = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()

    def open(self, piece: bytes, limit: int) -> bytes:
        found: list[bytes] = []
        left = limit
        for start in range(0, len(piece), self.STEP):
            found.append(self._inner.decompress(piece[start : start + self.STEP]))
            left -= len(found[-1])
            if left < 0:
                raise TooLarge
        return b"".join(found)

    @property
    def is_done(self) -> bool:
        return bool(self._inner.eof)


OPENERS: dict[str, Callable[[], Opener]] = {
    "gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "zstd": _Zstd,
    "br": _Brotli,
}
"""`context_guard.proxy_routes.ENCODINGS` names those that requests may have."""
