"""Slips of the hand: each is told in one line that says what to do, with an exit code, before anything is judged."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import EXCHANGE, LOG, complaint, guard, spawn
from pi_sessions import session_bytes, user

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE))
    return path


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["distil", "S"], 2, "Did you mean distill?"),
        (["frobnicate"], 2, "The commands are distill, explain, "),
        (["config", "chek", "S"], 2, "Did you mean check?"),
        (["judge", "chek"], 2, "Did you mean check?"),
        (["stage", "Keep-set", "S"], 2, "Did you mean keep-sets?"),
        (["distill", "S", "--phase", "midrun"], 2, "Did you mean mid-run?"),
        (["stage", "S", "chunks"], 2, "NAME comes before SESSION: context-guard stage chunks S"),
        (["explain", "r1", "S"], 2, "SESSION comes before ENTRY: context-guard explain S r1"),
        (["recall", "r1", "S"], 2, "SESSION comes before ENTRY: context-guard recall S r1"),
        (["recall", "S", "41b1964f"], 3, "Did you mean 41b1964e?"),
        (["recall", "S", "zz"], 3, "Tool outputs in it: "),
        (["explain", "S", "41b"], 3, "Did you mean 41b1964e?"),
        (["stage", "span", "S", "--leaf", "41b1964"], 3, "Did you mean 41b1964e?"),
        (["recall", "S", 'recall({"entryId":"r1","limit":3})'], 2, "give limit as options"),
        (["recall", "S", 'recall({"id":"r1"})'], 2, "holds no entry id"),
        (["recall", "S", "r1", "--offset", "0"], 2, "'--offset'"),
        (["recall", "S", "r1", "--limit", "-1"], 2, "'--limit'"),
        (["recall", "S", "r1", "--column", "0"], 2, "'--column'"),
        (["recall", "S", "r1", "--raw", "--pattern", "x", "--limit", "1"], 2, "leave out --pattern and --limit"),
        (["distill", "S", "--judge", ""], 2, "--judge is empty: name one, such as local"),
        (["judge", "check", "--judge", " "], 2, "--judge is empty"),
        (["distill", "S", "--judge", "recorded:"], 2, "--judge recorded:FILE"),
        (["distill", "S", "--now", "1764547200"], 2, "It looks like seconds"),
        (["distill", "S", "--now", "-5"], 2, "no time between the years 2000 and 2100"),
        (["distill", "S", "--now", "0001-01-01T00:00+23:00"], 2, "no time between the years 2000 and 2100"),
        (["distill", "S", "--now", "9" * 5_000], 2, "neither ISO 8601"),
        (["distill", "S", "--set", "excludeTools=ask"], 2, 'a list of tool names: ["edit", "write"]'),
    ],
)
def test_a_slip_is_told_with_what_was_meant(session: Path, words: list[str], code: int, says: str) -> None:
    session.write_bytes(session_bytes(*EXCHANGE, user("41b1964e", "Thanks!")))
    run = guard(*(str(session) if word == "S" else word for word in words))
    assert run.exit_code == code
    assert re.sub(r"\bS\b", str(session), says) in complaint(run)
    assert run.stdout == ""


@pytest.mark.parametrize("form", ['recall({"entryId":"r1"})', 'recall({"entryId": "r1"}).', '{"entryId":"r1"}'])
def test_a_pasted_call_of_recall_is_an_entry(session: Path, form: str) -> None:
    """As it stands in a note, wherever an entry is asked for."""
    assert guard("recall", session, form, "--raw").stdout_bytes == LOG.encode()
    assert guard("explain", session, form).stdout == guard("explain", session, "r1").stdout
    assert guard("stage", "chunks", session, "--entry", form).exit_code == 0


def test_a_key_that_a_settings_file_has_twice_is_named(session: Path, tmp_path: Path) -> None:
    """By the check and by every pass; the last one counts, as for every reader of JSON."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"minRunChars": 9000000, "minRunChars": 5, "excludeTools": []}')
    check = guard("config", "check", settings)
    says = "minRunChars: given more than once; only the last one counts"
    assert (check.exit_code, check.stdout) == (1, f"{says}\n")
    run = guard("distill", session, "--config", settings)
    assert (run.exit_code, run.stderr) == (0, f"context-guard: {settings}: {says}\n")
    assert "distilled" in run.stdout


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (b'{"type":"mess', "its last line is broken and was passed over; Pi may still be writing it"),
        (b'{"type":"custom"}\n', "its last line is broken"),
        (
            b"{]\n" + session_bytes(user("z")).split(b"\n", 1)[1],
            "line 6 cannot be read and was passed over, as Pi does",
        ),
        (b"{]\n{]\n", "lines 6, 7 cannot be read and were passed over"),
    ],
)
def test_lines_that_cannot_be_read_are_told(session: Path, broken: bytes, says: str) -> None:
    """The command goes on with the others."""
    session.write_bytes(session.read_bytes() + broken)
    for words in (["distill", session], ["status", session], ["recall", session, "r1"]):
        run = guard(*words)
        assert run.exit_code == 0
        assert says in complaint(run)


