"""The lines of a text that match a pattern, in pages; of very long ones the surroundings of each match."""

from collections.abc import Iterator
from typing import Any

import msgspec

from context_guard.pages import Line, Page, Window, cut_page
from context_guard.text import one_line, plural, without_lone_surrogates

MAX_PATTERN = 500
LONG_LINE = 4_000
"""Characters from which on only the surroundings of a match are shown."""
AROUND = 200
"""Characters shown on each side of such a match."""


def find_matches(lines: list[tuple[int, str]], pattern: str, window: Window) -> Page | str:
    """A page of the lines that match, each with its number in front, or why there is none."""
    if len(pattern) > MAX_PATTERN:
        return f"Pattern is longer than {MAX_PATTERN} characters; use a shorter one."
    import re2  # only here: most recalls have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Any = re2.compile(without_lone_surrogates(pattern), options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        return (
            f"Invalid pattern: {one_line(reason)}. It is a RE2 regular expression, without look-around and "
            "back-references; put a \\ before characters that are meant as they are."
        )
    found = [hit for number, text in lines for hit in _hits(number, text, compiled)]
    if not found:
        return Page(_no_match(lines, pattern))
    page = cut_page(found, "hit" if any(hit.excerpt for hit in found) else "matching line", window)
    return page if isinstance(page, str) else _with_note(page, found, window)


def _hits(number: int, text: str, compiled: Any) -> Iterator[Line]:
    """The line when it matches; of a very long one each match that the excerpts before it do not show."""
    if len(text) < LONG_LINE:
        if compiled.search(text):
            yield Line(number, text, prefix=f"{number}: ")
        return
    for start, end in _spread(text, compiled):
        first, last = max(0, start - AROUND), min(len(text), end + AROUND)
        excerpt = f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"
        yield Line(number, text, prefix=f"{number}: ", excerpt=f"[column {start + 1}] {excerpt}")


def _spread(text: str, compiled: Any) -> Iterator[tuple[int, int]]:
    """Start and end of the matches, those left out that begin in the surroundings of the one before.

    In UTF-8, since the library encodes a `str` anew for each search.
    """
    data = text.encode()
    at = seen = 0
    while at <= len(data) and (match := compiled.search(data, at)) is not None:
        start = seen + len(data[at : match.start()].decode("utf-8", "ignore"))
        end = min(start + len(match.group().decode("utf-8", "ignore")), start + LONG_LINE)
        yield start, end
        after = text[start : end + AROUND]
        seen = start + len(after)
        at = match.start() + len(after.encode())
        if not after:
            return


def _with_note(page: Page, found: list[Line], window: Window) -> Page:
    """With a word on how to read on around the first match of a very long line, where the page shows one."""
    start = (window.offset or 1) - 1 + (window.column is not None)
    stop = (page.next_offset or len(found) + 1) - 1
    first = next((hit for hit in found[start:stop] if hit.excerpt), None)
    if first is None:
        return page
    column = first.excerpt.partition("]")[0].removeprefix("[column ")
    note = (
        f"[Line {first.number} has {len(first.text):,} characters; {AROUND} around each match are shown. "
        f"To read on there use offset={first.number} and column={column} without a pattern.]"
    )
    return msgspec.structs.replace(page, text=f"{page.text}\n\n{note}")


def _no_match(lines: list[tuple[int, str]], pattern: str) -> str:
    shown = without_lone_surrogates(pattern)
    return (
        f"No line of the original output ({plural(len(lines), 'line')}) matches /{shown}/. "
        "(?i) in front of the pattern ignores case."
    )
