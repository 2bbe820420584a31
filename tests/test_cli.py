import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import trio
from command_line import EXCHANGE, LOG, NEEDED, complaint, guard, spawn
from pi_sessions import calling, result, session_bytes, user

from context_guard.formats.signatures import LISTS, Format
from context_guard_effects.cli import COMMANDS


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE))
    return path


def test_distill_shows_each_output_and_changes_nothing(session: Path) -> None:
    """Label, sizes, outcome and the judge's trace, then the total and what to do next."""
    before = session.read_bytes()
    run = guard("distill", session)
    assert (run.exit_code, run.stderr) == (0, "")
    assert "bash `make`" in run.stdout
    assert "distilled" in run.stdout
    assert "kw" in run.stdout
    last = run.stdout.splitlines()[-1]
    assert last.startswith("Kept out of context: ")
    assert last.endswith("Nothing was changed; add --write to append 1 edit.")
    assert before == session.read_bytes()


def test_distill_twice_gives_the_same_output(session: Path) -> None:
    """Nothing that a program or a person reads varies between two passes over the same session."""
    assert guard("distill", session).stdout == guard("distill", session).stdout
    assert guard("distill", session, "--json").stdout == guard("distill", session, "--json").stdout


def test_every_run_is_judged_unless_only_the_last_is_wanted(tmp_path: Path) -> None:
    """A session at rest is distilled as a whole; `--last-run` does what a host does when a run ends."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE, user("p2", "Thanks!"), EXCHANGE[-1] | {"id": "a3"}))
    assert json.loads(guard("distill", path, "--json").stdout)["edits"] == 1
    assert guard("distill", path, "--last-run").stdout == "Nothing to do: There is no tool output in the last run.\n"


def test_distill_as_json_is_one_value(session: Path) -> None:
    found = json.loads(guard("distill", session, "--json").stdout)
    assert (found["edits"], found["written"], found["leaf"], found["nothing"]) == (1, 0, "a2", "")
    (item,) = found["items"]
    assert (item["entryId"], item["kind"], item["outcome"]) == ("r1", "large", "distilled")
    assert found["savedChars"] == item["beforeChars"] - item["afterChars"]


def test_written_edits_are_there_and_a_second_pass_finds_nothing_to_do(session: Path) -> None:
    """What was there stays byte for byte; the edit and the record stand behind it."""
    before = session.read_bytes()
    run = guard("distill", session, "--write")
    after = session.read_bytes()
    assert run.stdout.endswith("1 edit and the record were appended.\n")
    assert after.startswith(before)
    kinds = [json.loads(line)["type"] for line in after[len(before) :].splitlines()]
    assert kinds == ["context_edit", "custom"]
    again = guard("distill", session, "--write")
    assert again.stdout == "Nothing to do: Every output of the last run that could be distilled already is.\n"
    assert after == session.read_bytes()


@pytest.mark.parametrize(
    ("entries", "settings", "why"),
    [
        ([], [], "There is no prompt in this branch of the session."),
        (EXCHANGE[:1], [], "The last run did not end in an answer, so nothing is touched."),
        ([EXCHANGE[0], EXCHANGE[-1]], [], "There is no tool output in the last run."),
        (EXCHANGE, ["enabled=false"], "The guard is off (enabled is false)."),
        (EXCHANGE, ["minRunChars=90000"], "fewer than the 90,000 of minRunChars."),
        (EXCHANGE, ["minResultChars=90000", "smallResultMinChars=0"], "the 90,000 characters of minResultChars"),
        (
            EXCHANGE,
            ["minResultChars=90000", "smallResultMinChars=80000"],
            "the 80,000 characters of smallResultMinChars.",
        ),
        (EXCHANGE, ['excludeTools=["bash"]'], "No large output of the last run may be edited"),
    ],
)
def test_nothing_to_do_says_why_in_one_sentence(
    tmp_path: Path, entries: list[dict[str, Any]], settings: list[str], why: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*entries))
    run = guard("distill", path, *(word for setting in settings for word in ("--set", setting)))
    assert (run.exit_code, run.stderr) == (0, "")
    assert why in run.stdout
    assert run.stdout.count("\n") == 1


def test_under_the_table_stands_what_the_edits_cost(session: Path) -> None:
    """At rest the cache has expired, and the edit is free."""
    assert "The edits are free: the cache has expired, " in guard("distill", session).stdout
    (cost,) = json.loads(guard("distill", session, "--json").stdout)["costs"]
    assert cost.startswith("The edits are free: ")


def test_a_pass_while_the_cache_is_warm_says_what_it_would_cost(tmp_path: Path) -> None:
    """With --now soon after the answer an edit that does not pay waits, and the line says at what price."""
    path = tmp_path / "s.jsonl"
    reply = {**EXCHANGE[-1], "message": {**EXCHANGE[-1]["message"], "timestamp": 1_764_547_200_000}}
    thought = {"type": "thinking", "thinking": "x" * 80_000, "thinkingSignature": "s"}
    reply["message"]["content"] = [thought, *reply["message"]["content"]]
    path.write_bytes(session_bytes(*EXCHANGE[:-1], reply))
    for now in ("2025-12-01T00:00:30Z", "2025-12-01T00:00:30", "2025-12-01T01:00:30+01:00", "1764547230000"):
        run = guard("distill", path, "--now", now)
        assert "The edits wait, they do not pay off yet: would cost you " in run.stdout
        assert "deferred" in run.stdout
    assert "the cache has expired" in guard("distill", path, "--now", "2025-12-02").stdout


def test_a_checkpoint_says_whether_it_is_due_and_why(tmp_path: Path) -> None:
    """Judged at the leaf as in a run that goes on; not due is an answer too."""
    path = tmp_path / "s.jsonl"
    run_on = [*EXCHANGE[:3]]
    for turn in range(5):
        run_on += [calling(f"b{turn}", f"call-b{turn}"), result(f"s{turn}", f"call-b{turn}", "ok")]
    path.write_bytes(session_bytes(*run_on))
    words = ["distill", path, "--phase", "mid-run"]
    waits = guard(*words)
    says = "A checkpoint waits for 60.0k characters to judge, and so far there are 13.3k."
    assert waits.stdout == f"Nothing to do: {says}\n"
    found = json.loads(guard(*words, "--json").stdout)["checkpoint"]
    assert (found["due"], found["tier"]) == (False, None)
    due = guard(*words, "--set", "midRunBatchChars=5000", "--set", "riskOfBill=1")
    assert "Checkpoint due: 1" in due.stdout
    assert json.loads(guard(*words, "--set", "midRunBatchChars=5000", "--json").stdout)["phase"] == "mid-run"
    off = guard(*words, "--set", "midRun=false").stdout
    assert off == "Nothing to do: Checkpoints are off (midRun is false).\n"
    assert json.loads(guard("stage", "span", path, "--phase", "mid-run").stdout)[0]["answer"] == ""
    assert "mid-run: " in _traced(path, tmp_path)


def _traced(session: Path, folder: Path) -> str:
    assert guard("trace", session, "-o", folder / "trace", "--phase", "mid-run").exit_code == 0
    return (folder / "trace" / "trace.txt").read_text()


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_stays_readable(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal; the kind has a column as soon as there is more than one."""
    monkeypatch.setattr("context_guard_effects.cli.table.WIDTH", width)
    example = Path(__file__).resolve().parents[1] / "docs" / "examples" / "pi-search.jsonl"
    table = guard("distill", example).stdout.split("\n\n")[0].split("\n")
    assert all(len(line) <= width for line in table)
    assert "kind" in table[1]
    assert any("small" in line for line in table)
    assert any("kw" in line for line in table)


