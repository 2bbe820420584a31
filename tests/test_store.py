"""The store on disk. What every store has to do is in `context_guard_effects.testing.store_conformance`."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from kill_writers import kill_writers
from store_attempts import ATTEMPTS, Attempts, check_attempts

from context_guard_effects.store import Store, StoreError, blobs, default_place, memory_store, open_store
from context_guard_effects.store.connect import migrate
from context_guard_effects.store.schema import MIGRATIONS
from context_guard_effects.testing.store_conformance import CHECKS, SHARED_CHECKS, Check, Clock, output, replaced


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_file_is_a_store(check: Check, tmp_path: Path) -> None:
    """It does what every store has to do."""
    clock = Clock()
    with open_store(tmp_path / "store.db", clock) as store:
        check(store, clock)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_is_a_store(check: Check) -> None:
    """So does the one for tests and for hosts that keep nothing."""
    clock = Clock()
    with memory_store(clock) as store:
        check(store, clock)


@pytest.mark.parametrize("check", SHARED_CHECKS, ids=lambda check: check.__name__)
def test_handles_share_a_file(check: Callable[[Store, Store, Clock], None], tmp_path: Path) -> None:
    """Two connections, as two processes have them."""
    clock = Clock()
    with open_store(tmp_path / "s", clock) as store, open_store(tmp_path / "s", clock) as other:
        check(store, other, clock)


@settings(max_examples=50, deadline=None)
@given(ATTEMPTS)
def test_kept_means_found_and_refused_means_unchanged(attempts: Attempts) -> None:
    """Any pass and any outputs: either all of it is there, equal, or nothing of it."""
    with memory_store(Clock()) as store:
        check_attempts(store, attempts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with one pass of two outputs."""
    path = tmp_path / "own folder" / "store #1?.db"
    with open_store(path) as store:
        store.keep(replaced("a", "b"), (output("a"), output("b", "long\n" * 9_000)))
    return path


def refused(path: Path) -> str:
    """What is said when it is opened; the folder has to be as it was, byte for byte."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert before == {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    assert str(path) in caught.value.message
    return caught.value.message


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_the_user_may_read_it(path: Path) -> None:
    """The file, what SQLite puts beside it while it is open, and the folder that was made for it."""
    with open_store(path) as store:
        store.keep(replaced("c"), (output("c"),))
        modes = {file.name.removeprefix(path.name): file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert {"": 0o600, "-wal": 0o600, "-shm": 0o600} == modes
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name] == [file.name for file in path.parent.iterdir()]


def test_it_lies_with_the_data_of_the_user(tmp_path: Path) -> None:
    """Unless the environment names another file."""
    assert "context-guard" in str(default_place({}))
    assert tmp_path / "x.db" == default_place({"CONTEXT_GUARD_STORE": str(tmp_path / "x.db")})
    assert default_place({}) == default_place({"CONTEXT_GUARD_STORE": ""})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"{}\n", "is not a store"),
        (b"SQLite format 3\0" + bytes(50), "is not a store"),
        (bytes(4096), "is not a store"),
    ],
)
def test_a_foreign_file_is_left_alone(content: bytes, said: str, tmp_path: Path) -> None:
    """The error says what it is not, and what to do."""
    path = tmp_path / "store.db"
    path.write_bytes(content)
    assert said in refused(path)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Also one with a log beside it, which SQLite would put into the file."""
    path = tmp_path / "store.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE other (x)")
    copy = tmp_path / "copy" / "store.db"
    copy.parent.mkdir()
    for file in (path, path.with_name("store.db-wal")):
        shutil.copy(file, copy.parent)
    db.close()
    assert "another program" in refused(path)
    assert "another program" in refused(copy)


def test_a_folder_or_a_missing_link_is_left_alone(tmp_path: Path) -> None:
    """What is no file is neither opened nor replaced."""
    assert "is not a file" in refused(tmp_path)
    (tmp_path / "store.db").symlink_to(tmp_path / "nowhere")
    assert "no such file" in refused(tmp_path / "store.db")


def test_a_newer_store_is_left_alone(path: Path) -> None:
    """The schema of a later version is not guessed at."""
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    assert "newer context-guard" in refused(path)


