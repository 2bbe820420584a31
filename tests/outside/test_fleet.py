"""Many sessions on a real Dask cluster of this machine, with real Parquet and fsspec."""

import asyncio
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fleet_sessions import write_sessions
from command_line import complaint, guard
from recorded_sessions import Turn, claude_code, codex, opencode_file, write_all
from shared_data import needs_shared

from context_guard_effects.fleet.dask_engine import open_dask
from context_guard_effects.fleet.engine import FleetError, Mapped, Unlisted
from context_guard_effects.fleet.folders import open_folder
from context_guard_effects.fleet.objects import find_objects
from context_guard_effects.fleet.table import encode_part, read_rows, write_table

pq = pytest.importorskip("pyarrow.parquet", reason="pip install -e '.[fleet]'")
distributed = pytest.importorskip("distributed", reason="pip install -e '.[fleet]'")
fsspec = pytest.importorskip("fsspec", reason="pip install -e '.[fleet]'")

pytestmark = [
    pytest.mark.outside,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

ROOT = Path(__file__).resolve().parents[2]
TURNS = (Turn("Where is it?", (("ls", "a\nb"),), "Two files."),)
SEED = 20_261_201


def start(*words: object) -> "subprocess.Popen[str]":
    """In a process group of its own, so that all of it can be killed."""
    return subprocess.Popen(
        [sys.executable, "-m", "context_guard_effects", *map(str, words)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'pipeline'}{os.pathsep}{ROOT / 'effects'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(*words: object, code: int = 0) -> str:
    """What it printed; its stderr where it should fail."""
    process = start(*words)
    printed, said = process.communicate(timeout=300)
    assert code == process.returncode, said
    return printed if code == 0 else said


def figures(text: str) -> str:
    """Without what the clock says."""
    return re.sub(r"judge took [\d.]+ s", "", text)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet") / "sessions"
    write_sessions(folder, 5_000)
    (folder / "00002" / "broken.json").write_text('{"messages": [{"role": "us')
    return folder


@needs_shared
def test_five_thousand_sessions_give_one_table(sessions: Path, tmp_path: Path) -> None:
    """On processes here and on Dask, killed at a random point and started again: the same bytes, the same summary."""
    here, dask = tmp_path / "here", tmp_path / "dask"
    told = run("audit", sessions, "--out", here)
    killed = start("audit", sessions, "--engine", "dask", "--jobs", 2, "--out", dask)
    at = random.Random(SEED).randrange(1, 40)
    wait_for(dask, at, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    done = {it: it.stat().st_mtime_ns for it in dask.glob("parts/*.parquet")}
    assert at <= len(done) < 50
    assert not (dask / "audit.parquet").exists()
    again = run("audit", sessions, "--engine", "dask", "--jobs", 2, "--out", dask)
    assert figures(told) == figures(again)
    assert done == {it: it.stat().st_mtime_ns for it in done}
    assert (here / "audit.parquet").read_bytes() == (dask / "audit.parquet").read_bytes()
    table = pq.read_table(dask / "audit.parquet").to_pylist()
    assert sorted(it["path"] for it in table) == [it["path"] for it in table]
    assert 5_001 == len({it["path"] for it in table})
    assert [("broken.json", "It is not JSON, or cut off: give a whole file.")] == [
        (Path(it["path"]).name, it["error"]) for it in table if it["outcome"] == "unreadable"
    ]


def double_or_die(item: int) -> int:
    if item == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * item


def minus(item: int) -> int:
    return -item


def test_an_item_that_kills_its_worker_costs_no_other() -> None:
    """Dask gives its batch up after some workers; alone, and item by item, only that one is lost."""
    batches = [tuple(range(at, at + 3)) for at in range(0, 21, 3)]
    with open_dask(None, 2) as engine:
        found = {batch: it for batch, *it in engine.map(Mapped(double_or_die, minus, sum), batches)}
    wanted = {it: tuple(-13 if one == 13 else 2 * one for one in it) for it in batches}
    assert {it: [outcomes, sum(outcomes)] for it, outcomes in wanted.items()} == found


def test_a_cluster_of_the_user_does_the_work(tmp_path: Path) -> None:
    """By its address; without workers, or where nobody answers, one line and exit code 7."""
    write_all(tmp_path, TURNS)
    (tmp_path / "out").mkdir()
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=1, **options) as cluster:
        words = ("audit", tmp_path, "--json", "--engine", "dask", "--scheduler", cluster.scheduler_address)
        found = json.loads(run(*words))
    here = json.loads(run("audit", tmp_path, "--json"))
    for it in (found, here):
        it["judge"].pop("seconds")
    assert here == found
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in run(
        "audit", tmp_path, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", code=7
    )


@needs_shared
def test_an_interrupt_and_a_lost_scheduler_are_told_in_a_line(sessions: Path, tmp_path: Path) -> None:
    """Of the first the figures so far are printed; of both the parts stay, and the same command goes on."""
    out = tmp_path / "out"
    words = ("audit", sessions, "--engine", "dask", "--out", out)
    first = start(*words, "--jobs", 1)
    wait_for(out, 1, first)
    os.killpg(first.pid, signal.SIGINT)
    printed, said = first.communicate(timeout=60)
    assert (130, "context-guard: the same command goes on from here\n") == (first.returncode, said)
    assert "Interrupted: these are the sessions that were done." in printed
    script = (
        "import distributed, os, time\n"
        "if __name__ == '__main__':\n"
        "    cluster = distributed.LocalCluster(n_workers=1, host='127.0.0.1', dashboard_address='127.0.0.1:0')\n"
        "    print(cluster.scheduler_address, flush=True)\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "cluster.py").write_text(script)
    cluster = subprocess.Popen(
        [sys.executable, tmp_path / "cluster.py"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'pipeline'}{os.pathsep}{ROOT / 'effects'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert cluster.stdout is not None
    with cluster.stdout as stdout:
        second = start(*words, "--scheduler", stdout.readline().strip())
        wait_for(out, len(list(out.glob("parts/*.parquet"))) + 1, second)
        os.killpg(cluster.pid, signal.SIGKILL)
        cluster.wait()
    _, said = second.communicate(timeout=60)
    assert (7, 1, True) == (second.returncode, said.count("\n"), "the Dask scheduler is gone" in said)


def wait_for(out: Path, parts: int, process: "subprocess.Popen[str]") -> None:
    while len(list(out.glob("parts/*.parquet"))) < parts and process.poll() is None:
        time.sleep(0.02)


async def knock(address: str, **keys: object) -> None:
    """Raises when the scheduler does not let this one in, with a message of Dask's first words."""
    comm = await distributed.comm.connect(address, timeout=5, **keys)
    try:
        await comm.write({"op": "identity", "reply": True})
        await comm.read()
    finally:
        comm.abort()


def test_nobody_else_may_talk_to_a_cluster_here() -> None:
    """It listens on loopback alone, and who has no key of this run is refused: others would run code as its user."""
    with open_dask(None, 1) as engine:
        address = engine._client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        own = engine._client.security.get_connection_args("client")
        strangers = distributed.Security.temporary().get_connection_args("client")
        strangers["ssl_context"].verify_mode = ssl.CERT_NONE  # it asks nobody who they are
        asyncio.run(knock(address, **own))
        for other, keys in ((address.replace("tls", "tcp"), {}), (address, strangers)):
            with pytest.raises(distributed.comm.CommClosedError):
                asyncio.run(knock(other, **keys))


@pytest.fixture
def bucket() -> Iterator[Any]:
    """An object store in memory."""
    files = fsspec.filesystem("memory")
    files.rm("/bucket", recursive=True) if files.exists("/bucket") else None
    yield files
    files.rm("/bucket", recursive=True)


def test_an_object_store_is_audited_as_a_folder_is(tmp_path: Path, bucket: Any) -> None:
    """Files, folders of events and databases; what cannot be read is listed; the table goes there too."""
    count = write_all(tmp_path, TURNS)
    (tmp_path / "cut.json").write_text('{"messages": [{"role": "us')
    bucket.put(f"{tmp_path}/", "/bucket/", recursive=True)
    words = ("audit", "memory://bucket", "--jobs", 1, "--json", "--out", "memory://bucket/out")
    there = guard(*words)
    here = json.loads(guard("audit", tmp_path, "--jobs", 1, "--json").stdout)
    found = json.loads(there.stdout)
    assert (0, count) == (there.exit_code, found["total"]["sessions"])
    assert here["groups"] == found["groups"]
    assert ["memory:///bucket/cut.json"] == [it["path"] for it in found["broken"]]
    again = guard(*words)
    assert found["sessions"] == json.loads(again.stdout)["sessions"]
    rows = read_rows(bucket.cat_file("/bucket/out/audit.parquet"))
    assert count == sum(it["outcome"] == "audited" for it in rows)


def test_a_place_that_cannot_be_opened_is_told() -> None:
    """Unknown schemes with one line; a URL without anything behind it as any named path."""
    with pytest.raises(Unlisted):
        list(find_objects("nowhere://x/y"))
    run = guard("audit", "memory://nothing-here")
    assert (3, True) == (run.exit_code, "There is no such file." in complaint(run))


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Other settings, other places, another command, or files that are no run's: nothing of them is touched."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "s.jsonl").write_bytes(claude_code(TURNS))
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    words = ("audit", tmp_path / "in", "--jobs", 1, "--out")
    assert 0 == guard(*words, out).exit_code
    before = {it: it.read_bytes() for it in tmp_path.rglob("*") if it.is_file()}
    for said, *other in (
        ("settings was {}, and is", *words, out, "--set", "minRunChars=9000"),
        ("inputs was", "audit", tmp_path / "in" / "s.jsonl", "--jobs", 1, "--out", out),
        ("command was", "diff", tmp_path / "in", "--jobs", 1, "--out", out),
        ("holds other files", *words, mine),
    ):
        refused = guard(*other)
        assert (4, True) == (refused.exit_code, said in complaint(refused)), refused.stderr
    assert before == {it: it.read_bytes() for it in tmp_path.rglob("*") if it.is_file()}


def test_what_cannot_be_listed_is_in_the_table(tmp_path: Path) -> None:
    """Beside the sessions that can: a link that leads nowhere, a file that was named and is not there."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "s.jsonl").write_bytes(claude_code(TURNS))
    (tmp_path / "in" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    run = guard("audit", tmp_path / "in", tmp_path / "missing", "--jobs", 1, "--out", tmp_path / "out")
    assert 3 == run.exit_code
    rows = pq.read_table(tmp_path / "out" / "audit.parquet").to_pylist()
    assert ["s.jsonl", "gone.jsonl", "missing"] == [Path(it["path"]).name for it in rows]
    assert [None, "No such file or directory.", "There is no such file."] == [it["error"] for it in rows]


def test_a_session_that_changed_is_audited_again(tmp_path: Path) -> None:
    """Parts are named by what went into them; the table is of what is there now."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "s.jsonl").write_bytes(claude_code(TURNS))
    words = ("audit", folder, "--jobs", 1, "--json", "--out", out)
    assert ["claude-code"] == [it["host"] for it in json.loads(guard(*words).stdout)["sessions"]]
    (folder / "s.jsonl").write_bytes(codex(TURNS))
    opencode_file(folder / "opencode.db", TURNS)
    assert {"codex", "opencode"} == {it["host"] for it in json.loads(guard(*words).stdout)["sessions"]}


def test_diff_and_replay_are_spread_the_same_way(tmp_path: Path) -> None:
    """The report is that of a single machine; the table has the counts of every session."""
    folder, traces = tmp_path / "in", tmp_path / "traces"
    folder.mkdir()
    example = ROOT / "docs" / "examples" / "pi-search.jsonl"
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_bytes(example.read_bytes())
        guard("trace", example, "-o", traces / f"{name}.json")
    words = ("--set", "chunkKeepThreshold=0.68")
    one = guard("diff", folder, *words)
    spread = start("diff", folder, *words, "--engine", "dask")
    printed, said = spread.communicate(timeout=120)
    assert (1, one.stdout) == (spread.returncode, printed), said
    for command, place in (("diff", folder), ("replay", traces)):
        out = tmp_path / command
        told = guard(command, place, *words, "--jobs", 1, "--out", out)
        assert (1, one.stdout.splitlines()[-2:]) == (told.exit_code, told.stdout.splitlines()), told.stderr
        rows = pq.read_table(out / f"{command}.parquet").to_pylist()
        assert [1, 1] == [it["changed"] for it in rows]


def test_a_table_holds_what_a_file_can_say(tmp_path: Path) -> None:
    """Half characters, numbers beyond 64 bits, nothing at all: a row is never lost for what stands in it."""
    columns = {"text": str, "count": int, "share": float, "is": bool}
    rows = [{"text": "half \ud83d", "count": 10**30, "share": 10**400, "is": True}, {}]
    part = encode_part(rows, columns)
    assert part == encode_part(rows, columns)
    found = list(read_rows(part))
    assert ("half \\ud83d", 2**63 - 1, True) == (found[0]["text"], found[0]["count"], found[0]["is"])
    assert dict.fromkeys(columns) == found[1]
    with (tmp_path / "t").open("wb") as file:
        write_table([part, part], columns, file)
    assert 4 == pq.read_table(tmp_path / "t").num_rows
    with pytest.raises(FleetError):
        list(read_rows(part[:-9]))


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FleetError):
        open_folder(str(tmp_path / "file" / "out")).names()
