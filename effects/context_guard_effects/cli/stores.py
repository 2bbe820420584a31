"""The store that a command works on, and what its faults mean for the exit code."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.store import SqliteStore, StoreError, default_path, open_store
from context_guard_effects.word_log import UnknownOutput


@contextlib.contextmanager
def reading(path: Path | None) -> Iterator[SqliteStore]:
    """A store that is there: a command that only asks makes none."""
    with _opened(path) as store:
        try:
            yield store
        except StoreError as error:
            raise Stop(error.message, UNREADABLE) from error


@contextlib.contextmanager
def writing(path: Path | None) -> Iterator[SqliteStore]:
    with _opened(path) as store:
        try:
            yield store
        except StoreError as error:
            raise Stop(error.message, UNREADABLE if isinstance(error, UnknownOutput) else UNWRITABLE) from error


def _opened(path: Path | None) -> SqliteStore:
    place = path or default_path()
    if not os.path.lexists(place):
        raise Stop(
            f"there is no store at {place}: no host has kept anything there. Name another with --store or "
            "CONTEXT_GUARD_STORE.",
            UNREADABLE,
        )
    try:
        return open_store(place)
    except StoreError as error:
        raise Stop(error.message, UNREADABLE) from error
