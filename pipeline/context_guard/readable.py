"""A text as a judge should read it: no escapes, the last state of what was overwritten, encoded data by its size.

It has the same lines as the text, in the same places, so that line numbers hold for both. What is kept is never taken
from here.
"""

import re
from collections.abc import Iterator

from context_guard.cuts.encoded import BLOB_CHARS, find_blobs, find_wrapped
from context_guard.signs import ANSI

_BEGUN = re.compile(r"\r|\x1b\[(?:[12]K|1?G)")
"""A line erased or begun anew: what follows takes the place of what was there."""


def readable(text: str) -> str:
    if "\x1b" in text or "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    if len(text) >= BLOB_CHARS:
        text = "".join(_without_lines("".join(_without_blobs(text))))
    return text


def _without_blobs(text: str) -> Iterator[str]:
    start = 0
    for first, last in find_blobs(text):
        yield f"{text[start:first]}[… encoded data, {last - first:,} characters …]"
        start = last
    yield text[start:]


def last_state(line: str) -> tuple[int, int]:
    """Where what is left of an overwritten line begins and ends: its last state with something in it."""
    start, found = 0, (0, 0)
    for stop, after in [*(it.span() for it in _BEGUN.finditer(line)), (len(line), len(line))]:
        if ANSI.sub("", line[start:stop]).strip():
            found = start, stop
        start = after
    return found


def _last_state(line: str) -> str:
    start, stop = last_state(line)
    return ANSI.sub("", line[start:stop]) if "\x1b" in line or "\r" in line else line


def _without_lines(text: str) -> Iterator[str]:
    """A note on the first line; the others are left blank, so that the lines keep their numbers."""
    start = 0
    for first, last in find_wrapped(text):
        breaks = text.count("\n", first, last)
        yield f"{text[start:first]}[… encoded data, {breaks + 1} lines …]" + "\n" * breaks
        start = last
    yield text[start:]
