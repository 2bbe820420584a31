"""Every command that looks at a session reads that of any host, through one door."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import LOG, NEEDED, complaint, guard
from recorded_sessions import LINE_HOSTS, Turn, write_all

from context_guard_effects.audit.units import find_units
from context_guard_effects.cli.sources import open_session

TURNS = (
    Turn("Where is the pool made?", (("cat log", f"{LOG}\n{LOG}"), ("ls", "a\nb")), f"In `{NEEDED}`."),
    Turn("Thanks.", (), "Welcome."),
)
OTHER = (Turn("And the socket?", (("cat other", LOG),), "Elsewhere."),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hosts")
    write_all(made, TURNS)
    return made


NAMES = [
    *("claude-code.jsonl", "codex.jsonl", "pi.jsonl", "anthropic.json", "openai-chat.json", "openai-responses.json"),
    *("mini-swe-agent.json", "swe-agent.json", "cline.json", "atif.json", "opencode.json", "opencode.db"),
    "conversation/events",
]


def test_the_names_are_all_that_an_audit_finds(folder: Path) -> None:
    assert sorted(str(folder / name) for name in NAMES) == sorted(it.path for it in find_units([folder]))


@pytest.mark.parametrize("name", NAMES)
def test_a_session_of_any_host_is_judged_alike(folder: Path, name: str, tmp_path: Path) -> None:
    """Explained, as a stage, a trace, a page, a case, compared and recalled; the session keeps its bytes."""
    path = folder / name
    before = {it: it.read_bytes() for it in folder.rglob("*") if it.is_file()}
    entry = next(it.id for it in open_session(path, None).transcript.entries if it.role == "tool")
    explained = guard("explain", path, entry)
    assert (0, "") == (explained.exit_code, explained.stderr)
    assert "distilled (chunks): large item of a run-end pass" in explained.stdout
    way = f'recall({{"entryId":"{entry}"}})' if name == "pi.jsonl" else f"context-guard recall {path} {entry}"
    assert explained.stdout.endswith(f"  the original: {way}\n")
    (cut,) = json.loads(guard("stage", "chunks", path, "--entry", entry).stdout)
    assert f"{LOG}\n{LOG}" == "\n".join(chunk["text"] for chunk in cut["chunks"])
    for command in (
        ("trace", path, "-o", tmp_path / "trace.json"),
        ("report", path, "-o", tmp_path / "report.html"),
        ("case", path, entry, "-o", tmp_path / "case", "--says", "The pool stays."),
        ("diff", path, "--set", "chunkKeepThreshold=0.6"),
        ("distill", path),
        ("status", path),
    ):
        run = guard(*command)
        assert (0, "") == (run.exit_code, run.stderr), command
    assert ("context-guard recall SESSION " in (tmp_path / "report.html").read_text()) == (name != "pi.jsonl")
    assert LOG in guard("recall", path, entry, "--raw").stdout
    assert NEEDED in (tmp_path / "case" / "case.toml").read_text()
    assert before == {it: it.read_bytes() for it in folder.rglob("*") if it.is_file()}


def test_a_folder_of_every_host_is_compared_whole(folder: Path, tmp_path: Path) -> None:
    """As an audit finds them; what is nobody's, cut off or empty is named with the reason; traces come too."""
    for name in ("cut.json", "notes.json", "empty.jsonl"):
        (tmp_path / name).write_text({"cut.json": '{"messages": [', "notes.json": '{"a": 1}'}.get(name, ""))
    assert 0 == guard("trace", folder / "codex.jsonl", "-o", tmp_path / "traced").exit_code
    (tmp_path / "all").symlink_to(folder)
    run = guard("diff", tmp_path, "--set", "minRunChars=99999", "--json")
    shown = json.loads(run.stdout)
    names = sorted(it["name"].partition(" ")[0] for it in shown["by_session"])
    assert sorted(["traced/trace.json", *(f"all/{name}" for name in NAMES)]) == names
    assert all(it["changes"] for it in shown["by_session"])
    assert [
        "context-guard: left out: cut.json: It is not JSON, or cut off: give a whole file.",
        "context-guard: left out: empty.jsonl: no session with a message is in it",
        "context-guard: left out: 1 file of no known host: notes.json",
    ] == [line.replace(f"{tmp_path}/", "") for line in run.stderr.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_writing_is_offered_only_where_it_is_possible(folder: Path, name: str) -> None:
    said = {command: guard(command, folder / name).stdout for command in ("distill", "status")}
    if name == "pi.jsonl":
        assert "add --write to append 1 edit." in said["distill"]
        assert "nothing without --write." in said["status"]
        return
    assert not any("--write" in text for text in said.values())
    host = open_session(folder / name, None).transcript.host
    assert said["distill"].endswith(f"Nothing was changed: a session of {host} has no room for edits.\n")
    assert said["status"].endswith("shows what could go; it changes nothing.\n")


def test_only_pi_has_room_for_edits(folder: Path) -> None:
    run = guard("distill", folder / "codex.jsonl", "--write")
    assert 4 == run.exit_code
    assert "only sessions of Pi have room for edits, and this one is of codex" in complaint(run)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "pi.jsonl"])
