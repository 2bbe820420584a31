"""The store that a command works on, and what its faults mean for the exit code."""

import contextlib
import os
from collections.abc import Iterator

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, USAGE, Stop
from context_guard_effects.store import OpenStore, Place, Server, StoreError, default_place, open_store
from context_guard_effects.store.postgres import Migrated, migrate_postgres
from context_guard_effects.word_log import UnknownOutput


@contextlib.contextmanager
def reading(place: Place | None, instead: str = "") -> Iterator[OpenStore]:
    """A store that is there: a command that only asks makes none. `instead`: what else the user may have meant."""
    with _opened(place, instead) as store:
        try:
            yield store
        except StoreError as error:
            raise Stop(error.message, UNREADABLE) from error


@contextlib.contextmanager
def writing(place: Place | None) -> Iterator[OpenStore]:
    with _opened(place, "") as store:
        try:
            yield store
        except StoreError as error:
            raise Stop(error.message, UNREADABLE if isinstance(error, UnknownOutput) else UNWRITABLE) from error


def migrated(place: Place | None, app_role: str, retention_role: str) -> Migrated:
    place = place or default_place()
    if not isinstance(place, Server):
        raise Stop(
            f"{place} is a file, which is brought up when it is opened. For a server: --store postgresql://…", USAGE
        )
    try:
        return migrate_postgres(place, app_role, retention_role)
    except StoreError as error:
        raise Stop(error.message, UNWRITABLE) from error


def _opened(place: Place | None, instead: str) -> OpenStore:
    place = place or default_place()
    if not isinstance(place, Server) and not os.path.lexists(place):
        raise Stop(
            f"there is no store at {place}: no host has kept anything there. Name another with --store or "
            f"CONTEXT_GUARD_STORE.{instead}",
            UNREADABLE,
        )
    try:
        return open_store(place)
    except StoreError as error:
        raise Stop(error.message, UNREADABLE) from error
