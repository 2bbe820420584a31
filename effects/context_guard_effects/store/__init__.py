"""Raw outputs, edits and records beside a message list, on disk or on a server, shared by processes.

with open_store() as store:
    store.keep(log_pass(...), raw_outputs(...))
    store.find(entry_ids)
    store.raw("3f2a9c01d4e5")
"""

from context_guard_effects.store.opening import LateStore, open_store
from context_guard_effects.store.place import Place, Server, default_place, given_as, read_place
from context_guard_effects.store.port import (
    Claims,
    Expired,
    IdTaken,
    OpenStore,
    Purged,
    Quota,
    Store,
    StoredSession,
    StoreError,
    StoreStatus,
)
from context_guard_effects.store.sqlite import SqliteStore, memory_store

__all__ = [
    "Claims",
    "Expired",
    "IdTaken",
    "LateStore",
    "OpenStore",
    "Place",
    "Purged",
    "Quota",
    "Server",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreStatus",
    "StoredSession",
    "default_place",
    "given_as",
    "memory_store",
    "open_store",
    "read_place",
]
