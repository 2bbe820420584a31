"""A run of lines that belongs together, and how runs become chunks of about the wanted size."""

from itertools import accumulate
from typing import Literal

from msgspec import Struct

from context_guard.cuts.windows import find_windows

SPLIT_ABOVE = 1.5
"""A piece over this multiple of the wanted size is cut into windows."""
SOLID_UP_TO = 8
SOLID_CHARS = 12_000
"""A failure stays one piece up to this multiple and this size."""

MOST = 3
FEW = 40
"""More pieces than this many, and this many times what the size asks for, are too many to ask about."""

Role = Literal["", "failure", "summary", "header", "pass", "blob", "progress"]
"""What a piece is to a reader: a failure with its evidence, the summary or exit lines, the header of a table or of a
file's hunks, passed tests, encoded data, a line that was overwritten again and again; or nothing in particular."""


class Piece(Struct, frozen=True):
    start: int
    """First line, from 0."""
    end: int
    """Line after the last one."""
    role: Role = ""
    files: tuple[str, ...] = ()
    continued: bool = False
    """Whether it goes on with a failure that was too large for one piece."""


def pack_pieces(pieces: list[Piece], lines: list[str], target: int) -> list[Piece]:
    """Neighbours of one role together up to the wanted size, large pieces in windows; failures stay as they are.

    Where that leaves too many of them, as when every second test fails, neighbours of any role are put together.
    """
    packed = _pack(pieces, lines, target, False)
    chars = sum(map(len, lines)) + len(lines)
    return packed if len(packed) <= FEW + MOST * chars // target else _pack(packed, lines, target, True)


def _pack(pieces: list[Piece], lines: list[str], target: int, any_role: bool) -> list[Piece]:
    ends = [0, *accumulate(map(len, lines))]
    packed: list[Piece] = []
    size = 0
    for piece in pieces:
        own = ends[piece.end] - ends[piece.start] + piece.end - piece.start
        limit = target * SPLIT_ABOVE
        if piece.role == "failure":
            limit = max(limit, min(target * SOLID_UP_TO, SOLID_CHARS))
        if own > limit:
            packed += [
                Piece(start, end, piece.role, piece.files, piece.role == "failure" and start > piece.start)
                for start, end in find_windows(lines, piece.start, piece.end, target)
            ]
            size = target
        elif packed and size + own <= target and (any_role or _may_join(packed[-1], piece)):
            last = packed[-1]
            files = last.files if last.files[-1:] == piece.files else last.files + piece.files
            packed[-1] = Piece(last.start, piece.end, _role_of(last, piece), files)
            size += own
        else:
            packed.append(piece)
            size = own
    return packed


def fill_between(found: list[Piece], start: int, end: int) -> list[Piece]:
    """The pieces with what lies between them as pieces of no role, so that every line is in one."""
    filled: list[Piece] = []
    for piece in found:
        if piece.start > start:
            filled.append(Piece(start, piece.start))
        filled.append(piece)
        start = piece.end
    return [*filled, Piece(start, end)] if start < end else filled


def _role_of(one: Piece, other: Piece) -> Role:
    roles = {one.role, other.role}
    return one.role if len(roles) == 1 else "failure" if "failure" in roles else ""


def _may_join(one: Piece, other: Piece) -> bool:
    return one.role == other.role and one.role in ("", "pass", "summary")
