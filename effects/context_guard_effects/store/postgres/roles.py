"""Who may do what: hosts add and read, retention deletes, nobody but the owner changes a row or a table."""

from msgspec import Struct
from psycopg import errors, sql

from context_guard_effects.store.port import StoreError
from context_guard_effects.store.postgres.connect import Db

TABLES = ("blob", "mend", "output", "image", "expired", "pass", "mention", "quota")
ADDED = ("blob", "mend", "output", "image", "pass", "mention", "quota")
"""By hosts. `expired` is written by a purge."""


class Roles(Struct, frozen=True):
    """Group roles; users are made their members."""

    app: str
    """Adds and reads: for hosts and their users."""
    retention: str
    """Deletes and reads."""


def grant(db: Db, roles: Roles) -> None:
    """Makes the roles where there are none. Exactly these rights: others that they had on the tables are taken."""
    for role in (roles.app, roles.retention):
        _make(db, role)
    for statement in _grants(roles):
        db.execute(statement)


def _make(db: Db, role: str) -> None:
    if db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
        return
    try:
        db.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"Nothing was changed: this user may not make the role {role}. Have an administrator run "
            f'CREATE ROLE "{role}" NOLOGIN; and repeat this.'
        ) from error


def _grants(roles: Roles) -> list[sql.Composed]:
    app, retention = sql.Identifier(roles.app), sql.Identifier(roles.retention)
    both = sql.SQL("{}, {}").format(app, retention)
    tables, added = _tables(TABLES), _tables(ADDED)
    return [
        sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA context_guard FROM PUBLIC, {}").format(both),
        sql.SQL("GRANT USAGE ON SCHEMA context_guard TO {}").format(both),
        sql.SQL("GRANT SELECT ON {}, context_guard.migration TO {}").format(tables, both),
        sql.SQL("GRANT INSERT ON {} TO {}").format(added, app),
        sql.SQL("GRANT DELETE ON {} TO {}").format(added, retention),
        sql.SQL("GRANT INSERT, UPDATE ON context_guard.expired TO {}").format(retention),
    ]


def _tables(names: tuple[str, ...]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier("context_guard", name) for name in names)
