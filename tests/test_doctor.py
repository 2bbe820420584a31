"""The doctor names every fault of a session and mends by appending alone what can be mended."""

import json
from itertools import count
from pathlib import Path

import pytest
from broken_sessions import FAULTS, HEALTHY, Fault, broken
from command_line import guard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shared_data import SHARED, needs_shared

from context_guard.doctor import KINDS, Finding, Repair, examine, plan_repair
from context_guard.formats.pi_mends import mend_lines
from context_guard.formats.pi_session import parse, project
from context_guard_effects.cli.exits import OK, UNHEALTHY, UNREADABLE, UNWRITABLE
from context_guard_effects.hosts.pi import lock_path

NOW = "2026-12-01T08:00:00.000Z"
SEVERITIES = {True: "bricks", False: "shortens", None: "harmless"}

each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())


def findings(data: bytes) -> tuple[Finding, ...]:
    return examine(data).unwrap()


def repaired(data: bytes) -> tuple[bytes, Repair]:
    repair = plan_repair(data)
    if not repair.mends:
        return data, repair
    lines = mend_lines(parse(data).unwrap(), repair.mends, map("{:08x}".format, count(0xD0C00000)), NOW)
    return data + lines, repair


def urgent(found: tuple[Finding, ...]) -> list[str]:
    return [finding.kind for finding in found if finding.is_urgent]


@each_fault
def test_a_fault_is_named(fault: Fault) -> None:
    """With its kind and how bad it is, at a line of the file."""
    named = [finding for finding in findings(broken(fault)) if finding.kind == fault.kind]
    assert [SEVERITIES[fault.brick]] * len(named) == [finding.severity for finding in named]
    assert named
    assert all(finding.line for finding in named)


@each_fault
def test_a_finding_is_told_in_whole_sentences(fault: Fault, tmp_path: Path) -> None:
    """Whatever words the rule behind it has: one full stop ends each line."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(broken(fault))
    told = guard("doctor", path).stdout
    assert ".." not in told.replace(str(path), "").replace("…", "")


def test_a_line_behind_a_byte_order_mark_says_so() -> None:
    found = {finding.kind: finding.what for finding in findings(broken(FAULTS["a mark in the middle"]))}
    assert found["broken-line"].endswith(": a byte order mark stands in front of it")
    assert [finding.what for finding in findings(broken(FAULTS["the file in UTF-16"]))] == [
        "The file begins with a byte order mark: UTF-16"
    ]


@each_fault
def test_what_can_be_mended_is_mended_by_appending(fault: Fault) -> None:
    """A second look at the longer file finds nothing urgent, and the repaired file needs no further repair."""
    data = broken(fault)
    after, repair = repaired(data)
    assert after.startswith(data)
    assert fault.is_mended == (fault.kind in [finding.kind for finding in repair.mended])
    if fault.is_mended:
        assert [] == urgent(findings(after))
    assert () == plan_repair(after).mends


@each_fault
def test_what_cannot_be_mended_is_left_and_says_what_to_do(fault: Fault) -> None:
    """Nothing is appended for it, and its remedy does not promise a repair."""
    data = broken(fault)
    if fault.is_mended:
        return
    repair = plan_repair(data)
    assert () == repair.mends
    assert all(finding.remedy and "--repair shows" not in finding.remedy for finding in repair.left)


def test_every_kind_has_a_broken_session() -> None:
    """No kind of fault is known to the doctor alone."""
    assert KINDS.keys() == {fault.kind for fault in FAULTS.values()}


def test_the_page_lists_every_kind() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [] == [kind for kind in KINDS if f"`{kind}`" not in page]


def test_a_healthy_session_has_no_findings() -> None:
    assert () == findings(HEALTHY)


@needs_shared
@pytest.mark.parametrize("name", sorted(path.name for path in (SHARED / "pi").glob("*.jsonl")))
def test_real_sessions_raise_no_false_alarm(name: str) -> None:
    """Errors, retries, aborts, steering, compaction, forks, images, edits of the original: all as Pi writes them."""
    assert () == findings((SHARED / "pi" / name).read_bytes())


def shown(data: bytes) -> list[str]:
    return [entry["id"] for entry, messages in project(parse(data).unwrap()) if messages]


def test_a_stand_in_brings_back_what_came_before() -> None:
    """The model sees all messages again but the lost one."""
    data = broken(FAULTS["an answer's line cut"])
    assert len(shown(HEALTHY)) - 11 == len(shown(data))
    assert [id for id in shown(HEALTHY) if id != "adcc0c85"] == shown(repaired(data)[0])


def test_results_of_a_lost_call_leave_the_context() -> None:
    """What the stand-in brings back without its call would be refused."""
    lost = {"600d4908", "1b4d8729", "d3f5b74d", "dfb6760b"}
    after, repair = repaired(broken(FAULTS["a calling line cut"]))
    assert [id for id in shown(HEALTHY) if id not in lost] == shown(after)
    assert {"missing-parent", "orphaned-result"} == {finding.kind for finding in (*repair.mended, *repair.revealed)}


def test_a_stand_in_is_not_guessed() -> None:
    """Where another entry goes on from the one before the hole, nobody knows where the branch came from."""
    lines = HEALTHY.splitlines(keepends=True)
    fork = json.dumps({"type": "label", "id": "f0", "parentId": "a25606b9", "targetId": "25f15166"}).encode() + b"\n"
    data = b"".join([*lines[:13], lines[14], fork, *lines[15:]])
    assert ["missing-parent"] == urgent(findings(data))
    assert () == plan_repair(data).mends


@pytest.mark.parametrize("name", ["a call omitted alone", "a call replaced by a text", "a result omitted alone"])
def test_an_invalid_edit_is_undone_verbatim(name: str) -> None:
    """The model sees what it would without the edit."""
    healthy = [messages for _, messages in project(parse(HEALTHY).unwrap()) if messages]
    after = [messages for _, messages in project(parse(repaired(broken(FAULTS[name]))[0]).unwrap()) if messages]
    assert healthy == after


def test_what_comes_to_light_is_told() -> None:
    """A fault in the part that a stand-in brings back is mended in the same go, and listed."""
    repair = plan_repair((Path(__file__).resolve().parents[1] / "docs/examples/pi-broken.jsonl").read_bytes())
    assert ["missing-parent"] == [finding.kind for finding in repair.mended]
    assert ["orphaned-result"] * 2 == [finding.kind for finding in repair.revealed]


def test_many_faults_at_once_are_mended_together() -> None:
    """Mends of different faults do not get into each other's way; one that cannot be mended stops none."""
    names = ("half a pair in a call", "a picture as a data URL", "a result emptied", "a result omitted alone")
    lines = [json.loads(line) for line in HEALTHY.splitlines()]
    for name in names:
        lines = [line for line in FAULTS[name].make(lines) if not isinstance(line, bytes)]
    for number, line in enumerate(lines[19:]):
        line["id"], line["parentId"] = f"0ed1700{number}", lines[18 + number]["id"]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    assert {FAULTS[name].kind for name in names} <= set(urgent(findings(data)))
    assert [] == urgent(findings(repaired(data)[0]))


