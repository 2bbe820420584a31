"""What a model gets back for the id in a `[context-guard]` note: a page of a raw output or an omitted exchange."""

from collections.abc import Iterator
from math import floor, isfinite
from typing import Any

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.pages import Line, Page, Window, cut_page
from context_guard.runs import is_steering
from context_guard.text import MARKER, one_line, plural, recall_hint, shorten, trim, without_lone_surrogates
from context_guard.transcript import Entry, Image, Transcript, calls_of, images_of, text_of

MAX_IMAGES = 6
MAX_PATTERN = 500
LONG_LINE = 4_000
"""Characters from which on only the surroundings of a match are shown."""
AROUND = 200
"""Characters shown on each side of such a match."""


class RecallError(Struct, frozen=True):
    message: str
    """For the model: what was wrong and what to do next."""


class Recalled(Struct, frozen=True):
    text: str
    """The page asked for, with a note where more is to come; no lone surrogates."""
    raw: str
    """All of it, exactly as the host has it."""
    images: tuple[Image, ...] = ()
    """To attach after the text."""
    next_offset: int | None = None
    """With `next_column`, where the next page begins; None on the last one."""
    next_column: int | None = None


def recall(
    transcript: Transcript,
    entry_id: str,
    pattern: str | None = None,
    offset: float | None = None,
    limit: float | None = None,
    column: float | None = None,
) -> Result[Recalled, RecallError]:
    """A tool result's raw text, or the transcript of the exchange that the prompt `entry_id` began.

    `pattern` (RE2) keeps matching lines, numbered; of very long ones the surroundings of each match, with its column.
    `offset` and `limit` count lines from 1, of those that match where there is a pattern; `column` counts characters
    from 1 within the line at `offset`. Numbers below 1 count as absent.
    """
    source = source_of(transcript, entry_id)
    if source is None:
        named = without_lone_surrogates(shorten(one_line(entry_id), 80))
        return Failure(
            RecallError(f'No tool result or omitted exchange with entry id {named}. Use the id from a "{MARKER}" note.')
        )
    raw, images = source
    window = Window(offset=_whole(offset), limit=_whole(limit), column=_whole(column))
    lines = list(enumerate(without_lone_surrogates(raw).split("\n"), 1))
    plain = not pattern and offset is None and limit is None and column is None
    attached = images[:MAX_IMAGES] if plain else ()
    page = _matches(lines, pattern, window) if pattern else cut_page(_plain(lines), "line", window)
    if isinstance(page, str):
        return Failure(RecallError(page))
    parts = [page.text or _attached(len(attached), len(attached))] if attached else [page.text]
    if len(images) > len(attached):
        parts.append(f"[{plural(len(images) - len(attached), 'image')} not shown]")
    return Success(
        Recalled(
            text="\n\n".join(parts),
            raw=raw,
            images=attached,
            next_offset=page.next_offset,
            next_column=page.next_column,
        )
    )


def source_of(transcript: Transcript, entry_id: str) -> tuple[str, tuple[Image, ...]] | None:
    """The raw text behind an id, and the images that belong to it."""
    place = next((i for i, entry in enumerate(transcript.entries) if entry.id == entry_id), None)
    if place is None:
        return None
    entry = transcript.entries[place]
    if entry.role == "tool":
        return text_of(entry.raw), images_of(entry.raw)
    if entry.role == "user":
        return _exchange(_members(transcript, place))
    return None


def _members(transcript: Transcript, place: int) -> tuple[Entry, ...]:
    """The prompt and what was omitted with it; without a record of that, all up to the next prompt."""
    entries = transcript.entries
    prompt = entries[place].id
    for stored in reversed(transcript.records):
        for result in reversed(stored.record.results):
            if result.entry_id == prompt and result.kind == "exchange" and result.omitted is not None:
                members = {prompt, *result.omitted}
                return tuple(entry for entry in entries if entry.id in members)
    raw = tuple(msgspec.structs.replace(entry, visible=entry.raw) for entry in entries)
    end = next(
        (i for i in range(place + 1, len(raw)) if raw[i].role == "user" and not is_steering(raw, i)), len(entries)
    )
    return entries[place:end]


def _exchange(entries: tuple[Entry, ...]) -> tuple[str, tuple[Image, ...]]:
    """The exchange as a text. No thinking; images of prompts come along, those of tools have an id of their own."""
    sections: list[str] = []
    images: list[Image] = []
    for entry in entries:
        found = images_of(entry.raw)
        match entry.role:
            case "user":
                sections += ["## user", *_text_and(found, attached=MAX_IMAGES - len(images), entry=entry)]
                images += found[: MAX_IMAGES - len(images)]
            case "assistant":
                sections += _assistant(entry)
            case "tool":
                name = entry.raw_result.name if entry.raw_result else ""
                sections += [f"## tool result ({one_line(name) or 'tool'})", text_of(entry.raw)]
                if found:
                    sections.append(f"[{plural(len(found), 'image')}. {recall_hint('To see', entry.id)}]")
            case "note":
                sections += [f"## custom message ({one_line(entry.kind)})", text_of(entry.raw)]
            case _:
                pass
    return "\n".join(sections), tuple(images)


def _text_and(images: tuple[Image, ...], attached: int, entry: Entry) -> Iterator[str]:
    yield text_of(entry.raw)
    if images:
        yield _attached(len(images), min(attached, len(images)))


def _attached(count: int, attached: int) -> str:
    return f"[{plural(count, 'image')}, {'' if attached == count else f'{attached} '}attached below]"


def _assistant(entry: Entry) -> list[str]:
    text = text_of(entry.raw)
    calls = [f"[tool call] {one_line(call.name)} {call.args or '{}'}" for call in calls_of(entry.raw)]
    said = [text] if trim(text) else []
    return ["## assistant", *said, *calls] if said or calls else []


def _plain(lines: list[tuple[int, str]]) -> list[Line]:
    return [Line(number, text) for number, text in lines]


def _matches(lines: list[tuple[int, str]], pattern: str, window: Window) -> Page | str:
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


def _whole(value: float | None) -> int | None:
    """A number as models give it: fractions go down, what is below 1 counts as absent."""
    return floor(value) if value is not None and isfinite(value) and value >= 1 else None