def test_the_kind_has_no_column_where_all_are_large(session: Path) -> None:
    assert "kind" not in guard("distill", session).stdout


def test_recorded_answers_replay_exactly(session: Path, tmp_path: Path) -> None:
    """--record writes what the judge said; --judge recorded: gives the same table, edits and record."""
    answers = tmp_path / "answers.json"
    first = guard("distill", session, "--record", answers)
    again = guard("distill", session, "--judge", f"recorded:{answers}")
    assert first.stdout == again.stdout
    assert list(json.loads(answers.read_bytes())) == ["r1#0"]
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_answers_that_cannot_be_recorded_stop_the_command(session: Path, tmp_path: Path) -> None:
    """Before anything is written to the session."""
    before = session.read_bytes()
    for place in (tmp_path, tmp_path / "missing" / "answers.json", Path("/dev/full")):
        run = guard("distill", session, "--write", "--record", place)
        assert run.exit_code == 4
        complaint(run)
    assert before == session.read_bytes()


def test_a_trace_is_never_written_over_the_session(session: Path) -> None:
    """A session that bears the name of one of the three files stays as it is."""
    named = session.rename(session.with_name("trace.txt"))
    before = named.read_bytes()
    run = guard("trace", str(named), "-o", str(named.parent))
    assert (4, 1) == (run.exit_code, len(run.stderr.splitlines()))
    assert before == named.read_bytes()


