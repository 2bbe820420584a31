"""One folder of `tests/cases` a behaviour; `snapshots/<case>` pins what it leads to, for a reviewer to read."""

from pathlib import Path
from typing import Any

import pytest
from case_files import case_names, load_case, run_case
from invariants import assert_invariants
from syrupy.assertion import SnapshotAssertion
from syrupy.data import Snapshot, SnapshotCollection
from syrupy.extensions.single_file import SingleFileSnapshotExtension

from context_guard.trace import record_json, replacement_text, trace_text
from context_guard_effects.testing.cases import PAGE, missing_lines

ROOT = Path(__file__).resolve().parents[1] / "snapshots"
LONG = 400
FILES = ["trace.txt", "replacement.txt", "record.json"]


def snapshot_names() -> list[str]:
    return sorted(path.name for path in ROOT.iterdir() if path.is_dir())


class TextFile(SingleFileSnapshotExtension):
    """snapshots/<case>/<name>.txt, as bytes: text mode folds line ends."""

    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(ROOT / test_location.item.callspec.params["case"])

    @classmethod
    def discovery_dirname(cls, *, test_location: Any) -> str:
        return str(ROOT)

    @classmethod
    def get_file_basename(cls, *, test_location: Any, index: Any) -> str:
        return str(index)

    @classmethod
    def matches_test_location(cls, *, test_location: Any, snapshot_location: str) -> bool:
        return Path(snapshot_location).parent == Path(cls.dirname(test_location=test_location))

    def owns_snapshot_collection(self, *, filepath: str, test_location: Any) -> bool:
        return self.is_snapshot_location(location=filepath)

    def read_snapshot_collection(self, *, snapshot_location: str) -> SnapshotCollection:
        path = Path(snapshot_location)
        collection = SnapshotCollection(location=snapshot_location)
        collection.add(Snapshot(name=f"test_a_case_reads_as_its_snapshot[{path.parent.name}][{path.stem}]"))
        return collection


class JsonFile(TextFile):
    file_extension = "json"


@pytest.mark.parametrize("case", case_names())
def test_a_case_reads_as_its_snapshot(case: str, snapshot: SnapshotAssertion) -> None:
    """Trace, replacement and record of a case are the ones a reviewer has seen."""
    _, planned, settled = run_case(case)
    texts = snapshot.use_extension(TextFile)
    assert texts(name="trace") == trace_text(planned, settled).encode()
    assert texts(name="replacement") == replacement_text(planned, settled).encode()
    assert snapshot.use_extension(JsonFile)(name="record") == record_json(settled).encode()


@pytest.mark.parametrize("case", case_names())
def test_a_case_keeps_the_invariants(case: str) -> None:
    """What holds for every pass holds for this one."""
    assert_invariants(*run_case(case))


@pytest.mark.parametrize("case", case_names())
def test_a_case_shows_what_it_needs(case: str) -> None:
    """The lines that a case names under `needs` are among those that the model sees."""
    _, _, settled = run_case(case)
    assert {} == missing_lines(load_case(case), settled)


@pytest.mark.parametrize("case", snapshot_names())
def test_a_snapshot_fits_on_a_page(case: str) -> None:
    """Nobody reviews a long diff: a snapshot has at most 60 lines, and a case no fewer files than the others.

    Only a `long` case, made from a session, may have more.
    """
    assert sorted(FILES) == sorted(path.name for path in (ROOT / case).iterdir())
    most = LONG if load_case(case).get("long") else PAGE
    for name in FILES:
        assert len((ROOT / case / name).read_text(encoding="utf-8").split("\n")) <= most + 1, name


def test_every_snapshot_has_its_case() -> None:
    """A case that is gone takes its snapshots along."""
    assert case_names() == snapshot_names()


def test_there_is_a_case_for_every_behaviour() -> None:
    """At least 30 behaviours are pinned."""
    assert len(case_names()) >= 30