def badness(found: tuple[Finding, ...]) -> tuple[int, int]:
    severities = [finding.severity for finding in found]
    return severities.count("bricks"), severities.count("shortens")


CORRUPTIONS = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "drop", "double", "swap"]), st.integers(0, 10**6), st.integers(0, 255)),
    min_size=1,
    max_size=6,
)


def corrupted(data: bytes, corruptions: list[tuple[str, int, int]]) -> bytes:
    for how, place, value in corruptions:
        lines = data.splitlines(keepends=True) or [b""]
        at, line = place % len(lines), place % len(data or b"x")
        match how:
            case "flip":
                data = data[:line] + bytes([value]) + data[line + 1 :]
            case "cut":
                lines[at] = lines[at][: value % (len(lines[at]) or 1)]
                data = b"".join(lines)
            case "drop":
                data = b"".join(lines[:at] + lines[at + 1 :])
            case "double":
                data = b"".join([*lines, lines[at]])
            case "swap":
                lines[at], lines[value % len(lines)] = lines[value % len(lines)], lines[at]
                data = b"".join(lines)
    return data


MENDS_ONE_ANOTHER = [("swap", 333, 94), ("cut", 18_553, 0), ("cut", 124, 0), ("cut", 2, 0), ("cut", 9, 0)]
"""Here one mend helps only once the others have."""


@settings(max_examples=60, deadline=None)
@example("a picture as a data URL", MENDS_ONE_ANOTHER)
@given(name=st.sampled_from(sorted(FAULTS)), corruptions=CORRUPTIONS)
def test_no_corruption_brings_the_doctor_down(name: str, corruptions: list[tuple[str, int, int]]) -> None:
    """Whatever the bytes: no error, no byte changed, less wrong than before, and a repair is final."""
    if FAULTS[name].kind == "huge-picture":
        name = "a result twice"  # megabytes, which make this slow
    data = corrupted(broken(FAULTS[name]), corruptions)
    before = examine(data).value_or(())
    after, repair = repaired(data)
    assert after.startswith(data)
    if repair.mends:
        assert badness(findings(after)) < badness(before)
    assert () == plan_repair(after).mends


# The command line


def test_the_command_tells_and_mends(tmp_path: Path) -> None:
    """Exit code 6 while something is wrong, 0 when nothing is; --repair appends, and the next look finds nothing."""
    path = tmp_path / "session.jsonl"
    data = broken(FAULTS["a call omitted alone"])
    path.write_bytes(data)
    look = guard("doctor", path)
    assert (UNHEALTHY, data) == (look.exit_code, path.read_bytes())
    assert "entry 1b4d8729 (orphaned-result)" in look.output
    assert "add --repair to mend 3 of them" in look.output
    mended = guard("doctor", path, "--repair")
    assert OK == mended.exit_code
    assert "3 mended, none left" in mended.output
    assert path.read_bytes().startswith(data)
    assert OK == guard("doctor", path).exit_code
    assert "Nothing bricks or shortens" in guard("doctor", path, "--repair").output


def test_programs_get_json(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(broken(FAULTS["a circle"]))
    run = guard("doctor", path, "--repair", "--json")
    assert UNHEALTHY == run.exit_code
    value = json.loads(run.output)
    assert [("parent-circle", "bricks", 5)] == [(it["kind"], it["severity"], it["line"]) for it in value["findings"]]
    assert (False, []) == (value["written"], value["mended"])


def test_what_is_no_session_is_refused(tmp_path: Path) -> None:
    """A foreign file is no patient; one that cannot be written to stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("notes\n")
    assert UNREADABLE == guard("doctor", path).exit_code
    assert UNREADABLE == guard("doctor", tmp_path).exit_code
    data = broken(FAULTS["a prompt emptied"])
    path.write_bytes(data)
    path.chmod(0o444)
    run = guard("doctor", path, "--repair")
    assert (UNWRITABLE, data) == (run.exit_code, path.read_bytes())
    assert "read-only" in run.output
    path.chmod(0o644)
    lock_path(path).write_text("1")
    run = guard("doctor", path, "--repair")
    assert (UNWRITABLE, data) == (run.exit_code, path.read_bytes())
    assert "is open in Pi" in run.output