def test_answers_are_recorded_only_over_answers(session: Path, tmp_path: Path) -> None:
    """Any other file, such as another session, stays as it is; a recording is replaced."""
    other = tmp_path / "other.jsonl"
    other.write_bytes(session.read_bytes())
    run = guard("distill", session, "--record", other)
    assert (run.exit_code, other.read_bytes()) == (4, session.read_bytes())
    complaint(run)
    answers = tmp_path / "answers.json"
    assert [guard("distill", session, "--record", answers).exit_code for _ in range(2)] == [0, 0]


def test_answers_are_never_recorded_over_the_session(session: Path, tmp_path: Path) -> None:
    """Only `--write` changes a session, also where it is named, by whatever link, as the file for the answers."""
    before = session.read_bytes()
    link = tmp_path / "link.jsonl"
    link.symlink_to(session)
    for source, target in ((session, session), (link, session), (session, link)):
        run = guard("distill", source, "--record", target)
        assert (run.exit_code, session.read_bytes()) == (4, before)
        complaint(run)


def test_status_shows_the_branch_and_judges_nothing(session: Path) -> None:
    """Before and after a pass, with the command to run next; as JSON the record comes along."""
    judged, following = guard("status", session).stdout.splitlines()[-2:]
    assert judged == "Nothing has been judged on this branch."
    assert following.startswith(f"Next: context-guard distill {session} ")
    assert json.loads(guard("status", session, "--json").stdout)["last"] is None
    guard("distill", session, "--write")
    shown = guard("status", session)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("🛡 −")
    assert shown.stdout.splitlines()[-1].startswith(f"Why: context-guard explain {session} ID.")
    assert "  distilled large " in shown.stdout
    found = json.loads(guard("status", session, "--json").stdout)
    assert (found["outputs"], found["runs"], found["last"]["phase"]) == (1, 1, "run-end")


def test_explain_says_why(session: Path) -> None:
    """The rule or the figures, as text and as JSON; an unknown entry names the outputs there are."""
    assert "step " in guard("explain", session, "r1").stdout
    assert "left alone: " in guard("explain", session, "a1").stdout
    found = json.loads(guard("explain", session, "r1", "--json").stdout)
    assert (found["entryId"], found["kind"], found["outcome"]) == ("r1", "large", "distilled")
    assert found["segments"][0]["chunks"][0]["firstLine"] == 1
    run = guard("explain", session, "nope")
    assert run.exit_code == 3
    assert "tool outputs of this branch: r1" in complaint(run)


