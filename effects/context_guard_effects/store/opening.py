"""Any store by its place: a file of SQLite, or a database on a PostgreSQL server."""

from pathlib import Path
from threading import Lock
from typing import overload

from context_guard_effects.store.clock import Clock, now_ms
from context_guard_effects.store.place import Place, Server, default_place, read_place
from context_guard_effects.store.port import OpenStore
from context_guard_effects.store.sqlite import SqliteStore


@overload
def open_store(place: Path, now: Clock = now_ms) -> SqliteStore: ...
@overload
def open_store(place: Place | str | None = None, now: Clock = now_ms) -> OpenStore: ...
def open_store(place: Place | str | None = None, now: Clock = now_ms) -> OpenStore:
    """The store at the path or address, by default the user's own. A file is made where there is none; the tables on a
    server are made by `context-guard store migrate`. Raises StoreError."""
    if isinstance(place, str) and place:
        place = read_place(place)
    place = place or default_place()
    if not isinstance(place, Server):
        return SqliteStore(place, now)
    from context_guard_effects.store.postgres import open_postgres  # only here: its driver is an extra

    return open_postgres(place, now)


class LateStore:
    """A store that is opened when the first call needs it, and made where there is none."""

    def __init__(self, place: Place | None) -> None:
        self.place = place or default_place()
        self._store: OpenStore | None = None
        self._lock = Lock()

    def get(self) -> OpenStore:
        """Raises StoreError, as often as it is asked: what is wrong may have been mended meanwhile."""
        with self._lock:
            if self._store is None:
                self._store = open_store(self.place)
            return self._store

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
