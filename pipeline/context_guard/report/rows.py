"""An output piece by piece: what it says, what the judge said about it, and what the model reads in its place."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from context_guard.candidates import Candidate
from context_guard.chunks import Chunk, Cut
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.gaps import Stretch
from context_guard.omissions import omission_line
from context_guard.requests import chunk_id
from context_guard.votes import SegmentVote

MOST_CHARS = 40_000
"""Of one piece on a page; a browser lays out a longer text slowly. What is in its middle is told by its size."""


class Row(Struct, frozen=True, rename="camel", omit_defaults=True):
    text: str
    kept: bool
    hidden: int = 0
    """Characters that the page leaves out between `text` and `tail`."""
    tail: str = ""
    first: int = 0
    """Lines, counted from 1; 0 where lines say nothing."""
    last: int = 0
    chunk: str = ""
    probability: float | None = None
    note: str = ""
    """What the model reads in place of this piece and of those after it that do not stay either."""


def to_row(text: str, kept: bool, note: str = "") -> Row:
    """A piece, its middle left out where it is too long for a page."""
    if len(text) <= MOST_CHARS:
        return Row(text=text, kept=kept, note=note)
    half = MOST_CHARS // 2
    return Row(text=text[:half], tail=text[-half:], hidden=len(text) - 2 * half, kept=kept, note=note)


def find_rows(candidate: Candidate, cut: Cut, decision: Decision, config: Config) -> Iterator[Row]:
    """All of a large output, in order: chunks, in smaller pieces where only a part of one stays."""
    if decision.replacement is None:
        for chunk in cut.chunks:
            yield _row(candidate.text, chunk, chunk.offset, chunk.stop, True, "")
        return
    for stretch in decision.stretches:
        note = "" if stretch.kept or not decision.kept_lines else omission_line(candidate, cut, stretch, config)
        for chunk, start, stop in _parts(cut, stretch):
            yield _row(candidate.text, chunk, start, stop, stretch.kept, note)
            note = ""


def with_votes(rows: tuple[Row, ...], segments: tuple[SegmentVote, ...]) -> tuple[Row, ...]:
    """The rows with the probability of their chunks."""
    said = {chunk.id: chunk.probability for segment in segments for chunk in segment.chunks}
    return tuple(replace(row, probability=said.get(row.chunk)) for row in rows)


def _parts(cut: Cut, stretch: Stretch) -> Iterator[tuple[Chunk, int, int]]:
    """A stretch by chunks; one without characters, an empty line, is in the first chunk that has its place."""
    found = False
    for chunk in cut.chunks:
        start, stop = max(stretch.offset, chunk.offset), min(stretch.stop, chunk.stop)
        is_empty_line = start == stop and (chunk.offset == chunk.stop or (stretch.offset == stretch.stop and not found))
        if start < stop or is_empty_line:
            found = True
            yield chunk, start, stop


def _row(text: str, chunk: Chunk, start: int, stop: int, kept: bool, note: str) -> Row:
    before = chunk.start + 1 + text.count("\n", chunk.offset, start)
    return replace(
        to_row(text[start:stop], kept, note),
        first=before,
        last=before + text.count("\n", start, stop),
        chunk=chunk_id(chunk.index),
    )
