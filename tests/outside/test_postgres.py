"""The store on a real PostgreSQL. What every store has to do is in `testing.store_conformance` of the package."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import needs_postgres  # noqa: F401
import pytest
import trio
from command_line import guard
from hypothesis import HealthCheck, given, settings
from kill_writers import Stores, kill_writers
from proxy_world import plain, running, whole
from store_attempts import ATTEMPTS, Attempts, check_attempts
from test_proxy import ANSWER, guarded, next_of

from context_guard.edit_log import RawOutput
from context_guard.text import MARKER
from context_guard_effects.proxy import applied
from context_guard_effects.proxy.applied import AppliedLog
from context_guard_effects.store import Expired, OpenStore, Server, Store, StoreError, given_as, open_store
from context_guard_effects.store.postgres import connect as connections
from context_guard_effects.store.postgres import migrate_postgres, passes
from context_guard_effects.store.postgres import store as postgres_store
from context_guard_effects.store.postgres.connect import connect
from context_guard_effects.store.postgres.migrations import MIGRATIONS, migrate
from context_guard_effects.store.postgres.roles import TABLES, Roles
from context_guard_effects.store.postgres.telling import telling
from context_guard_effects.testing.store_conformance import CHECKS, SHARED_CHECKS, Check, Clock, output, replaced
from outside.postgres_server import PASSWORD, QUOTED, Cluster, Missing, make_certificate, running_cluster
from outside.postgres_stores import APP, RETENTION, Databases, environment, name_of

pytestmark = pytest.mark.outside
ROLES = Roles(APP, RETENTION)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    try:
        with running_cluster(tls=True) as cluster:
            yield Databases(cluster)
    except Missing as error:
        pytest.skip(f"PostgreSQL is needed: {error}")


@pytest.fixture
def place(databases: Databases) -> Iterator[Server]:
    found = databases.place()
    yield found
    databases.drop(found)


@pytest.fixture
def cluster(databases: Databases) -> Iterator[Cluster]:
    """To be stopped: it runs again afterwards."""
    yield databases.cluster
    if not databases.cluster.is_running:
        databases.cluster.start()


def admin(databases: Databases, place: Server, statement: str) -> list[tuple[object, ...]]:
    return databases.cluster.execute(statement, name_of(place))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_a_store(check: Check, place: Server) -> None:
    """It does what every store has to do, for a user that owns nothing and has the rights of both roles."""
    clock = Clock()
    with open_store(place, clock) as store:
        check(store, clock)


@pytest.mark.parametrize("check", SHARED_CHECKS, ids=lambda check: check.__name__)
def test_handles_share_it(check: Callable[[Store, Store, Clock], None], place: Server) -> None:
    """Two pools, as two processes have them."""
    clock = Clock()
    with open_store(place, clock) as store, open_store(place, clock) as other:
        check(store, other, clock)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ATTEMPTS)
def test_kept_means_found_and_refused_means_unchanged(databases: Databases, attempts: Attempts) -> None:
    """Any pass and any outputs, each list of them in a store of its own."""
    with open_store(databases.place(), Clock()) as store:
        check_attempts(store, attempts)


def test_hosts_add_and_retention_deletes(databases: Databases) -> None:
    """Nobody but the owner may do more: each statement that would is refused by the server itself."""
    name = databases.new()
    app, retention = databases.cluster.place("app", name), databases.cluster.place("retention", name)
    with open_store(app) as store:
        store.keep(replaced("a"), (output("a"),))
        with pytest.raises(StoreError, match=f"refuses this user.*{RETENTION}"):
            store.purge(session="s")
        assert output("a") == store.raw("a")
    wrong = [f"{verb} context_guard.{table}" for table in TABLES for verb in ("DELETE FROM", "TRUNCATE", "DROP TABLE")]
    wrong += [f"UPDATE context_guard.{table} SET {column} = {column}" for table, column in FIRST_COLUMNS.items()]
    wrong += ["INSERT INTO context_guard.expired VALUES ('x', 1)", "INSERT INTO context_guard.migration VALUES (9)"]
    assert wrong == refused(app, wrong)
    wrong = [f"{verb} context_guard.{table}" for table in TABLES for verb in ("TRUNCATE", "DROP TABLE")]
    wrong += [f"INSERT INTO context_guard.{table} DEFAULT VALUES" for table in TABLES if table != "expired"]
    wrong += [f"UPDATE context_guard.{table} SET {column} = {column}" for table, column in FIRST_COLUMNS.items()][:-1]
    assert wrong == refused(retention, wrong)
    with open_store(retention) as store:
        with pytest.raises(StoreError, match=f"refuses this user.*{APP}"):
            store.keep(replaced("b"), (output("b"),))
        assert (1, 1) == ((purged := store.purge(session="s")).passes, purged.outputs)
    with pytest.raises(StoreError, match="refuses this user"):
        open_store(databases.cluster.place("stranger", name))


FIRST_COLUMNS = {"blob": "size", "mend": "size", "output": "tool", "image": "kind", "pass": "kept_at"}
FIRST_COLUMNS |= {"mention": "needed", "expired": "at"}


def refused(server: Server, statements: list[str]) -> list[str]:
    """Those that the server does not let this user run."""
    found = []
    with connect(server) as db:
        for statement in statements:
            try:
                with telling(server):
                    db.execute(statement.encode())
            except StoreError as error:
                found += [statement] if "refuses this user" in error.message else []
    return found


def test_rights_given_by_hand_are_taken_back(databases: Databases) -> None:
    """`store migrate` leaves the roles exactly the rights that they need."""
    name = databases.new()
    databases.cluster.execute(f"GRANT DELETE, UPDATE ON ALL TABLES IN SCHEMA context_guard TO {APP}, PUBLIC", name)
    app = databases.cluster.place("app", name)
    assert [] == refused(app, ["DELETE FROM context_guard.mention"])
    migrate_postgres(databases.cluster.place("owner", name), APP, RETENTION)
    assert ["DELETE FROM context_guard.mention"] == refused(app, ["DELETE FROM context_guard.mention"])


def test_writers_may_be_killed_at_any_point(databases: Databases, tmp_path: Path) -> None:
    """What `keep` returned is there, and no edit without its raw text; `.ci/run` kills 200 times."""
    stores = Stores(lambda _: databases.place(), databases.wait, pause=0.6)
    tally = kill_writers(tmp_path, kills=12, seed=1, stores=stores)
    assert 12 == tally.kills
    assert tally.passes > 0
    assert tally.outputs >= tally.passes


def watch(place: Server, writers: int, each: int) -> tuple[list[int], int]:
    """Writers that are as slow as they are told to be, and a reader: all places at the end, and how often the reader
    saw one come in front of one that it had seen."""
    ids = [f"w{n}-{m}" for n in range(writers) for m in range(each)]
    late, seen = 0, set[int]()

    def write(n: int) -> None:
        with open_store(place) as store:
            for m in range(each):
                store.keep(replaced(f"w{n}-{m}"), (output(f"w{n}-{m}"),))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    with open_store(place) as reader:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            places = {found.seq for found in reader.find(ids)}
            time.sleep(0.002)
            late += sum(place < max(seen, default=0) for place in places - seen)
            seen |= places
        return [found.seq for found in reader.find(ids)], late


def slowly(number: int) -> None:
    """The commits come in another order than the places, unless something sees to it."""
    time.sleep(0.002 * (number % 5))


def test_a_reader_never_sees_a_place_before_an_earlier_one(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order in which writers commit; without the lock the same test sees it."""
    put = passes.put_pass

    def put_slowly(*given: object) -> tuple[int, str]:
        found = put(*given)  # type: ignore[arg-type]
        slowly(found[0])
        return found

    monkeypatch.setattr(postgres_store, "put_pass", put_slowly)
    places, late = watch(databases.place(), 6, 12)
    assert (list(range(1, 73)), 0) == (places, late)
    monkeypatch.setattr(passes, "PLACES", connections.PASSES)
    monkeypatch.setattr(passes, "LOCK", "SELECT pg_advisory_xact_lock_shared(%s, %s)")
    places, late = watch(databases.place(), 6, 12)
    assert 72 == len(places)
    assert late > 0


