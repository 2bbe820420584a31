"""Raw outputs, edits and records beside a message list, on disk and shared by processes.

with open_store() as store:
    store.keep(log_pass(...), raw_outputs(...))
    store.find(entry_ids)
    store.raw("3f2a9c01d4e5")
"""

from context_guard_effects.store.place import default_path
from context_guard_effects.store.port import (
    Expired,
    IdTaken,
    Purged,
    Store,
    StoredSession,
    StoreError,
    StoreStatus,
)
from context_guard_effects.store.sqlite import SqliteStore, memory_store, open_store

__all__ = [
    "Expired",
    "IdTaken",
    "Purged",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreStatus",
    "StoredSession",
    "default_path",
    "memory_store",
    "open_store",
]
