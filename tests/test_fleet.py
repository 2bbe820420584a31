"""Many sessions at once, as far as it needs no package of its own: engines, batches, places, and what is refused."""

import os
import signal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from command_line import complaint, guard
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from recorded_sessions import Turn, claude_code

from context_guard.cost.audit import Audited, Terms
from context_guard_effects.audit.pool import LocalEngine
from context_guard_effects.audit.summary import Gathered, summarize
from context_guard_effects.audit.units import Unit
from context_guard_effects.audit.work import Outcome, audit_unit
from context_guard_effects.fleet.auditing import COLUMNS, audit_rows, read_outcomes
from context_guard_effects.fleet.engine import BATCH, BATCH_BYTES, Mapped, cut_batches
from context_guard_effects.fleet.urls import is_url, to_place

EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "examples" / "pi-search.jsonl"
TURNS = (Turn("Where is it?", (("ls", "a\nb"),), "Two files."),)


@given(st.lists(st.integers(0, 2 * BATCH_BYTES), max_size=3 * BATCH))
def test_batches_are_the_units_in_their_order(sizes: list[int]) -> None:
    """None is lost, none divided; a batch is large only if its one unit is."""
    units = [Unit(f"{at:04}", size=size) for at, size in enumerate(sizes)]
    batches = list(cut_batches(units))
    assert units == [unit for batch in batches for unit in batch]
    assert all(0 < len(it) <= BATCH for it in batches)
    assert all(len(it) == 1 or sum(unit.size for unit in it) <= BATCH_BYTES for it in batches)


def test_every_figure_of_an_audit_has_a_column() -> None:
    assert set(COLUMNS.values()) <= {str, int, float, bool}


def double(item: int) -> int:
    return 2 * item


def double_or_die(item: int) -> int:
    if item == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * item


def minus(item: int) -> int:
    return -item


def drained(pulled: list[int], batches: Iterable[tuple[int, ...]]) -> Iterable[tuple[int, ...]]:
    for batch in batches:
        pulled += batch
        yield batch


def test_an_item_that_kills_its_process_costs_no_other() -> None:
    """The batch is tried again, then its items one by one; batches behind it go on."""
    batches = [tuple(range(at, at + 2)) for at in (0, 12, 20)]
    found = {batch: it for batch, *it in LocalEngine(2).map(Mapped(double_or_die, minus, sum), batches)}
    wanted = {it: tuple(-13 if one == 13 else 2 * one for one in it) for it in batches}
    assert {it: [outcomes, sum(outcomes)] for it, outcomes in wanted.items()} == found


@pytest.mark.parametrize("jobs", [1, 2])
def test_batches_are_taken_a_few_ahead(jobs: int) -> None:
    """Whatever their number: memory stays flat."""
    pulled: list[int] = []
    running = LocalEngine(jobs).map(Mapped(double, minus, sum), drained(pulled, ((it,) for it in range(10**9))))
    ahead = []
    for done, _ in enumerate(running):
        ahead.append(len(pulled) - done)
        if done == 20:
            break
    running.close()
    assert max(ahead) <= 6


def test_a_place_is_a_path_or_a_url() -> None:
    """file:// is a path of this machine, everything else is left as it is."""
    assert "/a b/c" == to_place("file:///a%20b/c")
    assert "s3://bucket/a b" == to_place("S3://bucket/a b")
    assert "some/folder" == to_place("some/folder/")
    assert [True, False, False] == [is_url("gs://b/x"), is_url("/a/b"), is_url("C:\\sessions")]


def outcomes(folder: Path) -> list[Outcome]:
    (folder / "good.jsonl").write_bytes(claude_code(TURNS))
    (folder / "cut.json").write_text('{"messages": [{"role": "us')
    (folder / "empty.jsonl").write_text("")
    (folder / "other.json").write_text("{}")
    units = [Unit(str(it), size=it.stat().st_size) for it in sorted(folder.iterdir())]
    return [audit_unit(it, Terms()) for it in units]


def test_a_row_is_the_session_again(tmp_path: Path) -> None:
    """Whatever became of a file: the summary of the rows is that of the outcomes."""
    found = outcomes(tmp_path)
    rows = [{**dict.fromkeys(COLUMNS), **row} for it in found for row in audit_rows(it)]
    assert ["unreadable", "empty", "audited", "unknown"] == [row["outcome"] for row in rows]
    assert COLUMNS.keys() == rows[0].keys()
    again = list(read_outcomes(rows))
    assert [it.sessions for it in found] == [it.sessions for it in again]
    gathered = Gathered([])
    for each in again:
        gathered.add(each)
    assert gathered.summary() == summarize(again, [], None)


@cache
def example() -> Audited:
    (one,) = audit_unit(Unit(str(EXAMPLE)), Terms()).sessions
    return one


@given(st.lists(st.integers(0, 5_000), max_size=30), st.integers(1, 5))
def test_a_summary_keeps_no_more_than_it_shows(kept: list[int], most: int) -> None:
    """The best of however many, and the sums of all."""
    one = example()
    sessions = [
        Outcome(
            Unit(f"{at:03}"),
            (replace(one, kept_out_chars=chars),),
        )
        for at, chars in enumerate(kept)
    ]
    shown, whole = summarize(sessions, [], most), summarize(sessions, [], None)
    assert whole.sessions[:most] == shown.sessions
    assert (whole.total, whole.groups) == (shown.total, shown.groups)


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the command that installs it, and an exit code; nothing is written."""
    without(monkeypatch, "distributed", "fsspec", "pyarrow", "pyarrow.parquet")
    (tmp_path / "s.jsonl").write_bytes(claude_code(TURNS))
    out = tmp_path / "out"
    for code, *words in (
        (7, "audit", tmp_path, "--engine", "dask"),
        (7, "diff", tmp_path, "--engine", "dask"),
        (3, "audit", "s3://bucket/sessions"),
        (3, "replay", "s3://bucket/traces"),
        (4, "audit", tmp_path, "--out", out, "--jobs", 1),
    ):
        run = guard(*words)
        assert code == run.exit_code
        assert "pip install 'context-guard[fleet]'" in complaint(run)
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "--scheduler", "tcp://a:1"], "give --engine dask with it"),
        (["diff", "x", "y", "--engine", "dask"], "leave NEW out"),
        (["diff", "x", "--html", "p", "--out", "o"], "leave NEW out, and --html"),
        (["diff", "x", "--engine", "dask", "--judge", "jev"], "use --judge local"),
        (["replay", "x", "--engine", "dask", "-o", "y"], "-o writes one new trace"),
        (["audit", "--engine", "spark"], "'spark'"),
    ],
    ids=" ".join,
)
def test_a_mistake_of_usage_is_told_before_the_work(words: list[str], said: str) -> None:
    run = guard(*words)
    assert (2, True) == (run.exit_code, said in complaint(run))
