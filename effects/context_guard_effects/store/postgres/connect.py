"""Connections: one alone, for the owner and to look at the start; else a pool, whose dead ones are replaced."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import psycopg
from psycopg_pool import ConnectionPool

from context_guard_effects.store.place import Server
from context_guard_effects.store.postgres.telling import read_address, telling

Db: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
"""Every statement is a transaction of its own unless `transaction` begins one."""
Pool: TypeAlias = "ConnectionPool[Db]"

ASK_SECONDS = 1.0
"""How long a request waits for a connection, and how long one statement of it may take."""
KEEP_SECONDS = 10.0
"""A statement of a pass that is kept: it waits for those of other writers, and for a purge."""
LONG_SECONDS = 3_600.0
"""A statement of a purge, a check or a migration."""
LOCK_SECONDS = 60.0
"""How long those wait for passes that are being kept."""
IDLE_SECONDS = 10.0
"""How long a transaction may wait for its own process: one that stands still, or whose machine has vanished, would
hold its locks for ever."""
CONNECTIONS = 8
GIVE_UP_SECONDS = 2.0
"""After a server that cannot be reached, until the next request tries anew."""

DEFAULTS = {
    "application_name": "context-guard",
    "connect_timeout": "3",
    # a machine that has vanished says nothing: its connections end by themselves
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Where the address says nothing else."""

PASSES = (0x63747867, 1)
"""Advisory lock: shared by whoever keeps a pass, alone by a purge or a migration."""
PLACES = (0x63747867, 2)
"""Advisory lock: from the moment a pass takes its place in the log until it is committed. So places are seen in order:
nobody ever sees one while an earlier one may still appear."""

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # else Python prints its warnings by itself


@contextlib.contextmanager
def connect(server: Server) -> Iterator[Db]:
    """One connection, closed at the end. Raises StoreError."""
    with telling(server), psycopg.connect(**_parameters(server), autocommit=True) as db:
        yield db


def make_pool(server: Server) -> Pool:
    """Connects in the background, as requests come."""
    parameters: dict[str, Any] = {**_parameters(server), "autocommit": True}
    pool: Pool = ConnectionPool(
        "",
        kwargs=parameters,
        min_size=1,
        max_size=CONNECTIONS,
        open=True,
        configure=_configure,
        check=ConnectionPool.check_connection,
        name="context-guard",
        timeout=ASK_SECONDS,
        reconnect_timeout=GIVE_UP_SECONDS,
        num_workers=2,
    )
    return pool


@contextlib.contextmanager
def transaction(db: Db, kind: str = "") -> Iterator[None]:
    """All or nothing. `kind`: as SQL has it behind BEGIN."""
    db.execute(f"BEGIN {kind}".encode())
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if not db.closed:
            with contextlib.suppress(psycopg.Error):
                db.execute("ROLLBACK")
        raise


SESSION = """
SELECT set_config('synchronous_commit', 'on', false), set_config('statement_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false),
    set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)
"""
"""The last three: what a machine that has vanished had claimed is free again after 25 seconds."""
SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""Of a transaction in which all statements see the same store."""


def allow(db: Db, seconds: float, lock_seconds: float | None = None) -> None:
    """Limits of the statements and of their waits for locks, until the end of the transaction."""
    limits = "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)"
    db.execute(limits, (_ms(seconds), _ms(lock_seconds or seconds)))


def add_rows(db: Db, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
    """In their order, but for those that are there; `columns` are named with their types. One statement: after a
    pipeline, as `executemany` sends one, servers do not end a transaction that stands still."""
    if rows:
        arrays = ", ".join(f"%b::{kind}[]" for kind in columns.values())
        insert = f"INSERT INTO context_guard.{table} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"
        db.execute(f"{insert} ON CONFLICT DO NOTHING".encode(), [list(column) for column in zip(*rows, strict=True)])


def lock_alone(db: Db) -> None:
    """No pass is being kept until the end of the transaction."""
    allow(db, LONG_SECONDS, LOCK_SECONDS)
    db.execute("SELECT pg_advisory_xact_lock(%s, %s)", PASSES)


def _configure(db: Db) -> None:
    db.execute(SESSION, (_ms(ASK_SECONDS), _ms(IDLE_SECONDS)))


def _ms(seconds: float) -> str:
    return str(int(seconds * 1_000))


def _parameters(server: Server) -> dict[str, Any]:
    return DEFAULTS | read_address(server)
