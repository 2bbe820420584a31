"""Faults of PostgreSQL as StoreError, in one line that names the server and what to do, and never a password."""

import contextlib
from collections.abc import Iterator

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from context_guard_effects.store.place import Server
from context_guard_effects.store.port import StoreError

MIGRATE = "The owner of the database runs `context-guard store migrate --store …`."
FAULTS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (PoolTimeout, "has given no connection within a second. Is the server up, and is it the right address?"),
    (TooManyRequests, "is asked too much at once. Try again."),
    (PoolClosed, "was closed by this process. Open it again."),
    (
        (errors.QueryCanceled, errors.LockNotAvailable),
        "took too long: the server is busy, or a purge or a migration is running. Try again.",
    ),
    (
        (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow),
        "is being stopped or started. Try again.",
    ),
    (
        errors.IdleInTransactionSessionTimeout,
        "has given up a transaction of this process, which stood still in it. Try again.",
    ),
    (errors.DiskFull, "cannot grow: the server's disk is full. Make room, or run `context-guard store purge`."),
    (errors.TooManyConnections, "takes no more connections. Raise max_connections, or run fewer processes."),
    (
        errors.InsufficientPrivilege,
        "refuses this user. To keep and find it needs the role that `store migrate` gave the rights to "
        "(context_guard_app), to purge context_guard_retention, to migrate the owner of the schema.",
    ),
    ((errors.UndefinedTable, errors.InvalidSchemaName), f"holds no store. {MIGRATE}"),
    (errors.UndefinedColumn, f"holds a store of another version. Update context-guard, or: {MIGRATE}"),
    (
        errors.ReadOnlySqlTransaction,
        "can only be read: a standby? Name the primary, or add target_session_attrs=read-write to the address.",
    ),
    ((errors.DataCorrupted, errors.IndexCorrupted), "is damaged. Restore it from a backup."),
)
"""The first that fits is said."""


@contextlib.contextmanager
def telling(server: Server) -> Iterator[None]:
    """A fault of the driver, the pool or the server as StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"{server} {_said(server, error)}") from error


def read_address(server: Server) -> dict[str, str]:
    """Its parameters as libpq reads them. Raises StoreError, which quotes none of it."""
    try:
        found = conninfo_to_dict(server.url)
    except psycopg.Error:
        said = "is no address that PostgreSQL reads: postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full."
        raise StoreError(f"{server} {said} Special characters in a password are written as %40 for @.") from None
    return {name: str(value) for name, value in found.items() if value is not None}


def _said(server: Server, error: psycopg.Error) -> str:
    for kinds, said in FAULTS:
        if isinstance(error, kinds):
            return said
    line = " ".join(str(error).split()) or type(error).__name__
    for name, value in read_address(server).items():
        if "password" in name:
            line = line.replace(value, "…")
    if isinstance(error, psycopg.OperationalError):
        return f"cannot be reached ({line}). Start the server, or check address, user, password and TLS settings."
    return f"cannot be used ({line})."
