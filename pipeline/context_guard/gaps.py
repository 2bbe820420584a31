"""What of an output stays and what goes, as stretches of its text in order: slices to copy, gaps to tell about."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from context_guard.chunks import Chunk, Cut

Why = Literal["", "repeated", "blank", "passed", "progress", "overwritten", "data"]


class Trim(Struct, frozen=True):
    """Lines inside a kept chunk that add nothing."""

    start: int
    """First line, from 0, of the output."""
    end: int
    why: Why


class Elision(Struct, frozen=True):
    """A part of a kept chunk that is told about instead of shown, by its place in the output, in characters."""

    start: int
    stop: int
    why: Why
    media: str = ""
    """Of encoded data, where its type is known."""


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
    media: str = ""
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


def elide(text: str, stretches: list[Stretch], elisions: tuple[Elision, ...]) -> list[Stretch]:
    """The same with the elided parts of what is kept as gaps."""
    if not elisions:
        return stretches
    found: list[Stretch] = []
    for each in stretches:
        own = [_within(it, each) for it in elisions if each.kept and it.start < each.stop and each.offset < it.stop]
        found += _elided(text, each, own) if own else [each]
    return found


def _within(elision: Elision, each: Stretch) -> Elision:
    return msgspec.structs.replace(elision, start=max(elision.start, each.offset), stop=min(elision.stop, each.stop))


def show_lines(text: str, stretches: list[Stretch], cut: Cut, lines: frozenset[int]) -> list[Stretch]:
    """The same with some lines of the gaps shown."""
    found: list[Stretch] = []
    for each in stretches:
        own = sorted(line for line in lines if each.start <= line < each.end)
        is_whole = not (each.kept or each.joined or each.why or text[each.stop : each.stop + 1] not in ("", "\n"))
        found += _with_lines(text, each, cut, own) if own and is_whole else [each]
    return found


def _elided(text: str, whole: Stretch, elisions: list[Elision]) -> Iterator[Stretch]:
    at = whole.offset
    line = whole.start
    joined = whole.joined
    for it in elisions:
        opens = it.start == 0 or text[it.start - 1] == "\n"
        closes = it.stop == len(text) or text[it.stop] == "\n"
        if it.start > at:
            stop = it.start - opens
            last = line + text.count("\n", at, stop)
            yield msgspec.structs.replace(whole, start=line, end=last + 1, offset=at, stop=stop, joined=joined)
            line = last + opens
        last = line + text.count("\n", it.start, it.stop)
        yield msgspec.structs.replace(
            whole,
            start=line,
            end=last + 1,
            offset=it.start,
            stop=it.stop,
            kept=False,
            joined=not opens,
            why=it.why,
            media=it.media,
        )
        at, joined = it.stop + closes, not closes
        line = last + closes
    if at < whole.stop or (at == whole.stop and not joined):
        yield msgspec.structs.replace(whole, start=line, offset=at, joined=joined)


def _with_lines(text: str, gap: Stretch, cut: Cut, lines: list[int]) -> Iterator[Stretch]:
    line, at = gap.start, gap.offset
    for number in [*lines, gap.end]:
        begins = at
        for _ in range(number - line):
            begins = text.find("\n", begins) + 1 or len(text) + 1
        if number > line:
            first = next(chunk.index for chunk in cut.chunks if chunk.end > line)
            last = next((chunk.index for chunk in cut.chunks if chunk.start >= number), len(cut.chunks))
            yield msgspec.structs.replace(
                gap, start=line, end=number, offset=at, stop=begins - 1, first=first, last=last
            )
        if number < gap.end:
            stop = text.find("\n", begins)
            stop = len(text) if stop < 0 else stop
            yield msgspec.structs.replace(gap, start=number, end=number + 1, offset=begins, stop=stop, kept=True)
            line, at = number + 1, stop + 1