def test_explain_names_the_branch_that_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE, user("p2", "anew") | {"parentId": None}))
    assert "another branch: give --leaf" in complaint(guard("explain", path, "r1"))
    assert guard("explain", path, "r1", "--leaf", "a2").exit_code == 0


BAD_FILES = {
    "empty": b"",
    "text": b"hello\n",
    "binary": bytes(range(256)),
    "truncated": session_bytes()[:40],
    "a number": b"5\n",
    "deep": b"[" * 100_000,
    "another host's": b'{"type":"user","message":{"role":"user","content":"hi"}}\n',
    "a later version": b'{"type":"session","version":99,"id":"x"}\n',
    "UTF-16": '{"type":"session","version":3,"id":"x"}\n'.encode("utf-16"),
}


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize(
    "command",
    [["distill"], ["distill", "--write"], ["stage", "chunks"], ["status"], ["recall", "r1"], ["explain", "r1"]],
)
def test_a_file_that_is_no_session_is_told_in_one_line(tmp_path: Path, kind: str, command: list[str]) -> None:
    """Exit code 3, the file's name in the message, its bytes as they were."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(BAD_FILES[kind])
    run = guard(*([command[0], path, "r1"] if command[-1] == "r1" else [*command, path]))
    assert run.exit_code == 3
    assert "bad.jsonl" in complaint(run)
    assert run.stdout == ""
    assert path.read_bytes() == BAD_FILES[kind]


def test_paths_that_are_no_files_are_told_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe", tmp_path / "line\nbreak", Path("/dev/zero")):
        run = guard("distill", path)
        assert run.exit_code == 3
        assert "of Pi" not in complaint(run).replace(str(path), "")


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may read everything")
def test_a_file_that_may_not_be_read_is_told_in_one_line(session: Path) -> None:
    session.chmod(0)
    run = guard("distill", session)
    assert run.exit_code == 3
    complaint(run)


def test_a_read_only_session_is_not_written_to(session: Path) -> None:
    before = session.read_bytes()
    session.chmod(0o444)
    run = guard("distill", session, "--write")
    assert run.exit_code == 4
    assert "read-only" in complaint(run)
    assert before == session.read_bytes()


@pytest.mark.parametrize("command", [["distill"], ["stage", "span"], ["trace", "-o", "never"]])
def test_an_unknown_leaf_names_those_there_are(session: Path, command: list[str]) -> None:
    run = guard(*command, session, "--leaf", "nope")
    assert run.exit_code == 3
    assert "its last entries are p1, a1, r1, a2" in complaint(run)


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["distill"],
        ["distill", "x", "--wat"],
        ["stage", "everything", "x"],
        ["trace"],
        ["replay", "x", "--from", "tomorrow"],
        ["replay", "x", "--from", "drafts", "--judge", "local"],
        ["diff"],
        ["case", "x", "y"],
        ["recall", "x", "y", "--offset", "three"],
        ["distill", "x", "--now", "noon"],
        ["distill", "x", "--phase", "later"],
        ["explain", "x"],
        ["status"],
        ["config", "wat"],
        ["--wat"],
    ],
)
def test_a_mistake_of_usage_is_told_in_one_line(words: list[str]) -> None:
    run = guard(*words)
    assert run.exit_code == 2
    assert "--help" in complaint(run)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("minRunChar=5", "Did you mean minRunChars?"),
        ("minRunChars", "KEY=VALUE"),
        ("minRunChars=many", "from 0 to 10000000"),
        ("keepWholeThreshold=2", "from 0 to 1"),
        ("minRunChars=" + "[" * 100_000, "from 0 to 10000000"),
    ],
)
def test_a_setting_given_by_hand_has_to_be_usable(session: Path, setting: str, says: str) -> None:
    run = guard("distill", session, "--set", setting)
    assert run.exit_code == 2
    assert says in complaint(run)


def test_a_settings_file_warns_and_goes_on(session: Path, tmp_path: Path) -> None:
    """A line each: a bad value falls back, with key, value and range, and a key that is no setting is named."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"minRunChars": -1, "minRunChar": 5}')
    run = guard("distill", session, "--config", settings)
    assert run.exit_code == 0
    assert run.stderr.splitlines() == [
        f"context-guard: {settings}: minRunChars: -1 is not usable (a whole number from 0 to 10000000); using 8000",
        f"context-guard: {settings}: minRunChar: not a setting. Did you mean minRunChars?",
    ]


