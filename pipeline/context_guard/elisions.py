"""Parts inside of kept chunks that nobody reads: encoded data, and what a line showed before it was overwritten.

Only where the judge answered, since it has not seen them either; data that the answer or a later call repeats stays.
"""

from collections.abc import Iterator

from context_guard.chunks import Chunk, Cut
from context_guard.cuts.encoded import find_blobs, find_wrapped, media_type
from context_guard.gaps import Elision
from context_guard.readable import last_state
from context_guard.trims import MIN_CHARS

_HEAD = 40
"""Characters by which data is known again."""


def find_elisions(text: str, cut: Cut, chunks: list[int]) -> tuple[Elision, ...]:
    """In the given chunks of an output, in order and apart from each other."""
    found = [elision for index in chunks for elision in _overwritten(cut.chunks[index])]
    for start, stop in _data(text):
        media = media_type(text, start, stop)
        for index in chunks:
            first, last = max(start, cut.chunks[index].offset), min(stop, cut.chunks[index].stop)
            if last - first >= MIN_CHARS:
                found.append(Elision(first, last, "data", media))
    apart: list[Elision] = []
    for elision in sorted(found, key=lambda it: it.start):
        if not apart or elision.start >= apart[-1].stop:
            apart.append(elision)
    return tuple(apart)


def repeated_data(text: str, cut: Cut, told: str) -> Iterator[int]:
    """The chunks with data that is repeated in what the agent said or did."""
    for start, stop in _data(text):
        if text[start : start + 2 * _HEAD].strip()[:_HEAD] in told:
            yield from (chunk.index for chunk in cut.chunks if chunk.offset < stop and start < chunk.stop)


def _data(text: str) -> list[tuple[int, int]]:
    return sorted({*find_blobs(text), *find_wrapped(text)})


def _overwritten(chunk: Chunk) -> Iterator[Elision]:
    if "\r" not in chunk.text and "\x1b[" not in chunk.text:
        return
    at = chunk.offset
    for line in chunk.text.split("\n"):
        start, _ = last_state(line)
        if start >= MIN_CHARS:
            yield Elision(at, at + start, "overwritten")
        at += len(line) + 1
