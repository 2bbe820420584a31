"""What of an output stays and what goes, as stretches of its text in order: slices to copy, gaps to tell about."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from context_guard.chunks import Chunk, Cut

Why = Literal["", "repeated", "blank", "passed"]


class Trim(Struct, frozen=True):
    """Lines inside a kept chunk that add nothing."""

    start: int
    """First line, from 0, of the output."""
    end: int
    why: Why


class Stretch(Struct, frozen=True):
    start: int
    """First line, from 0, of the output."""
    end: int
    """Line after the last one."""
    offset: int
    stop: int
    """Where it begins and ends in the output, in characters; a newline around it is not part of it."""
    kept: bool
    joined: bool = False
    """Whether it begins inside the line in which the stretch before it ends."""
    why: Why = ""
    chunks: tuple[int, ...] = ()
    """The dropped chunks of a gap; none for lines of a kept chunk."""


def find_stretches(cut: Cut, kept: frozenset[int], trims: tuple[Trim, ...], notice: int) -> list[Stretch]:
    """Every line is in one; `notice` is the first of the closing lines that stay, the line count for none."""
    found: list[Stretch] = []
    for chunk in cut.chunks:
        if chunk.index in kept:
            found += _pieces(chunk, [trim for trim in trims if chunk.start <= trim.start < chunk.end])
        elif found and not found[-1].kept and not found[-1].why:
            last = found[-1]
            chunks = (*last.chunks, chunk.index)
            found[-1] = Stretch(
                last.start, chunk.end, last.offset, chunk.stop, False, last.joined, "", chunks
            )
        else:
            found.append(
                Stretch(chunk.start, chunk.end, chunk.offset, chunk.stop, False, chunk.joined, "", (chunk.index,))
            )
    return _with_notice(cut, found, notice)


def _pieces(chunk: Chunk, trims: list[Trim]) -> Iterator[Stretch]:
    """A kept chunk as slices with gaps between them."""
    if not trims:
        yield Stretch(chunk.start, chunk.end, chunk.offset, chunk.stop, True, chunk.joined)
        return
    lines = chunk.text.split("\n")
    start, offset = chunk.start, chunk.offset
    marks = [(trim.start, trim.end, trim.why) for trim in trims]
    cuts: list[tuple[int, bool, Why]] = []
    for first, last, why in marks:
        if first > start:
            cuts.append((first, True, ""))
        cuts.append((last, False, why))
        start = last
    if start < chunk.end:
        cuts.append((chunk.end, True, ""))
    start = chunk.start
    for end, stays, why in cuts:
        size = sum(map(len, lines[start - chunk.start : end - chunk.start])) + end - start - 1
        joined = chunk.joined and start == chunk.start
        yield Stretch(start, end, offset, offset + size, stays, joined, why)
        start, offset = end, offset + size + 1


def _with_notice(cut: Cut, found: list[Stretch], notice: int) -> list[Stretch]:
    """The stretches with the closing notice of a gap at the end as a slice of its own."""
    last = found[-1]
    if last.kept or notice >= last.end:
        return found
    closing = max(notice, last.start + last.joined)
    text = "\n".join(cut.chunks[index].text for index in last.chunks if cut.chunks[index].end > closing)
    tail = text.split("\n")[closing - last.end :] if closing < last.end else []
    if not tail:
        return found
    offset = last.stop - sum(map(len, tail)) - len(tail) + 1
    slice_ = Stretch(closing, last.end, offset, last.stop, True)
    if closing == last.start:
        return [*found[:-1], slice_]
    gap = Stretch(last.start, closing, last.offset, offset - 1, False, last.joined, "", last.chunks)
    return [*found[:-1], gap, slice_]
