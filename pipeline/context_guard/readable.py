"""A text as a judge should read it: no escapes, the last state of what was overwritten, encoded data by its size.

It has the same lines as the text, in the same places, so that line numbers hold for both. What is kept is never taken
from here.
"""

import re
from collections.abc import Iterator

from context_guard.cuts.long_lines import BLOB_CHARS, find_blobs
from context_guard.signs import ANSI

_ERASED = re.compile(r"\x1b\[(?:[12]K|1?G)")
"""A line erased or begun anew: what follows takes the place of what was there."""
_WRAPPED = re.compile(r"(?m)^([ \t>]{0,8})[A-Za-z0-9+/]{60,80}\n(?:\1[A-Za-z0-9+/]{60,80}\n){6,}")


def readable(text: str) -> str:
    if "\x1b" in text or "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    if len(text) >= BLOB_CHARS:
        text = _WRAPPED.sub(_without_lines, "".join(_without_blobs(text)))
    return text


def _without_blobs(text: str) -> Iterator[str]:
    start = 0
    for first, last in find_blobs(text):
        yield f"{text[start:first]}[… encoded data, {last - first:,} characters …]"
        start = last
    yield text[start:]


def _last_state(line: str) -> str:
    if "\x1b" in line:
        line = ANSI.sub("", _ERASED.sub("\r", line))
    if "\r" not in line:
        return line
    return next((state for state in reversed(line.split("\r")) if state.strip()), "")


def _without_lines(found: re.Match[str]) -> str:
    """A note on the first line; the others are left blank, so that the lines keep their numbers."""
    return f"[… encoded data, {found[0].count(chr(10))} lines …]" + "\n" * found[0].count("\n")