def test_the_doctor_names_the_host_that_is_no_patient(folder: Path, name: str) -> None:
    """Nothing is said of lines or a header that no such session has to have."""
    run = guard("doctor", folder / name, "--repair")
    assert 3 == run.exit_code
    host = open_session(folder / name, None).transcript.host
    assert f"doctor is for sessions of Pi, and this one is of {host}." in complaint(run)


def with_a_sub_agent(folder: Path) -> Path:
    """Its chain has ids of its own, in the file of the session that called it."""
    own = LINE_HOSTS["claude-code"](TURNS).decode().splitlines()
    agent = [json.loads(line) for line in LINE_HOSTS["claude-code"](OTHER).decode().splitlines()]
    lines: list[dict[str, Any]] = [json.loads(line) for line in own]
    for line in agent:
        ids = {key: f"agent-{line[key]}" for key in ("uuid", "parentUuid") if line.get(key)}
        lines.append({**line, **ids, "isSidechain": True, "agentId": "a1"})
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def with_two_sessions(folder: Path) -> Path:
    write_all(folder, TURNS)
    path = folder / "opencode.db"
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO session SELECT 'ses_0', NULL, directory, version, time_updated - 9 FROM session")
        database.execute("INSERT INTO message SELECT 'm-' || id, 'ses_0', data FROM message")
        other = "replace(data, 'make_pool', 'make_socket')"
        database.execute(f"INSERT INTO part SELECT 'p-' || id, 'm-' || message_id, 'ses_0', {other} FROM part")
    database.close()
    return path


@pytest.mark.parametrize("make", [with_a_sub_agent, with_two_sessions])
def test_of_several_sessions_one_is_taken_and_the_others_are_told(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """The main one or the last to change; another by its name, or by an entry that it alone has."""
    path = make(tmp_path)
    run = guard("status", path)
    assert 0 == run.exit_code
    said = complaint(run)
    assert f"{path} holds 2 sessions; this is " in said
    other = said.split("for --leaf: ")[1].strip()
    named = open_session(path, other).transcript
    assert named.session == other
    first = {it.id for it in open_session(path, None).transcript.entries}
    alone = [it.id for it in named.entries if it.role == "tool" and it.id not in first]
    run = guard("explain", path, alone[0])
    assert (0, "") == (run.exit_code, run.stderr)
    run = guard("status", path, "--leaf", "nobody")
    assert 3 == run.exit_code
    assert f"of which --leaf takes the name: {open_session(path, None).transcript.session}, {other}." in complaint(run)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cut.json", '{"messages": [', "It is not JSON, or cut off: give a whole file."),
        ("labels.json", '{"a": [1]}', "Nor does it look like a session of another host; `context-guard audit`"),
        (
            "notes.txt",
            "nothing of it\n",
            "Nor does it look like a session of another host; `context-guard audit` finds",
        ),
        ("empty.jsonl", "", "The session is empty"),
    ],
)
def test_what_is_no_session_is_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    run = guard("explain", tmp_path / name, "x")
    assert 3 == run.exit_code
    assert said in complaint(run)


def test_a_folder_is_refused_unless_it_is_one_session(folder: Path) -> None:
    run = guard("report", folder, "-o", folder.parent / "page.html")
    assert 3 == run.exit_code
    assert "name one session in it" in complaint(run)
