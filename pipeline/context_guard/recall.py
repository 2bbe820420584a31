"""What a model gets back for the id in a `[context-guard]` note: a page of a raw output or an omitted exchange."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import floor, isfinite
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.edit_log import RawImage, RawOutput
from context_guard.matches import find_matches
from context_guard.pages import Line, Window, cut_page
from context_guard.runs import is_steering
from context_guard.text import MARKER, RECALL, one_line, plural, recall_hint, shorten, trim, without_lone_surrogates
from context_guard.transcript import Entry, Image, Transcript, calls_of, images_of, text_of

MAX_IMAGES = 6
LARGEST = 2**31
"""More than any output has lines or characters."""
"""Attached to one answer."""

Picture = TypeVar("Picture")


class RecallError(Struct, frozen=True):
    message: str
    """For the model: what was wrong and what to do next."""


class Recalled(Struct, Generic[Picture], frozen=True):
    text: str
    """The page asked for, with a note where more is to come; no lone surrogates."""
    raw: str
    """All of it, exactly as the host has it."""
    images: tuple[Picture, ...] = ()
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
) -> Result[Recalled[Image], RecallError]:
    """A tool result's raw text, or the transcript of the exchange that the prompt `entry_id` began.

    `pattern` (RE2) keeps matching lines, numbered; of very long ones the surroundings of each match, with its column.
    `offset` and `limit` count lines from 1, of those that match where there is a pattern; `column` counts characters
    from 1 within the line at `offset`. Numbers below 1 count as absent.
    """
    source = source_of(transcript, entry_id)
    if source is None:
        return Failure(unknown(entry_id))
    return _page(*source, pattern, offset, limit, column)


def recall_output(
    output: RawOutput,
    pattern: str | None = None,
    offset: float | None = None,
    limit: float | None = None,
    column: float | None = None,
) -> Result[Recalled[RawImage], RecallError]:
    """As `recall`, of an output that a host keeps beside its messages."""
    return _page(output.text, output.images, pattern, offset, limit, column)


def unknown(entry_id: str) -> RecallError:
    """What a model is told about an id that stands for nothing."""
    named = without_lone_surrogates(shorten(one_line(entry_id), 80))
    return RecallError(f'No tool result or omitted exchange with entry id {named}. Use the id from a "{MARKER}" note.')


def expired(entry_id: str, at: int) -> RecallError:
    """What a model is told about an output that is no longer kept. `at`: milliseconds since the epoch."""
    named = without_lone_surrogates(shorten(one_line(entry_id), 80))
    day = datetime(1970, 1, 1) + timedelta(milliseconds=at)
    return RecallError(
        f"The original of {named} is no longer kept: it was deleted on {day:%Y-%m-%d}, as the user's rules for old "
        "outputs say. If you need it, run the tool again."
    )


def _page(
    raw: str,
    images: tuple[Picture, ...],
    pattern: str | None,
    offset: float | None,
    limit: float | None,
    column: float | None,
) -> Result[Recalled[Picture], RecallError]:
    window = Window(offset=_whole(offset), limit=_whole(limit), column=_whole(column))
    lines = list(enumerate(without_lone_surrogates(raw).split("\n"), 1))
    plain = not pattern and offset is None and limit is None and column is None
    attached = images[:MAX_IMAGES] if plain else ()
    page = find_matches(lines, pattern, window) if pattern else cut_page(_plain(lines), "line", window)
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


def source_of(transcript: Transcript, entry_id: str, way: str = RECALL) -> tuple[str, tuple[Image, ...]] | None:
    """The raw text behind an id, and the images that belong to it. `way`: how the host recalls those of its results."""
    place = next((i for i, entry in enumerate(transcript.entries) if entry.id == entry_id), None)
    if place is None:
        return None
    entry = transcript.entries[place]
    if entry.role == "tool":
        return text_of(entry.raw), images_of(entry.raw)
    if entry.role == "user":
        return _exchange(_members(transcript, place), way)
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


def _exchange(entries: tuple[Entry, ...], way: str) -> tuple[str, tuple[Image, ...]]:
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
                    sections.append(f"[{plural(len(found), 'image')}. {recall_hint('To see', entry.id, way)}]")
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


def _whole(value: float | None) -> int | None:
    """A number as models give it: fractions go down, what is below 1 counts as absent."""
    return floor(min(value, LARGEST)) if value is not None and isfinite(value) and value >= 1 else None