def test_a_torn_store_is_left_alone(path: Path) -> None:
    """Cut off anywhere, at the end of a page or within one, or with more behind it."""
    data = path.read_bytes()
    for size in (1, 99, 100, 512, 4_096, len(data) // 2, len(data) - 4_096, len(data) - 1):
        path.write_bytes(data[:size])
        assert refused(path)
    path.write_bytes(data + data[:100])
    assert "torn" in refused(path)


def test_a_flipped_bit_in_the_header_is_refused_or_harmless(path: Path) -> None:
    """One of each byte: the store is refused as it is, or gives back what was kept."""
    data = path.read_bytes()
    refusals = 0
    for place in range(100):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            with open_store(path) as store:
                assert output("b", "long\n" * 9_000) == store.raw("b")
                assert 1 == len(store.find(["a"]))
        except StoreError:
            refusals += 1
        assert bytes(flipped) == path.read_bytes()
        assert [path.name] == [file.name for file in path.parent.iterdir()]
    assert refusals > 60


def test_a_flipped_bit_in_the_pages_is_found(path: Path) -> None:
    """Anywhere behind the header: the right text or an error, never a wrong text; nothing is written."""
    data = path.read_bytes()
    right = {"a": output("a"), "b": output("b", "long\n" * 9_000)}
    faults = 0
    for place in range(100, len(data), 397):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        for id, wanted in right.items():
            try:
                with open_store(path) as store:
                    assert store.raw(id) in (wanted, None)
                    assert {kept.edits for kept in store.find([id])} <= {replaced("a", "b").edits}
            except StoreError:
                faults += 1
        assert bytes(flipped) == path.read_bytes()
    assert faults > 0


def test_a_damaged_content_is_an_error_and_given_again_it_is_mended(path: Path) -> None:
    """Recall says that it is damaged; `check` names the output."""
    db = sqlite3.connect(path)
    db.execute("UPDATE blob SET data = zeroblob(9) WHERE id = (SELECT text FROM output WHERE id = x'62')")
    db.commit()
    db.close()
    with open_store(path) as store:
        with pytest.raises(StoreError, match="damaged"):
            store.raw("b")
        assert ("output b: its content is damaged",) == store.check()
        store.keep(replaced("b"), (output("b", "long\n" * 9_000),))
        assert output("b", "long\n" * 9_000) == store.raw("b")


def test_what_cannot_be_read_back_is_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that does not keep what was written: an error, and no edit that anybody could use."""
    with open_store(path) as store:
        before = store.find(["a", "new"])
        with monkeypatch.context() as broken:
            broken.setattr(blobs, "pack", lambda data: ("plain", data[:-1]))
            with pytest.raises(StoreError, match="damaged"):
                store.keep(replaced("a", "new"), (output("a"), output("new")))
        assert before == store.find(["a", "new"])
        assert (output("a"), None) == (store.raw("a"), store.raw("new"))
        assert () == store.check()
        store.keep(replaced("new"), (output("new"),))


def test_a_full_disk_loses_nothing(path: Path) -> None:
    """The pass is refused whole, with what to do, and the store goes on."""
    with open_store(path) as store:
        pages = int(store._opened.db.execute("PRAGMA page_count").fetchone()[0])
        store._opened.db.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match=r"the disk is full\. Make room"):
            store.keep(replaced("new", "big"), (output("new"), output("big", random.Random(1).randbytes(99_999).hex())))
        assert (None, ()) == (store.raw("new"), store.find(["new", "big"]))
        assert output("a") == store.raw("a")
        assert () == store.check()


def test_a_writer_that_waits_too_long_says_so(path: Path) -> None:
    """Another process has the store locked for longer than anybody waits; reading goes on."""
    with open_store(path) as store, open_store(path) as other:
        store._opened.db.execute("PRAGMA busy_timeout = 20")
        other._opened.db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another process"):
            store.keep(replaced("new"), (output("new"),))
        assert output("a") == store.raw("a")
        other._opened.db.execute("ROLLBACK")
        store.keep(replaced("new"), (output("new"),))


def test_an_older_schema_is_brought_up_whole(tmp_path: Path) -> None:
    """Step by step from where it is, all or nothing; what a step fails at leaves the version before."""
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    steps = (("CREATE TABLE one (x)",), ("ALTER TABLE one ADD COLUMN y", "INSERT INTO one VALUES (1, 2)"))
    migrate(db, "x", steps[:1])
    migrate(db, "x", steps)
    migrate(db, "x", steps)
    assert [(1, 2)] == db.execute("SELECT * FROM one").fetchall()
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, "x", (*steps, ("CREATE TABLE three (x)", "CREATE TABLE one (x)")))
    assert (2,) == db.execute("PRAGMA user_version").fetchone()
    assert [("one",)] == db.execute("SELECT name FROM sqlite_master").fetchall()
    with pytest.raises(StoreError, match="newer"):
        migrate(db, "x", steps[:1])
    db.close()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be deleted")
def test_a_deleted_file_is_made_anew(path: Path) -> None:
    """To delete everything, delete the file: an open store notices, and goes on with an empty one."""
    with open_store(path) as store:
        path.unlink()
        assert None is store.raw("a")
        store.keep(replaced("a"), (output("a"),))
        with open_store(path) as other:
            assert output("a") == other.raw("a")


def test_a_purge_leaves_no_byte_of_it(path: Path) -> None:
    """Neither in the file nor in the log beside it."""
    with open_store(path) as store:
        secret = output("secret", "my-secret-text")
        store.keep(replaced("secret", session="secret-session"), (secret,))
        store.purge(session="secret-session")
        files = b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert b"secret-" not in files
        assert output("a") == store.raw("a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_opens_a_connection_of_its_own(path: Path) -> None:
    """Parent and child write at once and lose nothing."""
    script = f"""
import os, sys
from pathlib import Path
from context_guard_effects.store import open_store
from context_guard_effects.testing.store_conformance import output, replaced
store = open_store(Path({str(path)!r}))
child = os.fork()
name = "parent" if child else "child"
for n in range(10):
    store.keep(replaced(f"{{name}}{{n}}"), (output(f"{{name}}{{n}}"),))
if child:
    sys.exit(os.waitpid(child, 0)[1])
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    with open_store(path) as store:
        assert 20 == len(store.find([f"{name}{n}" for name in ("parent", "child") for n in range(10)]))
        assert () == store.check()


def environment() -> dict[str, str]:
    root = Path(__file__).resolve().parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "pipeline"), str(root / "effects")])}


def test_writers_may_be_killed_at_any_point(tmp_path: Path) -> None:
    """What `keep` returned is there, and no edit without its raw text; `.ci/run` kills 200 times."""
    tally = kill_writers(tmp_path, kills=15, seed=1)
    assert 15 == tally.kills
    assert tally.passes > 0
    assert tally.outputs >= tally.passes


def test_a_store_is_opened_by_the_name_of_its_file(tmp_path: Path) -> None:
    """A path may be given as a string."""
    with open_store(str(tmp_path / "new" / "store.db")) as store:
        assert store.status().place == str(tmp_path / "new" / "store.db")
