"""What the guard adds to one settings file, as data; adding it, and taking out again what still is as it was added."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard_effects.agents.document import MISSING, Document, DocumentError
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
    """What the file held before stands there again. The keys that somebody has changed since stay as they are."""
    foreign: list[Keys] = []
    for setting in reversed(settings):
        now, before = document.get(setting.keys), original.get(setting.keys)
        if now is MISSING or now == before:
            continue
        if now != setting.value:
            foreign.append(setting.keys)
        elif before is not MISSING:
            document = document.set(setting.keys, before)
        else:
            document = _without(document, original, setting.keys)
    return document, foreign


def _without(document: Document, original: Document, keys: Keys) -> Document:
    """With the tables around it that were made for it, when nothing else is in them by now."""
    document = document.remove(keys)
    for length in range(len(keys) - 1, 0, -1):
        outer = keys[:length]
        if document.get(outer) != {} or original.get(outer) is not MISSING:
            break
        document = document.remove(outer)
    return document
