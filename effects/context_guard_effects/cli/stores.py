"""The store that a command works on, and what its faults mean for the exit code."""

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.store import SqliteStore, Store, StoreError, default_path, open_store


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
            raise Stop(error.message, UNWRITABLE) from error


def unknown(id: str, store: Store) -> Stop:
    """The store never had it."""
    return Stop(
        f'the store {store.status().place} knows no output {id!r}. Use the id from a "[context-guard]" note. '
        "Another store: --store or CONTEXT_GUARD_STORE; a session file of Pi: context-guard recall SESSION ENTRY.",
        UNREADABLE,
    )


def day(ms: int) -> str:
    """Of a time in milliseconds, in UTC."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d")


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