@pytest.mark.parametrize("group", ["config", "judge"])
def test_a_group_without_a_command_says_so_in_one_line(group: str) -> None:
    run = guard(group)
    assert run.exit_code == 2
    assert complaint(run) == f"context-guard: Missing command. Try: context-guard {group} --help\n"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_a_settings_file_that_is_none_is_told_in_one_line(session: Path, tmp_path: Path, content: bytes) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(content)
    for run in (guard("distill", session, "--config", settings), guard("config", "check", settings)):
        assert run.exit_code == 3
        assert "settings.json" in complaint(run)


def test_a_judge_that_is_not_there_sends_nothing(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A remote judge without its key ends with 5 and names the key; a file of answers has to be one."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    for words in (["--judge", "openrouter/x"], ["--set", "model=openrouter/x"]):
        run = guard("distill", session, *words)
        assert run.exit_code == 5
        assert "OPENROUTER_API_KEY is not set" in complaint(run)
    assert guard("distill", session, "--judge", "nobody").exit_code == 2
    missing = guard("distill", session, "--judge", f"recorded:{tmp_path / 'missing.json'}")
    assert missing.exit_code == 3
    complaint(missing)


def test_a_judge_that_answers_nothing_ends_with_5(session: Path, tmp_path: Path) -> None:
    """The table shows everything kept, nothing is written, and the line says why."""
    before = session.read_bytes()
    answers = tmp_path / "answers.json"
    answers.write_text('{"r1#0": {"error": "http 500", "reason": "error"}}')
    run = guard("distill", session, "--write", "--judge", f"recorded:{answers}")
    assert run.exit_code == 5
    assert "answered none of 1 requests: http 500" in complaint(run)
    assert "kept" in run.stdout
    assert before == session.read_bytes()


def test_stages_are_lists_filtered_by_entry(session: Path) -> None:
    """Each stage prints JSON; with an entry only what is about it; an unknown one names those there are."""
    for name in (
        *("span", "candidates", "chunks", "segments", "requests"),
        *("answers", "keep-sets", "decisions", "sums", "drafts"),
    ):
        found = json.loads(guard("stage", name, session, "--entry", "r1").stdout)
        assert found, name
    assert [draft["type"] for draft in json.loads(guard("stage", "drafts", session).stdout)] == ["replace", "append"]
    for entry in ("nope", "a1"):
        run = guard("stage", "chunks", session, "--entry", entry)
        assert run.exit_code == 3
        assert "entries with chunks: r1" in complaint(run)


def test_stages_show_lone_surrogates_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(user("p1", "half \ud83d é")))
    run = guard("stage", "span", path)
    assert "half \\ud83d é" in run.stdout
    assert json.loads(run.stdout)[0]["question"] == "half \ud83d é"


def test_trace_writes_the_files(session: Path, tmp_path: Path) -> None:
    """Chunk by chunk what the judge said, the replacement, the record without what varies, and the trace as a value."""
    folder = tmp_path / "new" / "trace"
    run = guard("trace", session, "-o", folder)
    names = ("trace.txt", "replacement.txt", "record.json", "trace.json")
    assert run.stdout.split() == [str(folder / name) for name in names]
    assert "output r1 bash `make`" in (folder / "trace.txt").read_text()
    assert (folder / "replacement.txt").read_text().startswith("== r1 bash `make`\n[context-guard] Distilled")
    assert NEEDED in (folder / "replacement.txt").read_text()
    record = json.loads((folder / "record.json").read_bytes())
    assert record.keys().isdisjoint({"ms", "costUsd"})


