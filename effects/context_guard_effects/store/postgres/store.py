"""A store in a database that many processes on many machines share.

Rows are only added. A pass is kept in one transaction: contents and outputs first, read back, and then its place in the
log, under a lock that is held until the commit, so that places appear in order.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta

import psycopg
from msgspec import Struct

from context_guard.edit_log import LoggedPass, RawOutput
from context_guard.hidden import ways_back
from context_guard_effects.store.clock import Clock
from context_guard_effects.store.closing import Closing
from context_guard_effects.store.encoding import check_output, check_pass, decode_pass, encode_pass, find_needed
from context_guard_effects.store.place import Server
from context_guard_effects.store.port import Expired, Purged, StoredSession, StoreError, StoreStatus
from context_guard_effects.store.postgres.blobs import put_blobs
from context_guard_effects.store.postgres.claims import give_up_claim, try_claim
from context_guard_effects.store.postgres.connect import (
    KEEP_SECONDS,
    LONG_SECONDS,
    PASSES,
    SNAPSHOT,
    Db,
    Pool,
    allow,
    connect,
    make_pool,
    transaction,
)
from context_guard_effects.store.postgres.faults import find_faults
from context_guard_effects.store.postgres.migrations import check_version
from context_guard_effects.store.postgres.outputs import (
    contents_of,
    find_stored,
    get_output,
    get_outputs,
    put_outputs,
)
from context_guard_effects.store.postgres.passes import Decoded, find_passes, get_body, put_pass
from context_guard_effects.store.postgres.purge import delete_passes
from context_guard_effects.store.postgres.quota import take_place
from context_guard_effects.store.postgres.summary import list_sessions, sum_up
from context_guard_effects.store.postgres.telling import telling

_inherited: list[Pool] = []
"""Pools of a parent process, which a child may neither use nor close."""


class _Opened(Struct, frozen=True):
    pool: Pool
    decoded: Decoded
    pid: int


class PostgresStore(Closing):
    """See `Store` for what each call promises."""

    def __init__(self, server: Server, now: Clock) -> None:
        self.server = server
        self._now = now
        self._closed = False
        with connect(server) as db:  # alone, since a pool does not say why it cannot connect
            check_version(db, server)
        self._opened = self._open()

    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        body = encode_pass(pass_)
        number = ""
        try:
            with self._session() as db, transaction(db):
                allow(db, KEEP_SECONDS)
                db.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", PASSES)
                check_version(db, self.server)
                put_blobs(db, [body, *(data for raw in raws for data in contents_of(raw))])
                put_outputs(db, raws)
                _read_back(db, raws)
                needed = {raw.id for raw in raws} | find_needed(pass_, _stored(db, pass_))
                seq, number = put_pass(db, pass_, body, needed, self._now())
                check_pass(seq, body, get_body(db, seq))
        except StoreError as error:
            if not (number and isinstance(error.__cause__, psycopg.OperationalError) and self._is_committed(number)):
                raise
        return decode_pass(body, seq)

    def find(self, ids: Collection[str]) -> tuple[LoggedPass, ...]:
        with self._session() as db:
            return find_passes(db, ids, self._opened.decoded)

    def raw(self, id: str) -> RawOutput | Expired | None:
        with self._session() as db:
            return get_output(db, id)

    def status(self) -> StoreStatus:
        with self._moment() as db:
            return sum_up(db, self.server)

    def sessions(self) -> tuple[StoredSession, ...]:
        with self._moment() as db:
            return list_sessions(db)

    def purge(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        with self._session() as db, transaction(db):
            return delete_passes(db, self._now(), older_than, session)

    def purgeable(self, older_than: timedelta | None = None, session: str | None = None) -> Purged:
        with self._session() as db:
            db.execute("BEGIN")
            try:
                return delete_passes(db, self._now(), older_than, session)
            finally:
                db.execute("ROLLBACK")

    def check(self) -> tuple[str, ...]:
        with self._moment() as db:
            return tuple(find_faults(db))

    def take(self, name: str, window: int, limit: int) -> bool:
        with self._session() as db:
            return take_place(db, name, window, limit)

    def claim(self, key: str) -> Callable[[], None] | None:
        with contextlib.ExitStack() as held:
            db = held.enter_context(self._session())
            if not try_claim(db, key):
                return None
            held.callback(give_up_claim, db, key)
            return held.pop_all().close

    def close(self) -> None:
        if not self._closed and self._opened.pid == os.getpid():
            self._opened.pool.close()
        self._closed = True

    @contextlib.contextmanager
    def _session(self) -> Iterator[Db]:
        if self._closed:
            raise StoreError(f"{self.server} was closed by this process. Open it again.")
        if self._opened.pid != os.getpid():
            _inherited.append(self._opened.pool)
            self._opened = self._open()
        with telling(self.server), self._opened.pool.connection() as db:
            yield db

    @contextlib.contextmanager
    def _moment(self) -> Iterator[Db]:
        """For whoever reads all of it: slowly, and as of one moment."""
        with self._session() as db, transaction(db, SNAPSHOT):
            allow(db, LONG_SECONDS)
            yield db

    def _open(self) -> _Opened:
        return _Opened(make_pool(self.server), Decoded(), os.getpid())

    def _is_committed(self, number: str) -> bool:
        """Whether the transaction stands whose commit was not answered: the connection broke while it waited."""
        try:
            with connect(self.server) as db:
                found = db.execute("SELECT pg_xact_status(%s::text::xid8)", (number,)).fetchone()
        except StoreError:
            return False
        return bool(found == ("committed",))


def _stored(db: Db, pass_: LoggedPass) -> Callable[[str], bool]:
    wanted = {id for ways in ways_back(pass_).values() for id in ways}
    return find_stored(db, wanted).__contains__


def _read_back(db: Db, raws: tuple[RawOutput, ...]) -> None:
    """From the server, before anybody else can see them."""
    found = get_outputs(db, [raw.id for raw in raws])
    for raw in raws:
        check_output(raw, found.get(raw.id))
