"""Stage 3. An output in pieces that can be kept or dropped; the pieces in order are the output.

Where the borders are is up to `cuts/`: those of the material where its kind is known, windows where it is not, places
inside of a line that is huge. `originalCuts` cuts as the original does: search output by file, all else in windows.
"""

from collections.abc import Iterator
from math import ceil

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.config import Config
from context_guard.cuts.kinds import Kind, find_pieces
from context_guard.cuts.long_lines import HUGE, find_stops
from context_guard.cuts.pieces import Piece, Role
from context_guard.cuts.search import group_by_file, name_files
from context_guard.cuts.windows import find_windows


class Chunk(Struct, frozen=True):
    index: int
    start: int
    """First line, from 0, of the output split at newlines."""
    end: int
    """Line after the last one."""
    offset: int
    """Where `text` begins in the output, in characters."""
    text: str
    """A slice of the output; a newline between two chunks belongs to neither."""
    files: tuple[str, ...] = ()
    """Files that a search output, a diff or a compiler names here, in order."""
    joined: bool = False
    """Whether it goes on in the line in which the chunk before it ends: no newline stands between them."""
    role: Role = ""
    continued: bool = False
    """Whether it goes on with the failure of the chunk before it."""

    @property
    def stop(self) -> int:
        """Where `text` ends in the output."""
        return self.offset + len(self.text)


class Cut(Struct, frozen=True):
    """All chunks of one output."""

    entry_id: str
    kind: Kind
    chunks: tuple[Chunk, ...]

    @property
    def is_grep(self) -> bool:
        return self.kind == "search"


def cut_chunks(candidate: Candidate, config: Config) -> Cut:
    text = candidate.text
    lines = text.split("\n")
    target = target_chars(len(text), config)
    kind: Kind
    if config.original_cuts or not config.cut_by_kind:
        kind, pieces = _as_before(lines, target, config)
    else:
        kind, pieces = find_pieces(lines, text, candidate.args, target)
    huge = len(text) if config.original_cuts or not config.cut_by_kind else target * HUGE
    return Cut(entry_id=candidate.entry_id, kind=kind, chunks=tuple(_to_chunks(text, lines, pieces, target, huge)))


def join_chunks(chunks: tuple[Chunk, ...]) -> str:
    """The text that the chunks were cut from."""
    return "".join(chunk.text if chunk.joined or not place else f"\n{chunk.text}" for place, chunk in enumerate(chunks))


def target_chars(length: int, config: Config) -> int:
    """The wanted size of a chunk: `minChunkChars`, more for an output that would have over `maxChunks` of them."""
    wanted = ceil(length / config.max_chunks)
    return min(max(wanted, config.min_chunk_chars), max(config.max_chunk_chars, wanted))


def _as_before(lines: list[str], target: int, config: Config) -> tuple[Kind, list[Piece]]:
    names = name_files(lines, drives=not config.original_cuts)
    if names is not None:
        return "search", group_by_file(lines, names, target)
    return "text", [Piece(*window) for window in find_windows(lines, 0, len(lines), target)]


def _to_chunks(text: str, lines: list[str], pieces: list[Piece], target: int, huge: int) -> Iterator[Chunk]:
    """A chunk a piece; a line of over `huge` characters becomes several, and lines beside it chunks of their own."""
    offset = index = 0
    for piece in pieces:
        length = sum(map(len, lines[piece.start : piece.end])) + piece.end - piece.start - 1
        runs = [(piece.start, piece.end)] if length <= huge else _around_huge(lines, piece, huge)
        for start, end in runs:
            size = length if length <= huge else sum(map(len, lines[start:end])) + end - start - 1
            is_huge = size > huge and end == start + 1
            stops = find_stops(lines[start], target) if is_huge else iter([(size, piece.role)])
            at = 0
            for stop, role in stops:
                yield Chunk(
                    index=index,
                    start=start,
                    end=end,
                    offset=offset + at,
                    text=text[offset + at : offset + stop],
                    files=tuple(dict.fromkeys(piece.files)),
                    joined=at > 0,
                    role=role or piece.role,
                    continued=piece.continued or (piece.role == "failure" and start > piece.start),
                )
                index, at = index + 1, stop
            offset += size + 1


def _around_huge(lines: list[str], piece: Piece, huge: int) -> Iterator[tuple[int, int]]:
    """The piece as runs of lines, each huge line alone."""
    start = piece.start
    for at in range(piece.start, piece.end):
        if len(lines[at]) > huge:
            if start < at:
                yield start, at
            yield at, at + 1
            start = at + 1
    if start < piece.end:
        yield start, piece.end
