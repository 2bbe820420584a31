"""The schema's versions: numbered files of SQL, each on top of the one before. A released one is never changed."""

from importlib.resources import files

from context_guard_effects.store.place import Server
from context_guard_effects.store.port import StoreError
from context_guard_effects.store.postgres import Migrated
from context_guard_effects.store.postgres.connect import Db, lock_alone, transaction
from context_guard_effects.store.postgres.roles import Roles, grant

Migrations = tuple[str, ...]


def _read() -> Migrations:
    steps = [file for file in files(__name__).iterdir() if file.name.endswith(".sql")]
    return tuple(step.read_text("utf-8") for step in sorted(steps, key=lambda step: step.name))


MIGRATIONS = _read()


def migrate(db: Db, server: Server, migrations: Migrations, roles: Roles) -> Migrated:
    """To the last version, with the rights of the roles, all or nothing; two at once take turns. Raises StoreError."""
    with transaction(db):
        lock_alone(db)
        if db.execute("SELECT to_regnamespace('context_guard')").fetchone() == (None,):
            db.execute("CREATE SCHEMA context_guard")
        db.execute(
            "CREATE TABLE IF NOT EXISTS context_guard.migration"
            " (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
        )
        before = find_version(db)
        if before > len(migrations):
            raise newer(server, before, len(migrations))
        for number, step in enumerate(migrations[before:], before + 1):
            db.execute(step.encode())
            db.execute("INSERT INTO context_guard.migration (version) VALUES (%s)", (number,))
        grant(db, roles)
    return Migrated(str(server), before, len(migrations))


def find_version(db: Db) -> int:
    found = db.execute("SELECT coalesce(max(version), 0) FROM context_guard.migration").fetchone()
    return int(found[0]) if found else 0


def check_version(db: Db, server: Server) -> None:
    """Raises StoreError unless the schema is of the version that this context-guard knows."""
    version = find_version(db)
    if version > len(MIGRATIONS):
        raise newer(server, version, len(MIGRATIONS))
    if version < len(MIGRATIONS):
        raise StoreError(
            f"{server} has version {version} of the schema, and this context-guard needs {len(MIGRATIONS)}: its owner "
            "runs `context-guard store migrate --store …`."
        )


def newer(server: Server, version: int, known: int) -> StoreError:
    return StoreError(
        f"{server} was brought up by a newer context-guard (version {version} of the schema; this one knows {known}). "
        "Update context-guard, or name another store with --store or CONTEXT_GUARD_STORE."
    )