@pytest.mark.parametrize(
    "words", [["explain", "S", "r1"], ["stage", "answers", "S"], ["stage", "drafts", "S"], ["trace", "S", "-o", "D"]]
)
def test_every_pass_without_an_answer_ends_with_5(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """As distill does: what is kept is shown, and stderr says that it is for want of an answer, and the way out."""
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    places = {"S": session, "D": tmp_path / "trace"}
    run = guard(*(places.get(word, word) for word in words), "--judge", "jev")
    assert run.exit_code == 5
    says = "the judge answered none of 1 requests: TYPESAFE_API_KEY is not set (--judge local needs no key)\n"
    assert complaint(run).endswith(says)
    assert run.stdout


def test_a_judge_whose_place_another_takes_is_told(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`jev,local` without a key distils by the embedded judge and says so."""
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    run = guard("distill", session, "--judge", "jev,local")
    assert (run.exit_code, run.stdout) == (0, guard("distill", session).stdout)
    assert "left 1 of 1 requests unanswered, there the embedded one decided: TYPESAFE_API_KEY" in complaint(run)


def test_an_edit_judged_at_an_older_leaf_says_where_it_goes(tmp_path: Path) -> None:
    """Pi goes on at the last line of a file, so the edits stand there, whatever leaf they were judged at, and once."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE, user("p2", "Thanks!"), EXCHANGE[-1] | {"id": "a3"}))
    run = guard("distill", path, "--leaf", "a2", "--write")
    assert run.exit_code == 0
    assert complaint(run) == (
        "context-guard: judged as of a2, but the edits go behind the last entry, a3: Pi goes on there\n"
    )
    assert '"parentId":"a3"' in path.read_text()
    before = path.read_bytes()
    again = guard("distill", path, "--leaf", "a2", "--write")
    assert (again.exit_code, path.read_bytes()) == (4, before)
    assert "behind a2 the session already has edits of r1. Leave out --leaf." in complaint(again)


def test_an_edit_for_another_branch_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE, user("p2", "anew") | {"parentId": None}))
    before = path.read_bytes()
    run = guard("distill", path, "--leaf", "a2", "--write")
    assert (run.exit_code, path.read_bytes()) == (4, before)
    assert "a2 is not on the branch of the last entry, p2" in complaint(run)


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_stdout_that_fails_after_writing_does_not_hide_the_edits(session: Path, words: list[str]) -> None:
    """A full disk, a reader that has gone: stderr says what is in the session now."""
    before = session.read_bytes()
    with open("/dev/full", "w") as full:
        run = spawn("distill", session, "--write", *words, stdout=full)
    assert run.returncode == 4
    assert complaint(run).endswith(f"; 1 edit and the record were appended to {session} all the same\n")
    assert len(session.read_bytes()) > len(before)


def test_what_quotes_a_session_is_for_its_owner_alone(session: Path, tmp_path: Path) -> None:
    """Recorded answers and the files of a trace, also where an older one was open to all."""
    (tmp_path / "answers.json").touch(0o644)
    assert guard("distill", session, "--record", tmp_path / "answers.json").exit_code == 0
    assert guard("trace", session, "-o", tmp_path / "trace").exit_code == 0
    made = [tmp_path / "answers.json", *(tmp_path / "trace").iterdir()]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o600] * 5


def test_an_interrupt_before_the_command_line_is_there_ends_with_130() -> None:
    """While the first import goes on: one line, no traceback."""
    code = (
        "import builtins, signal\n"
        "real = builtins.__import__\n"
        "def struck(name, *args, **more):\n"
        "    if name == 'click': signal.raise_signal(signal.SIGINT)\n"
        "    return real(name, *args, **more)\n"
        "builtins.__import__ = struck\n"
        "from context_guard_effects.__main__ import run\n"
        "run()"
    )
    paths = os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "context-guard: interrupted\n")
