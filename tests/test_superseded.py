"""When a later call made an output out of date: what the original sees, and what it misses (issue 3)."""

import json
from typing import Any

import build
import msgspec
import pytest
from case_files import SMALL

from context_guard.span import Call
from context_guard.stages import plan
from context_guard.superseded import same_path, superseded_by

Args = dict[str, Any]
READ = ("read", {"path": "src/a.py"})
CHANGED = "this file was changed after this read ("
AGAIN = "the same file range was read again later ("
SEARCHED = "the file it searched was changed later ("


def hint(first: tuple[str, Args], *later: tuple[str, Args], failed: bool = False, cwd: str | None = None) -> str:
    """The hint for the output of the first call, one turn before each of the others."""
    calls = [
        Call(id=str(turn), name=name, args=json.dumps(args), turn=turn, failed=failed and turn > 0)
        for turn, (name, args) in enumerate([first, *later])
    ]
    return superseded_by(first[0], json.dumps(first[1]), 0, calls, cwd)


@pytest.mark.parametrize(
    "later",
    [
        ("edit", {"path": "src/a.py"}),
        ("write", {"path": "./src/a.py"}),
        ("MultiEdit", {"file_path": "src//a.py"}),
        ("Edit", {"file_path": "src/x/../a.py"}),
        ("edit", {"path": "/work/src/a.py"}),
        ("edit", {"path": "src\\a.py"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"}),
        ("apply_patch", {"patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"}),
        ("bash", {"command": "sed -i 's/a/b/' src/a.py"}),
        ("bash", {"command": "sed -E -i.bak -e 's/a/b/' src/a.py"}),
        ("bash", {"command": "cd /work && perl -pi -e 's/a/b/' src/a.py"}),
        ("bash", {"command": "echo done > src/a.py"}),
        ("bash", {"command": "cat part >> 'src/a.py'"}),
        ("bash", {"command": "make 2>&1 | tee src/a.py"}),
        ("bash", {"command": "git checkout HEAD~1 -- src/a.py"}),
        ("bash", {"command": "git restore src/a.py"}),
        ("bash", {"command": "mv src/a.py src/b.py"}),
        ("bash", {"command": "cp src/b.py src/a.py"}),
        ("bash", {"command": "rm -f src/a.py; ls"}),
        ("shell", {"cmd": "apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/a.py\n*** End Patch\nE"}),
    ],
)
def test_a_read_is_out_of_date_once_its_file_changed(later: tuple[str, Args]) -> None:
    """By an edit tool, a patch or a shell command, under whatever spelling of the path."""
    assert hint(READ, later, cwd="/work").startswith(CHANGED)


@pytest.mark.parametrize(
    "later",
    [
        ("edit", {"path": "src/b.py"}),
        ("edit", {"path": "a.py"}),
        ("bash", {"command": "sed -n 1,20p src/a.py"}),
        ("bash", {"command": "sed 's/a/b/' src/a.py"}),
        ("bash", {"command": "cat src/a.py > copy.py"}),
        ("bash", {"command": "cp src/a.py copy.py"}),
        ("bash", {"command": "pytest src/a.py 2>&1"}),
        ("bash", {"command": "git diff src/a.py"}),
        ("bash", {"command": "echo '* src/a.py' && ls"}),
        ("read", {"path": "src/a.py", "offset": 100}),
        ("read", {"path": "src/a.py", "limit": 10}),
        ("read", {}),
    ],
)
def test_a_read_stays_current_while_its_file_is_only_looked_at(later: tuple[str, Args]) -> None:
    """Another file, a shell command that only reads, another range."""
    assert hint(READ, later, cwd="/work") == ""


@pytest.mark.parametrize(
    "later", [("edit", {"path": "src/a.py"}), ("bash", {"command": "sed -i s/a/b/ src/a.py"}), READ]
)
def test_a_failed_call_makes_nothing_out_of_date(later: tuple[str, Args]) -> None:
    """An edit that failed changed nothing, and a read that failed shows nothing."""
    assert hint(READ, later, failed=True) == ""


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ({"path": "./src/a.py"}, True),
        ({"path": "src/a.py", "offset": 1}, True),
        ({"path": "src/a.py", "offset": 0}, True),
        ({"path": "src/a.py", "limit": None}, True),
        ({"path": "src/a.py", "offset": 2}, False),
    ],
)
def test_a_read_is_out_of_date_once_its_range_was_read_again(later: Args, expected: bool) -> None:
    """The same lines of the same file: offset 1 is none, a limit of null is none."""
    assert expected == hint(READ, ("read", later)).startswith(AGAIN)


