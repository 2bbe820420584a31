"""docs/reviewing.md does what it says: from a wrong decision to a failing case in three commands."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "the-next-question-finds-its-function"


def commands() -> list[list[str]]:
    page = (ROOT / "docs" / "reviewing.md").read_text(encoding="utf-8")
    block = page.split("## From a wrong decision to a failing case")[1].split("```sh\n")[1].split("```")[0]
    return [shlex.split(line) for line in block.splitlines()]


def checkout(folder: Path) -> None:
    """What the commands need of one: sources, tests and the session; of the cases only that folder's own."""
    for name in ("pipeline", "effects", "docs"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("cases", "__pycache__"))
    (folder / "tests" / "cases").mkdir()
    (folder / "snapshots").mkdir()


def run(folder: Path, words: list[str]) -> "subprocess.CompletedProcess[str]":
    program, *rest = words
    module = {"context-guard": "context_guard_effects.cli", "pytest": "pytest"}[program]
    return subprocess.run(
        [sys.executable, "-m", module, *rest],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["pipeline", "effects"])},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_three_commands_lead_to_a_failing_case(tmp_path: Path) -> None:
    """Explained, made a case, seen to fail for the lines that are missing; with a snapshot that alone is left."""
    checkout(tmp_path)
    explain, case, test = commands()
    explained = run(tmp_path, explain)
    assert explained.returncode == 0
    assert "drop chunk_9 p.06 lines 200–225" in explained.stdout
    made = run(tmp_path, case)
    assert (made.returncode, made.stderr) == (0, "")
    text = (tmp_path / "tests" / "cases" / NAME / "case.toml").read_text(encoding="utf-8")
    assert "def apply_settings" in text
    failed = run(tmp_path, test)
    assert failed.returncode == 1
    assert sorted(re.findall(r"^FAILED tests/test_snapshots.py::(\S+)", failed.stdout, re.MULTILINE)) == [
        f"test_a_case_reads_as_its_snapshot[{NAME}]",
        f"test_a_case_shows_what_it_needs[{NAME}]",
    ]
    run(tmp_path, [*test, "--snapshot-update"])
    again = run(tmp_path, test)
    assert re.findall(r"^FAILED \S+::(\w+)", again.stdout, re.MULTILINE) == ["test_a_case_shows_what_it_needs"]


def test_the_other_commands_of_the_page_are_commands(tmp_path: Path) -> None:
    """A trace is written, run again with another setting, and answers for a pass."""
    page = (ROOT / "docs" / "reviewing.md").read_text(encoding="utf-8")
    checkout(tmp_path)
    block = page.split("## What would another setting do?")[1].split("```sh\n")[1].split("```")[0]
    codes = [run(tmp_path, shlex.split(line)).returncode for line in block.splitlines()]
    assert codes == [0, 1, 1, 0]
