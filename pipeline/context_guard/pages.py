"""A text in pages that a model can hold, each with a note on how to get the next one, inside a long line too."""

from msgspec import Struct

from context_guard.text import plural

PAGE_LINES = 2_000
PAGE_BYTES = 50 * 1_024
"""Of UTF-8, newlines counted. The note that says how to go on comes on top."""


class Line(Struct, frozen=True):
    number: int
    """In the whole text, from 1."""
    text: str
    """Without lone surrogates."""
    prefix: str = ""
    excerpt: str = ""
    """Shown in place of a text that is very long, unless a column of it is asked for."""


class Window(Struct, frozen=True):
    """What of the lines is wanted; all numbers count from 1."""

    offset: int | None = None
    limit: int | None = None
    column: int | None = None
    """First character within the line at `offset`."""


class Page(Struct, frozen=True):
    text: str
    next_offset: int | None = None
    """With `next_column`, where the next page begins; None on the last one."""
    next_column: int | None = None


def cut_page(lines: list[Line], noun: str, window: Window) -> Page | str:
    """The page at the window, or in a sentence why there is none. `noun` is what the lines are called."""
    start, skip = window.offset or 1, (window.column or 1) - 1
    total = len(lines)
    if start > total:
        last = "Use offset=1." if total == 1 else f"Use an offset from 1 to {total}."
        return f"Offset {start} is beyond the end ({plural(total, noun)}). {last}"
    first = lines[start - 1]
    if skip and skip >= len(first.text):
        return (
            f"Column {skip + 1} is beyond the end of line {first.number} "
            f"({plural(len(first.text), 'character')}). Use offset={start} without a column."
        )
    shown: list[str] = []
    size = 0
    for line in lines[start - 1 : start - 1 + min(window.limit or PAGE_LINES, PAGE_LINES)]:
        printed = line.prefix + _shown(line, None if shown else window.column)
        size += len(printed.encode()) + 1
        if size > PAGE_BYTES:
            break
        shown.append(printed)
    if not shown:
        return _part(first, plural(total, noun), start, skip)
    stop = start - 1 + len(shown)
    text = "\n".join(shown)
    if stop == total:
        return Page(text)
    note = f"[Showing {noun}s {start}–{stop} of {total}. Use offset={stop + 1} to continue.]"
    return Page(f"{text}\n\n{note}", next_offset=stop + 1)


def _shown(line: Line, column: int | None) -> str:
    return line.text[column - 1 :] if column is not None else line.excerpt or line.text


def _part(line: Line, total: str, start: int, skip: int) -> Page:
    """A page that is one part of a line too long for it."""
    mark = f"[line {line.number} cut at {PAGE_BYTES // 1_024}KB]"
    room = PAGE_BYTES - len(line.prefix) - len(mark) - 2
    part = line.text[skip : skip + room].encode()[:room].decode("utf-8", "ignore")
    stop = skip + len(part)
    note = (
        f"[Showing characters {skip + 1}–{stop} of {len(line.text)} of line {line.number}; {total} in all. "
        f"Use offset={start} and column={stop + 1} to continue.]"
    )
    return Page(f"{line.prefix}{part}\n{mark}\n\n{note}", next_offset=start, next_column=stop + 1)