@pytest.mark.parametrize(
    ("first", "later", "expected"),
    [
        ("npm test", "npm  test 2>&1", "the same command ran again later (1 turn later)"),
        ("npm test", "npm test -- --watch", ""),
        ("npm test\n", " npm test", "the same command ran again later (1 turn later)"),
    ],
)
def test_a_command_is_out_of_date_once_it_ran_again(first: str, later: str, expected: str) -> None:
    """White space and a trailing 2>&1 make no other command; other arguments do."""
    assert expected == hint(("bash", {"command": first}), ("shell", {"cmd": later}))


def test_a_call_without_a_command_is_out_of_date_once_it_is_repeated() -> None:
    """The same tool with the same arguments."""
    assert (
        hint(("grep", {"pattern": "x"}), ("grep", {"pattern": "x"}))
        == "the same grep call ran again later (1 turn later)"
    )
    assert hint(("grep", {"pattern": "x"}), ("grep", {"pattern": "y"})) == ""


@pytest.mark.parametrize(
    "first",
    [
        ("grep", {"pattern": "limit", "path": "./src/a.py"}),
        ("bash", {"command": "grep -n limit src/a.py"}),
        ("bash", {"command": "cat src/a.py"}),
    ],
)
def test_a_search_is_out_of_date_once_its_file_changed(first: tuple[str, Args]) -> None:
    """A search in one file that changed later; a search over folders is left alone."""
    change = ("edit", {"path": "src/a.py"})
    assert hint(first, change).startswith(SEARCHED)
    assert hint(("grep", {"pattern": "limit", "path": "src"}), change) == ""
    assert hint(("bash", {"command": "rg limit"}), change) == ""


def test_only_later_turns_count() -> None:
    """A call of the same turn saw the same file."""
    calls = [Call("1", "read", '{"path": "a"}', 0), Call("2", "edit", '{"path": "a"}', 0)]
    assert superseded_by("read", '{"path": "a"}', 0, calls) == ""


def test_the_first_reason_is_named_with_its_distance() -> None:
    """Of several later calls, the first that made it out of date is told."""
    late = ("bash", {"command": "ls"})
    assert hint(READ, late, ("edit", {"path": "src/a.py"}), READ) == f"{CHANGED}edit src/a.py, 2 turns later)"


@pytest.mark.parametrize(
    ("one", "other", "cwd"),
    [
        ("./a", "a", None),
        ("a//b", "a/b", None),
        ("x/../a", "a", None),
        ("/work/a", "a", "/work"),
        ("/work/a", "a", "/work/"),
        ("C:\\work\\A.py", "c:/work/a.py", None),
        ("C:\\work\\a.py", "a.py", "C:\\work"),
        ("src\\a.py", "src/a.py", None),
    ],
)
def test_one_file_has_many_spellings(one: str, other: str, cwd: str | None) -> None:
    """Relative, absolute, with dots, with backslashes, and under a drive in any case."""
    assert same_path(one, other, cwd)
    assert same_path(other, one, cwd)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "b/a"), ("/a", "a"), ("a.py", "A.py"), ("../a", "a"), ("D:/a", "C:/a")]
)
def test_different_files_are_told_apart(one: str, other: str) -> None:
    """Paths are case-sensitive, except under a drive, and a relative one is not absolute."""
    assert not same_path(one, other, "/work")


def test_a_small_output_is_sent_with_its_hint() -> None:
    """The judge of small outputs is told which of them are out of date, at run end too."""
    transcript = build.session(
        build.prompt("Raise the limit."),
        build.call(*READ),
        build.result(build.lines(9)),
        build.call("bash", {"command": "sed -i s/10/20/ src/a.py"}),
        build.result("done"),
        build.answer("Done."),
    )
    config = msgspec.structs.replace(SMALL, min_result_chars=4_000, small_result_min_chars=100)
    (request,) = plan(transcript, config).requests
    assert [f"{CHANGED}bash `sed -i s/10/20/ src/a.py`, 1 turn later)"] == [it.superseded for it in request.state.parts]
