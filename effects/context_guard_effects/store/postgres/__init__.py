"""The store in a PostgreSQL database: the schema `context_guard`, shared by many writers on many machines."""

from typing import TYPE_CHECKING

from msgspec import Struct

from context_guard_effects.store.clock import Clock
from context_guard_effects.store.place import Server
from context_guard_effects.store.port import StoreError

if TYPE_CHECKING:
    from context_guard_effects.store.postgres.store import PostgresStore


class Migrated(Struct, frozen=True):
    place: str
    before: int
    """Version of the schema; 0 where there was none."""
    after: int


def open_postgres(server: Server, now: Clock) -> "PostgresStore":
    """Raises StoreError, also where the driver is not installed or the owner has not made the tables."""
    _need_driver()
    from context_guard_effects.store.postgres.store import PostgresStore

    return PostgresStore(server, now)


def migrate_postgres(server: Server, app_role: str, retention_role: str) -> Migrated:
    """Makes the schema or brings it up, and gives the group roles their rights: for its owner. Raises StoreError."""
    _need_driver()
    from context_guard_effects.store.postgres.connect import connect
    from context_guard_effects.store.postgres.migrations import MIGRATIONS, migrate
    from context_guard_effects.store.postgres.roles import Roles

    with connect(server) as db:
        return migrate(db, server, MIGRATIONS, Roles(app_role, retention_role))


def _need_driver() -> None:
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise StoreError(
            "A store on PostgreSQL needs psycopg: pip install 'context-guard[postgres]', in a clone '.[postgres]'."
        ) from error