def test_trace_into_what_is_no_folder_is_told_in_one_line(session: Path) -> None:
    run = guard("trace", session, "-o", session / "inside")
    assert run.exit_code == 4
    complaint(run)


def test_recall_prints_pages_and_raw_bytes(session: Path) -> None:
    assert guard("recall", session, "r1", "--raw").stdout_bytes == LOG.encode()
    assert guard("recall", session, "r1", "--pattern", "^def").stdout == f"151: {NEEDED}\n"
    assert guard("recall", session, "r1", "--offset", "151", "--limit", "1").stdout.startswith(NEEDED)
    for words in (["a1"], ["r1", "--offset", "999"], ["r1", "--pattern", "("], ["r1", "--column", "9999"]):
        run = guard("recall", session, *words)
        assert run.exit_code == 3
        complaint(run)


@pytest.mark.parametrize("after", [0.0, 0.15, 0.6, 60.0])
def test_t13_recall_gives_back_every_byte_after_a_kill(session: Path, after: float) -> None:
    """Whenever a pass is killed, another process gives back exactly what the tool had returned."""
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(root / "pipeline"), str(root / "effects")])
    with subprocess.Popen(
        [sys.executable, "-m", "context_guard_effects.cli", "distill", "--write", str(session)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(after)
        run.kill()
    given = spawn("recall", session, "r1", "--raw").stdout
    assert hashlib.sha256(LOG.encode()).digest() == hashlib.sha256(given.encode()).digest()


def test_recall_finds_entries_of_other_branches(tmp_path: Path) -> None:
    """A result by itself, a prompt with all that followed on its branch."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE, user("p2", "anew") | {"parentId": None}))
    assert guard("recall", path, "r1", "--raw").stdout_bytes == LOG.encode()
    found = guard("recall", path, "p1").stdout
    assert found.startswith("## user\nWhere is the pool made?\n## assistant\n[tool call] bash ")
    assert found.endswith("make_pool makes the pool.\n")


def test_recall_passes_over_parents_that_are_no_ids(tmp_path: Path) -> None:
    """An entry with a parent of a wrong type is nobody's child, whichever branch is asked for."""
    path = tmp_path / "s.jsonl"
    odd = [user(f"x{place}", "?") | {"parentId": parent} for place, parent in enumerate(([], {}, 5, True))]
    path.write_bytes(session_bytes(*EXCHANGE, *odd, user("p2", "anew") | {"parentId": None}))
    assert guard("recall", path, "r1", "--raw").stdout_bytes == LOG.encode()


def test_config_shows_every_setting() -> None:
    """Value, default, range and meaning, for people and for programs."""
    shown = json.loads(guard("config", "show", "--json", "--set", "minRunChars=5").stdout)
    assert (shown["minRunChars"]["value"], shown["minRunChars"]["default"]) == (5, 8_000)
    assert all(row["range"] and row["description"] for row in shown.values())
    table = guard("config", "show").stdout
    assert all(key in table for key in shown)
    assert "properties" in guard("config", "schema").stdout
    json.loads(guard("config", "schema").stdout)


def test_config_check_names_what_is_wrong(tmp_path: Path) -> None:
    """A line for each bad value and each unknown key; exit code 1 for programs."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"minResultChar": 5, "timeoutMs": 1, "zzz": 0}')
    run = guard("config", "check", settings)
    assert (run.exit_code, run.stderr) == (1, "")
    assert run.stdout.splitlines() == [
        "timeoutMs: 1 is not usable (a whole number from 500 to 600000); using 8000",
        "minResultChar: not a setting. Did you mean minResultChars?",
        "zzz: not a setting.",
    ]
    settings.write_text('{"minResultChars": 5}')
    assert guard("config", "check", settings).exit_code == 0


def test_help_names_every_command_and_the_exit_codes() -> None:
    for words in (["--help"], []):
        run = guard(*words)
        assert run.exit_code == 0
        assert all(f"  {name} " in run.stdout for name in COMMANDS)
        assert "Exit codes:" in run.stdout
    assert "Exit codes:" in guard("distill", "-h").stdout
    assert guard("--version").stdout.startswith("context-guard ")


def test_help_names_every_host_whose_sessions_are_read() -> None:
    words = "".join(filter(str.isalpha, guard("--help").stdout.lower()))
    hosts = {*get_args(Format)} - {*LISTS}
    assert [name for name in hosts if name.replace("-", "") not in words] == []


def test_help_loads_neither_the_pipeline_nor_what_draws() -> None:
    """Starting up is quick because nothing is imported before it is needed."""
    listed = spawn("--help", PYTHONPROFILEIMPORTTIME="1").stderr
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in listed.splitlines()}
    assert "click" in loaded
    assert loaded.isdisjoint({"trio", "rich", "httpx", "msgspec", "returns", "context_guard"})


def test_hostile_text_reaches_no_terminal_as_it_is(tmp_path: Path) -> None:
    """Escapes, markup and line breaks in a command, an id or an answer are shown, not obeyed."""
    path = tmp_path / "s.jsonl"
    entries = [
        user("p\x1b[2J"),
        calling("a1", "call-1"),
        result("r\x1b]0;x\x07\n[bold]", "call-1", LOG),
        EXCHANGE[-1],
    ]
    path.write_bytes(session_bytes(*entries))
    run = guard("distill", path)
    assert "r␛]0;x␇␊[bold]" in run.stdout
    assert "\x1b" not in run.stdout


def test_an_interrupt_ends_with_130(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, or wrapped by a nursery: one line and no traceback."""
    for error in (KeyboardInterrupt(), BaseExceptionGroup("", [KeyboardInterrupt()])):

        def interrupted(*_: Any, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr("context_guard_effects.cli.judging.run_pass", interrupted)
        run = guard("distill", session)
        assert (run.exit_code, complaint(run)) == (130, "context-guard: interrupted\n")


def test_a_defect_of_ours_is_one_line_too(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise LookupError("two\nlines\x1b")

    monkeypatch.setattr("context_guard_effects.cli.judging.run_pass", broken)
    run = guard("distill", session)
    assert run.exit_code == 70
    assert complaint(run).endswith("LookupError: two lines\n")


@pytest.mark.parametrize("words", [["distill"], ["distill", "--json"], ["recall"], ["--help"]])
def test_a_closed_stdout_is_told_in_one_line(session: Path, words: list[str]) -> None:
    """A reader that has gone, a full disk behind the redirection, no stdout at all."""
    args = [*words, session, "r1"] if words == ["recall"] else words if words == ["--help"] else [*words, session]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone, open("/dev/full", "w") as full:
        for stdout in (gone, full):
            run = spawn(*args, stdout=stdout)
            assert run.returncode == 4
            assert "stdout" in complaint(run)


def test_python_m_runs_the_command_line(session: Path) -> None:
    run = spawn("distill", session)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == guard("distill", session).stdout


def test_an_ascii_terminal_gets_escapes_and_no_error(session: Path) -> None:
    run = spawn("distill", session, PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stderr) == (0, "")
    assert "\\u2192" in run.stdout


def test_a_real_ctrl_c_leaves_the_session_alone(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal itself, while requests wait for their answers: exit code 130, one line, nothing written."""

    async def struck(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()

    monkeypatch.setattr("context_guard_effects.judges.local.LocalJudge.__call__", struck)
    before = session.read_bytes()
    run = guard("distill", session, "--write")
    assert (run.exit_code, complaint(run)) == (130, "context-guard: interrupted\n")
    assert before == session.read_bytes()
