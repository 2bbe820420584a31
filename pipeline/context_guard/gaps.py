"""What of an output stays and what goes, as stretches of its text in order: slices to copy, gaps to tell about."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
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
    first: int = 0
    """The first of the dropped chunks of a gap."""
    last: int = 0
    """The chunk after the last of them."""


def whole_stretch(cut: Cut) -> Stretch:
    """The gap that an output leaves of which nothing stays."""
    end = cut.chunks[-1]
    return Stretch(start=0, end=end.end, offset=0, stop=end.stop, kept=False, last=len(cut.chunks))


def find_stretches(
    text: str, cut: Cut, kept: frozenset[int], trims: Mapping[int, tuple[Trim, ...]], notice: int
) -> list[Stretch]:
    """Every line is in one; `trims` by chunk; `notice` is the first of the closing lines that stay in any case.

    A gap is either whole lines or a part of one line of which another part stays.
    """
    found: list[Stretch] = []
    gap: Stretch | None = None
    torn = _torn_lines(cut, kept)
    for chunk in cut.chunks:
        if gap is not None and (chunk.index in kept or _line_of(chunk, torn) != _line_of(gap, torn)):
            found.append(gap)
            gap = None
        if chunk.index in kept:
            found += _pieces(chunk, trims.get(chunk.index, ()))
        else:
            gap = _stretch(chunk, False) if gap is None else _up_to(gap, chunk)
    if gap is not None:
        found += [gap] if _line_of(gap, torn) >= 0 else _with_notice(text, gap, notice)
    return found


def _torn_lines(cut: Cut, kept: frozenset[int]) -> frozenset[int]:
    """The lines of which a part stays and a part goes."""
    inside = {chunk.start for chunk in cut.chunks if chunk.joined}
    stays = {chunk.start for chunk in cut.chunks if chunk.start in inside and chunk.index in kept}
    return frozenset(chunk.start for chunk in cut.chunks if chunk.start in stays and chunk.index not in kept)


def _line_of(part: Chunk | Stretch, torn: frozenset[int]) -> int:
    """The torn line that it is a part of; -1 for whole lines."""
    return part.start if part.start in torn else -1


def _stretch(chunk: Chunk, kept: bool) -> Stretch:
    return Stretch(
        start=chunk.start,
        end=chunk.end,
        offset=chunk.offset,
        stop=chunk.stop,
        kept=kept,
        joined=chunk.joined,
        first=chunk.index,
        last=chunk.index + 1,
    )


def _up_to(gap: Stretch, chunk: Chunk) -> Stretch:
    return msgspec.structs.replace(gap, end=chunk.end, stop=chunk.stop, last=chunk.index + 1)


def _pieces(chunk: Chunk, trims: tuple[Trim, ...]) -> Iterator[Stretch]:
    """A kept chunk as slices with gaps between them."""
    whole = _stretch(chunk, True)
    if not trims:
        yield whole
        return
    lines = chunk.text.split("\n")
    at, offset = chunk.start, chunk.offset
    bounds: list[tuple[int, bool, Why]] = []
    for trim in trims:
        bounds += [(trim.start, True, ""), (trim.end, False, trim.why)]
    for end, stays, why in [*bounds, (chunk.end, True, "")]:
        if end == at:
            continue
        stop = offset + sum(map(len, lines[at - chunk.start : end - chunk.start])) + end - at - 1
        joined = chunk.joined and at == chunk.start
        yield msgspec.structs.replace(
            whole, start=at, end=end, offset=offset, stop=stop, kept=stays, joined=joined, why=why
        )
        at, offset = end, stop + 1


def _with_notice(text: str, gap: Stretch, notice: int) -> list[Stretch]:
    """A gap at the end, and the closing notice as a slice behind it."""
    closing = max(notice, gap.start)
    if closing >= gap.end:
        return [gap]
    offset = len(text)
    for _ in range(gap.end - closing):
        offset = text.rfind("\n", 0, offset)
    slice_ = msgspec.structs.replace(gap, start=closing, offset=offset + 1, kept=True, joined=False)
    if closing == gap.start:
        return [slice_]
    return [msgspec.structs.replace(gap, end=closing, stop=offset), slice_]
