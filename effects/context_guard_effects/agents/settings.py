"""What the guard adds to one settings file, as data; adding it, and taking out again what still is as it was added."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard_effects.agents.document import MISSING, Document, DocumentError, shared_start
from context_guard_effects.agents.document import Path as Keys
from context_guard_effects.agents.json_document import JsonDocument
from context_guard_effects.agents.toml_document import TomlDocument


class Setting(Struct, frozen=True):
    keys: Keys
    value: Any


class Addition(Struct, frozen=True):
    """To one file."""

    file: Path
    settings: tuple[Setting, ...]


def open_document(file: Path, data: bytes) -> Document:
    """Raises DocumentError with the file's name."""
    try:
        return TomlDocument(data) if file.suffix == ".toml" else JsonDocument(data)
    except DocumentError as error:
        raise DocumentError(f"{file}: {error}. Nothing was written.") from error


def put_in(document: Document, settings: tuple[Setting, ...]) -> Document:
    for setting in settings:
        if document.get(setting.keys) != setting.value:
            document = document.set(setting.keys, setting.value)
    return document


def take_out(document: Document, original: Document, settings: tuple[Setting, ...]) -> tuple[Document, list[Keys]]:
    """What the file held before stands there again. The keys that somebody has changed since stay as they are.

    The bytes that `put_in` had added go as they came wherever they still stand; else the key goes with its line.
    """
    foreign: list[Keys] = []
    for setting, (before, after) in zip(reversed(settings), reversed(_steps(original, settings)), strict=True):
        now, held = document.get(setting.keys), original.get(setting.keys)
        if now is MISSING or now == held:
            continue
        if now != setting.value:
            foreign.append(setting.keys)
            continue
        by_key = document.set(setting.keys, held) if held is not MISSING else _without(document, original, setting.keys)
        document = _undone(document, before, after, by_key.get(())) or by_key
    return document, foreign


def _steps(original: Document, settings: tuple[Setting, ...]) -> list[tuple[bytes, bytes]]:
    """The file before and after each of the settings was put in."""
    steps = []
    for setting in settings:
        changed = put_in(original, (setting,))
        steps.append((original.data(), changed.data()))
        original = changed
    return steps


def _undone(document: Document, before: bytes, after: bytes, value: Any) -> Document | None:
    """With the one change from `before` to `after` taken back, where it stands in one place and leaves `value`."""
    data = document.data()
    for old, new in _changes(before, after):
        if new and data.count(new) == 1:
            try:
                undone = type(document)(data.replace(new, old))
            except DocumentError:
                continue
            if undone.get(()) == value:
                return undone
    return None


def _changes(before: bytes, after: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The stretch that differs, as it was and as it is; one that was put in can be cut at several places, which all
    come to the same: in "a\\nb\\n" from "a\\n" it is "\\nb" or "b\\n"."""
    start = shared_start(before, after)
    least = min(len(before), len(after)) - start
    end = shared_start(before[::-1][:least], after[::-1][:least])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    yield old, new
    while not old and new and start and after[start - 1] == new[-1]:
        start -= 1
        new = new[-1:] + new[:-1]
        yield old, new


def _without(document: Document, original: Document, keys: Keys) -> Document:
    """With the tables around it that were made for it, when nothing else is in them by now."""
    document = document.remove(keys)
    for length in range(len(keys) - 1, 0, -1):
        outer = keys[:length]
        if document.get(outer) != {} or original.get(outer) is not MISSING:
            break
        document = document.remove(outer)
    return document
