"""What a model gets back for the id in a `[context-guard]` note: a page of a raw output or an omitted exchange."""

from collections.abc import Iterator
from math import floor, isfinite
from typing import Any

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.render import recall_hint
from context_guard.span import is_steering
from context_guard.text import MARKER, one_line, plural, shorten, trim, without_lone_surrogates
from context_guard.transcript import Entry, Image, Transcript, calls_of, images_of, text_of

PAGE_LINES = 2_000
PAGE_BYTES = 50 * 1_024
"""Of UTF-8, newlines counted. The note that says how to go on comes on top."""
MAX_IMAGES = 6
MAX_PATTERN = 500
SEARCHED_CHARS = 4_000
"""Of each line, from its start."""


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

    `pattern` (RE2) keeps matching lines, numbered. `offset` and `limit` count lines from 1, of those that match where
    there is a pattern; `column` counts characters from 1 within the line at `offset`. Numbers below 1 count as absent.
    """
    source = _source(transcript, entry_id)
    if source is None:
        named = shorten(one_line(entry_id), 80)
        return Failure(
            RecallError(f'No tool result or omitted exchange with entry id {named}. Use the id from a "{MARKER}" note.')
        )
    raw, images = source
    lines = list(enumerate(without_lone_surrogates(raw).split("\n"), 1))
    plain = not pattern and offset is None and limit is None and column is None
    attached = images[:MAX_IMAGES] if plain else ()
    window = _Window(raw=raw, images=attached, unseen=len(images) - len(attached))
    if not pattern:
        printed = [_Line(number, "", text) for number, text in lines]
        return _page(window, printed, "line", _whole(offset), _whole(limit), _whole(column))
    found = _matching(lines, pattern)
    if isinstance(found, RecallError):
        return Failure(found)
    if not found:
        return Success(window.show([_no_match(lines, pattern)]))
    return _page(window, found, "matching line", _whole(offset), _whole(limit), _whole(column))


class _Line(Struct, frozen=True):
    number: int
    prefix: str
    text: str


class _Window(Struct, frozen=True):
    """What every page of one recall has in common."""

    raw: str
    images: tuple[Image, ...]
    unseen: int
    """Images that this page leaves out."""

    def show(self, parts: list[str], next_offset: int | None = None, next_column: int | None = None) -> Recalled:
        """`parts` are the page and its notes; a blank line goes between."""
        if self.unseen:
            parts = [*parts, f"[{plural(self.unseen, 'image')} not shown]"]
        text = "\n\n".join(parts)
        if not self.raw and self.images:
            text = _attached(len(self.images), len(self.images))
        return Recalled(text=text, raw=self.raw, images=self.images, next_offset=next_offset, next_column=next_column)


def _source(transcript: Transcript, entry_id: str) -> tuple[str, tuple[Image, ...]] | None:
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


def _matching(lines: list[tuple[int, str]], pattern: str) -> list[_Line] | RecallError:
    if len(pattern) > MAX_PATTERN:
        return RecallError(f"Pattern is longer than {MAX_PATTERN} characters; use a shorter one.")
    import re2  # only here: most recalls have no pattern

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Any = re2.compile(pattern.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        return RecallError(
            f"Invalid pattern: {one_line(reason)}. It is a RE2 regular expression, without look-around and "
            "back-references; put a \\ before characters that are meant as they are."
        )
    return [
        _Line(number, f"{number}: ", line) for number, line in lines if compiled.search(line[:SEARCHED_CHARS].encode())
    ]


def _no_match(lines: list[tuple[int, str]], pattern: str) -> str:
    hints = ["(?i) in front of the pattern ignores case."]
    if any(len(line) > SEARCHED_CHARS for _, line in lines):
        hints.append(
            f"Only the first {SEARCHED_CHARS:,} characters of a line are searched, and some are longer: "
            "read those by offset and column."
        )
    shown = without_lone_surrogates(pattern)
    return f"No line of the original output ({plural(len(lines), 'line')}) matches /{shown}/. {' '.join(hints)}"


def _page(
    window: _Window, lines: list[_Line], noun: str, offset: int | None, limit: int | None, column: int | None
) -> Result[Recalled, RecallError]:
    start = offset or 1
    total = len(lines)
    if start > total:
        last = "Use offset=1." if total == 1 else f"Use an offset from 1 to {total}."
        return Failure(RecallError(f"Offset {start} is beyond the end ({plural(total, noun)}). {last}"))
    first = lines[start - 1]
    skip = (column or 1) - 1
    if skip and skip >= len(first.text):
        return Failure(
            RecallError(
                f"Column {skip + 1} is beyond the end of line {first.number} "
                f"({plural(len(first.text), 'character')}). Use offset={start} without a column."
            )
        )
    end = min(total, start - 1 + min(limit or PAGE_LINES, PAGE_LINES))
    page: list[str] = []
    size = 0
    for line in lines[start - 1 : end]:
        shown = line.prefix + (line.text if page else line.text[skip:])
        size += len(shown.encode()) + 1
        if size > PAGE_BYTES and page:
            break
        if size > PAGE_BYTES:
            return Success(_cut_line(window, line, f"{plural(total, noun)}", start, skip))
        page.append(shown)
    stop = start - 1 + len(page)
    text = "\n".join(page)
    if stop == total:
        return Success(window.show([text]))
    note = f"[Showing {noun}s {start}–{stop} of {total}. Use offset={stop + 1} to continue.]"
    return Success(window.show([text, note], next_offset=stop + 1))


def _cut_line(window: _Window, line: _Line, total: str, start: int, skip: int) -> Recalled:
    """A page that is one part of a line too long for it."""
    mark = f"[line {line.number} cut at {PAGE_BYTES // 1_024}KB]"
    room = PAGE_BYTES - len(line.prefix) - len(mark) - 2
    part = line.text[skip : skip + room].encode()[:room].decode("utf-8", "ignore")
    stop = skip + len(part)
    note = (
        f"[Showing characters {skip + 1}–{stop} of {len(line.text)} of line {line.number}; {total} in all. "
        f"Use offset={start} and column={stop + 1} to continue.]"
    )
    return window.show([f"{line.prefix}{part}\n{mark}", note], next_offset=start, next_column=stop + 1)


def _whole(value: float | None) -> int | None:
    """A number as models give it: fractions go down, what is below 1 counts as absent."""
    return floor(value) if value is not None and isfinite(value) and value >= 1 else None