def test_a_writer_that_stands_still_holds_up_nobody(place: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends its transaction after a while; the others wait no longer than that, and it is told so."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.5)
    with open_store(place) as store, open_store(place) as other:
        put, told = passes.put_pass, []

        def put_and_stand(*given: object) -> tuple[int, str]:
            found = put(*given)  # type: ignore[arg-type]
            if threading.current_thread() is still:
                time.sleep(1.5)
            return found

        def keep() -> None:
            with pytest.raises(StoreError) as caught:
                store.keep(replaced("a"), (output("a"),))
            told.append(caught.value.message)

        still = threading.Thread(target=keep)
        monkeypatch.setattr(postgres_store, "put_pass", put_and_stand)
        still.start()
        time.sleep(0.2)
        begin = time.monotonic()
        other.keep(replaced("b"), (output("b"),))
        assert time.monotonic() - begin < 1.2
        still.join()
        assert "stood still" in told[0]
        assert (None, 1) == (other.raw("a"), len(store.find(["a", "b"])))


def test_a_fork_opens_a_pool_of_its_own(place: Server) -> None:
    """Parent and child write at once and lose nothing."""
    script = """
import os, sys
from context_guard_effects.store import open_store
from context_guard_effects.store.postgres.telling import telling
from context_guard_effects.testing.store_conformance import output, replaced
store = open_store()
store.find(["a"])
child = os.fork()
name = "parent" if child else "child"
for n in range(10):
    store.keep(replaced(f"{name}{n}"), (output(f"{name}{n}"),))
store.close()
if child:
    sys.exit(os.waitpid(child, 0)[1])
os._exit(0)
"""
    named = {**environment(), "CONTEXT_GUARD_STORE": given_as(place)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=named, capture_output=True, text=True, check=False, timeout=60
    )
    assert (0, "") == (done.returncode, done.stderr)
    with open_store(place) as store:
        assert 20 == len(store.find([f"{name}{n}" for name in ("parent", "child") for n in range(10)]))


def test_a_damaged_content_is_an_error_and_given_again_it_is_mended(databases: Databases, place: Server) -> None:
    """Recall says that it is damaged, `check` names the output; nothing is overwritten to mend it."""
    long = output("b", "long\n" * 9_000)
    with open_store(place) as store:
        store.keep(replaced("a", "b"), (output("a"), long))
        admin(databases, place, "UPDATE context_guard.blob SET data = '\\x00' WHERE size = 45000")
        with pytest.raises(StoreError, match="damaged"):
            store.raw("b")
        assert ("output b: its content is damaged",) == store.check()
        store.keep(replaced("b"), (long,))
        assert long == store.raw("b")
        assert () == store.check()
        assert 2 == store.purge(session="s").passes
        assert isinstance(store.raw("b"), Expired)
        assert [(0, 0)] == admin(
            databases, place, "SELECT (SELECT count(*) FROM context_guard.blob), count(*) FROM context_guard.mend"
        )


def test_what_cannot_be_read_back_is_undone(place: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not keep what was written: an error, and nobody ever sees the pass."""
    with open_store(place) as store:
        store.keep(replaced("a"), (output("a"),))
        with monkeypatch.context() as broken:
            broken.setattr("context_guard_effects.store.postgres.blobs.pack", lambda data: ("plain", data[:-1]))
            with pytest.raises(StoreError, match="damaged"):
                store.keep(replaced("a", "new"), (output("a"), output("new")))
        assert (None, 1) == (store.raw("new"), len(store.find(["a", "new"])))
        store.keep(replaced("new"), (output("new"),))


def test_a_commit_whose_answer_is_lost_is_looked_up(databases: Databases, place: Server) -> None:
    """The connection ends while it waits for the commit, which stands: the pass is kept, and `keep` says so."""
    kept: list[int] = []
    with open_store(place) as store:
        databases.cluster.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        databases.cluster.execute("SELECT pg_reload_conf()")
        time.sleep(0.2)
        thread = threading.Thread(target=lambda: kept.append(store.keep(replaced("a"), (output("a"),)).seq))
        try:
            thread.start()
            waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            until = time.monotonic() + 10
            while not databases.cluster.execute(f"SELECT pid {waiting}"):
                assert time.monotonic() < until
            databases.cluster.execute(f"SELECT pg_terminate_backend(pid) {waiting}")
            thread.join(20)
        finally:
            databases.cluster.execute("ALTER SYSTEM RESET synchronous_standby_names")
            databases.cluster.execute("SELECT pg_reload_conf()")
        assert [1] == kept
        assert output("a") == store.raw("a")


def test_a_request_waits_for_a_second_at_most(databases: Databases, place: Server) -> None:
    """A table that somebody has locked, then a pool without a connection: an error that says what to do."""
    with open_store(place) as store, databases.cluster.admin(name_of(place)) as other:
        store.keep(replaced("a"), (output("a"),))
        other.execute("BEGIN")
        other.execute("LOCK TABLE context_guard.mention")
        begin = time.monotonic()
        with pytest.raises(StoreError, match=r"took too long.*Try again"):
            store.find(["a"])
        assert 0.9 < time.monotonic() - begin < 1.8
        waiting = [threading.Thread(target=ignoring, args=(store,)) for _ in range(connections.CONNECTIONS)]
        for thread in waiting:
            thread.start()
        time.sleep(0.3)
        begin = time.monotonic()
        with pytest.raises(StoreError, match=r"no connection within a second|took too long"):
            store.find(["a"])
        assert time.monotonic() - begin < 2.5
        other.execute("ROLLBACK")
        for thread in waiting:
            thread.join()
        assert 1 == len(store.find(["a"]))


def ignoring(store: Store) -> None:
    with pytest.raises(StoreError):
        store.find(["a"])


def test_a_pass_waits_for_a_purge(databases: Databases, place: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as passes wait; no purge ever takes an output from under it."""
    monkeypatch.setattr(postgres_store, "KEEP_SECONDS", 0.3)
    with open_store(place) as store, connect(databases.cluster.place("owner", name_of(place))) as purge:
        store.keep(replaced("a"), (output("a"),))
        purge.execute("BEGIN")
        connections.lock_alone(purge)
        with pytest.raises(StoreError, match="a purge or a migration is running"):
            store.keep(replaced("a"), ())
        assert output("a") == store.raw("a")
        purge.execute("ROLLBACK")
        assert 3 > store.keep(replaced("a"), ()).seq


def test_purges_and_passes_at_once_leave_no_edit_without_its_raw(place: Server) -> None:
    """The same outputs are kept and purged again and again."""
    with open_store(place) as store, open_store(place) as other:

        def purge() -> None:
            for _ in range(15):
                other.purge(session="going")

        thread = threading.Thread(target=purge)
        thread.start()
        while thread.is_alive():
            for n in range(3):
                store.keep(replaced(f"o{n}", session="going"), (output(f"o{n}"),))
        assert () == store.check()


# Stopped and started under load


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_nothing_is_lost_when_the_server_stops_under_load(
    mode: str, cluster: Cluster, place: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests pass, unedited or with the edits that were applied before, in time; what `keep` returned is there
    afterwards; and the pools find the server again by themselves."""
    monkeypatch.setattr(applied, "PAUSE_SECONDS", 0.5)
    with open_store(place) as store, open_store(place) as requests:
        load = Load(store, requests)
        load.run(partial(restart, cluster, mode))
        assert load.refused > 0
        assert {"the store cannot be read, so only known edits are applied"} == {
            it.partition(":")[0] for it in load.told
        }
        assert load.slowest < applied.WAIT_SECONDS + 1
        assert load.first == load.applied[0] == load.applied[-1]
        assert {1} == {len(found) for found in load.applied}
        found = {kept.seq: kept.edits[0].target for kept in store.find([f"k{n}" for n in range(load.tried)])}
        assert load.kept.items() <= found.items()
        assert load.kept_after > 3
        assert () == store.check()
        assert not any(PASSWORD in said or QUOTED in said for said in load.told)


def restart(cluster: Cluster, mode: str) -> None:
    cluster.stop(mode)
    time.sleep(1.5)
    cluster.start()


class Load:
    """A writer and some requests at a time, while something happens to the server."""

    def __init__(self, store: OpenStore, requests: OpenStore) -> None:
        self.store, self.requests = store, requests
        self.kept: dict[int, str] = {}
        self.tried = self.refused = self.kept_after = 0
        self.told: list[str] = []
        self.applied: list[tuple[int, ...]] = []
        self.slowest = 0.0
        self.first: tuple[int, ...] = ()

    def run(self, happens: Callable[[], object]) -> None:
        self.first = (self.store.keep(replaced("shown"), (output("shown"),)).seq,)
        trio.run(self._run, happens)

    async def _run(self, happens: Callable[[], object]) -> None:
        log = AppliedLog(self.requests, self.told.append)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep)
            for _ in range(10):
                nursery.start_soon(self._ask, log)
            await trio.sleep(0.5)
            await trio.to_thread.run_sync(happens)
            before = len(self.kept)
            await trio.sleep(3)
            self.kept_after = len(self.kept) - before
            nursery.cancel_scope.cancel()

    async def _keep(self) -> None:
        while True:
            id = f"k{self.tried}"
            self.tried += 1
            try:
                kept = await trio.to_thread.run_sync(self.store.keep, replaced(id), (output(id),))
                self.kept[kept.seq] = id
            except StoreError:
                self.refused += 1
                await trio.sleep(0.05)

    async def _ask(self, log: AppliedLog) -> None:
        while True:
            begin = trio.current_time()
            found = await log.find(("shown",))
            self.slowest = max(self.slowest, trio.current_time() - begin)
            self.applied.append(tuple(it.seq for it in found))
            await trio.sleep(0.01)


def test_agents_see_no_error_when_the_server_stops(
    cluster: Cluster, place: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the proxy: the same bytes as before, or the request as the agent sent it, always 200."""
    monkeypatch.setattr(applied, "PAUSE_SECONDS", 0.5)
    with open_store(place) as store, running(store=store) as world:
        guarded(world)
        world.provider.script[:] = [plain(whole("anthropic", ANSWER))]
        world.post("anthropic", next_of("anthropic"))
        before = world.provider.asked[-1].body
        assert MARKER in before.decode()
        away = threading.Thread(target=restart, args=(cluster, "immediate"))
        away.start()
        statuses, bodies = set(), set()
        while away.is_alive():
            statuses.add(world.post("anthropic", next_of("anthropic")).status_code)
            bodies.add(world.provider.asked[-1].body)
        assert ({200}, {before}) == (statuses, bodies)


def test_a_store_that_is_away_is_said_in_one_line(cluster: Cluster, place: Server) -> None:
    """At the start and later, without the password, and with what to do."""
    with open_store(place) as store:
        cluster.stop()
        for ask in (lambda: store.find(["a"]), lambda: open_store(place)):
            with pytest.raises(StoreError) as caught:
                ask()
            assert str(place) in caught.value.message
            assert "\n" not in caught.value.message
            assert "server" in caught.value.message
            assert not mentions_password(repr(caught.getrepr(style="long")))
        cluster.start()
        time.sleep(0.2)
        assert () == store.find(["a"])


# TLS


def test_the_connection_is_encrypted_and_the_server_known(databases: Databases, tmp_path: Path) -> None:
    """With `verify-full` a certificate of another authority, or for another name, is refused in one line."""
    query = f"?sslmode=verify-full&sslrootcert={databases.cluster.certificate}"
    place = databases.cluster.place("everyone", databases.new(), query)
    with open_store(place) as store:
        store.keep(replaced("a"), (output("a"),))
        used = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'everyone'"
        assert [(True,)] == databases.cluster.execute(used)
    make_certificate(tmp_path / "other.crt", tmp_path / "other.key")
    wrong = place.url.replace(str(databases.cluster.certificate), str(tmp_path / "other.crt"))
    for url in (wrong, place.url.replace("127.0.0.1", "localhost")):
        with pytest.raises(StoreError, match=r"certificate|localhost") as caught:
            open_store(url)
        assert "TLS settings" in caught.value.message
        assert not mentions_password(caught.value.message)


# The schema


def test_an_older_schema_is_brought_up_whole(databases: Databases) -> None:
    """Step by step, with what was kept before; what a step fails at leaves the version before."""
    name = databases.empty()
    owner = databases.cluster.place("owner", name)
    steps = (*MIGRATIONS, "CREATE TABLE context_guard.one (x int); INSERT INTO context_guard.one VALUES (1)")
    with pytest.raises(StoreError, match=r"holds no store.*store migrate"):
        open_store(owner)
    with connect(owner) as db:
        last = len(MIGRATIONS)
        assert (0, last) == ((done := migrate(db, owner, MIGRATIONS, ROLES)).before, done.after)
        assert (last, last) == ((done := migrate(db, owner, MIGRATIONS, ROLES)).before, done.after)
        with open_store(databases.cluster.place("app", name)) as store:
            store.keep(replaced("a"), (output("a"),))
            broken = (*steps, "CREATE TABLE context_guard.two (x int)", "SELECT * FROM nowhere")
            with pytest.raises(StoreError), telling(owner):
                migrate(db, owner, broken, ROLES)
            assert (None, None) == db.execute(
                "SELECT to_regclass('context_guard.one'), to_regclass('context_guard.two')"
            ).fetchone()
            store.keep(replaced("b"), (output("b"),))
            migrate(db, owner, steps, ROLES)
            assert [(1,)] == db.execute("SELECT x FROM context_guard.one").fetchall()
            assert (2, output("a")) == (len(store.find(["a", "b"])), store.raw("a"))
            with pytest.raises(StoreError, match="newer context-guard"):
                store.keep(replaced("c"), (output("c"),))
        with pytest.raises(StoreError, match="newer context-guard"):
            open_store(databases.cluster.place("app", name))
        with pytest.raises(StoreError, match="newer context-guard"):
            migrate(db, owner, MIGRATIONS, ROLES)
        db.execute("DELETE FROM context_guard.migration")
        with pytest.raises(StoreError, match=r"version 0 of the schema.*store migrate"):
            open_store(databases.cluster.place("app", name))


def test_two_that_migrate_at_once_take_turns(databases: Databases) -> None:
    """One makes the schema, the others find it made."""
    owner = databases.cluster.place("owner", databases.empty())
    found: list[int] = []

    def run() -> None:
        found.append(migrate_postgres(owner, APP, RETENTION).before)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [0, *[len(MIGRATIONS)] * 3] == sorted(found)


# The command line


def mentions_password(text: str) -> bool:
    return any(form in text for form in (PASSWORD, QUOTED, "s3cret"))


def test_the_commands_take_its_address(databases: Databases) -> None:
    """From making the tables to purging, by the option or the environment; the password is in no output."""
    name = databases.empty()
    owner, both = databases.cluster.place("owner", name), databases.cluster.place("everyone", name)
    said = [run(["store", "migrate"], owner, 0), run(["store", "migrate"], owner, 0)]
    assert f"made, version {len(MIGRATIONS)}" in said[0]
    assert "as before" in said[1]
    with open_store(both, Clock()) as store:
        store.keep(replaced("3f2a9c01d4e5"), (output("3f2a9c01d4e5"),))
    for words, wanted in {
        "store path": f"@127.0.0.1:{databases.cluster.port}/{name}",
        "store status": "1 output",
        "store sessions": "1 pass",
        "store check": "everything is as it was kept",
        "recall 3f2a9c01d4e5": "raw 3f2a9c01d4e5",
        "why 3f2a9c01d4e5": "",
        "pin 3f2a9c01d4e5": "Pinned",
        "unpin 3f2a9c01d4e5": "Unpinned",
        "restore 3f2a9c01d4e5": "",
        "store purge --older-than 1d": "Would delete 1 pass",
        "store purge --older-than 1d --yes": "Deleted 1 pass",
    }.items():
        said.append(run(words.split(), both, 0))
        assert wanted in said[-1]
    said.append(run(["recall", "unknown"], both, 3))
    wrong = Server(both.url.replace(QUOTED, "wrong-s3cret"))
    said.append(run(["store", "status"], wrong, 3))
    assert "password authentication failed" in said[-1]
    said.append(run(["store", "status"], Server(f"postgresql://u:{QUOTED}@127.0.0.1:1/none?nonsense=s3cret"), 3))
    assert "is no address" in said[-1]
    said.append(run(["store", "status"], Server(f"postgresql://u:{PASSWORD}@127.0.0.1/none"), 3))
    said.append(run(["store", "migrate"], databases.cluster.place("stranger", name), 4))
    assert not mentions_password("".join(said) + repr(both))


def run(words: list[str], place: Server, code: int) -> str:
    """All that the command writes."""
    done = guard(*words, "--store", given_as(place))
    assert code == done.exit_code, done
    return done.output


def test_the_proxy_and_its_judge_hide_the_password(databases: Databases, tmp_path: Path) -> None:
    """Neither in what they say nor among the arguments of any process."""
    place = databases.place("app")
    command = [sys.executable, "-m", "context_guard_effects.cli", "proxy", "--listen", "127.0.0.1:0"]
    named = {**environment(), "CONTEXT_GUARD_STORE": given_as(place)}
    with subprocess.Popen(command, env=named, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline()
        arguments = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if is_readable(path))
        process.terminate()
        said = "".join(process.communicate(timeout=20))
    assert address.startswith("http://127.0.0.1:")
    assert process.returncode == 0
    assert not mentions_password(said + arguments.decode(errors="replace"))


def is_readable(path: Path) -> bool:
    try:
        return path.exists() and os.access(path, os.R_OK)
    except OSError:
        return False


def test_raw_is_what_was_kept_by_another_user(databases: Databases) -> None:
    """One store for many: what one user's host keeps, another's recalls."""
    name = databases.new()
    with (
        open_store(databases.cluster.place("app", name)) as one,
        open_store(databases.cluster.place("everyone", name)) as two,
    ):
        one.keep(replaced("a"), (output("a"),))
        assert isinstance(two.raw("a"), RawOutput)
