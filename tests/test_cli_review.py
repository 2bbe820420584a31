"""The command line for reviewers: a trace run again, two sides compared, a decision made a case."""

import json
import tomllib
from pathlib import Path

import pytest
from command_line import EXCHANGE, LOG, NEEDED, complaint, guard, spawn
from pi_sessions import calling, result, session_bytes, user
from shared_data import needs_shared

from context_guard.saved_trace import decode_trace
from context_guard_effects.testing.cases import missing_lines, run_case

SECRET = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
EXAMPLE = Path(__file__).resolve().parents[1] / "docs" / "examples" / "pi-search.jsonl"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE))
    return path


@pytest.fixture
def trace(session: Path, tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    assert guard("trace", session, "-o", path).exit_code == 0
    return path


def test_a_trace_is_one_json_value(session: Path, trace: Path) -> None:
    """On stdout, in a file of that name, or in the folder with the texts; for its owner alone."""
    run = guard("trace", session)
    printed = decode_trace(run.stdout_bytes).unwrap()
    written = decode_trace(trace.read_bytes()).unwrap()
    assert printed.settlement.decisions == written.settlement.decisions
    assert printed.transcript == written.transcript
    assert trace.stat().st_mode & 0o077 == 0


def test_a_replay_changes_nothing_by_itself(trace: Path, tmp_path: Path) -> None:
    """From every stage; and what it writes is the same trace."""
    for start in ("span", "chunks", "segments", "requests", "answers", "keep-sets", "drafts"):
        run = guard("replay", trace, "--from", start, "-o", tmp_path / "again.json")
        assert (run.exit_code, run.stdout.split(":")[0]) == (0, "0 of 1 item changed")
        assert trace.read_bytes() == (tmp_path / "again.json").read_bytes()
    recorded = guard("replay", trace, "--judge", f"recorded:{trace}")
    assert (recorded.exit_code, recorded.stderr) == (0, "")


def test_a_replay_shows_what_a_setting_changes(trace: Path) -> None:
    """The setting, the decision, and with --diff the lines; exit code 1."""
    plain = guard("replay", trace, "--set", "minRunChars=99999")
    assert plain.exit_code == 1
    assert plain.stdout.startswith("minRunChars: 8000 → 99999\n")
    assert "distilled (chunks) → kept (not judged)" in plain.stdout
    assert "line 1 of the output" not in plain.stdout
    with_lines = guard("replay", trace, "--set", "minRunChars=99999", "--diff")
    gained = [line for line in with_lines.stdout.splitlines() if line.startswith("      +")]
    shown = json.loads(guard("replay", trace, "--set", "minRunChars=99999", "--json").stdout)
    assert len(gained) == shown["gained"] > 200
    assert shown["by_session"][0]["changes"][0]["gained"][0][0] == 1


def test_a_setting_counts_only_in_what_runs_again(trace: Path) -> None:
    """Behind the keep sets no threshold of theirs is asked."""
    high = ("--set", "chunkKeepThreshold=1", "--set", "keepWholeThreshold=0")
    assert guard("replay", trace, *high).exit_code == 1
    assert guard("replay", trace, *high, "--from", "drafts").exit_code == 0


def test_an_answer_to_another_request_is_told(trace: Path) -> None:
    """Cut otherwise, the recorded answers are of no use: kept, and said; another judge is asked anew."""
    run = guard("replay", trace, "--set", "minChunkChars=2000")
    assert run.exit_code == 5
    assert "distilled (chunks) → kept (error)" in run.stdout
    assert "the recorded answer is to another request" in complaint(run)
    assert (
        "distilled (chunks) → distilled"
        in guard("replay", trace, "--set", "minChunkChars=2000", "--judge", "local").stdout
    )


def test_a_trace_answers_for_other_passes(session: Path, trace: Path) -> None:
    """As recorded answers; but no recording is ever written over a trace."""
    run = guard("distill", session, "--judge", f"recorded:{trace}", "--json")
    assert json.loads(run.stdout)["edits"] == 1
    before = trace.read_bytes()
    assert guard("distill", session, "--record", trace).exit_code == 4
    assert before == trace.read_bytes()


@pytest.mark.parametrize("words", [["replay", "T"], ["diff", "T"], ["distill", "S", "--judge", "recorded:T"]])
def test_a_damaged_trace_ends_with_3(session: Path, trace: Path, words: list[str]) -> None:
    """Cut in its middle, newer, or with a wrong value: one line that says so."""
    text = trace.read_text()
    for broken in (text[: len(text) // 2], text.replace('"v":1', '"v":9', 1), text.replace('"head":"a2"', '"head":2')):
        trace.write_text(broken)
        run = guard(
            *[word.replace("T", str(trace)) if "T" in word else word.replace("S", str(session)) for word in words]
        )
        assert run.exit_code == 3
        complaint(run)


def test_diff_compares_two_traces(session: Path, trace: Path, tmp_path: Path) -> None:
    """As files or in folders, by name; what is on one side alone is told."""
    for side, words in (("old", []), ("new", ["--set", "minRunChars=99999"])):
        guard("trace", session, "-o", tmp_path / side / "one.json", *words)
        guard("trace", session, "-o", tmp_path / side / "two" / "trace.json")
    (tmp_path / "new" / "one more.json").write_bytes(trace.read_bytes())
    run = guard("diff", tmp_path / "old", tmp_path / "new")
    assert run.exit_code == 1
    assert "one.json: 1 of 1 item changed" in run.stdout
    assert "two/trace.json" not in run.stdout
    assert "1 of 2 items changed in 2 sessions" in run.stdout
    assert "only in" in complaint(run)
    assert guard("diff", tmp_path / "old" / "two", trace).exit_code == 0
    assert guard("diff", trace, trace, "--judge", "local").exit_code == 2


def test_diff_judges_a_folder_of_sessions_both_ways(session: Path, tmp_path: Path) -> None:
    """Two settings or two judges; a file that is no session is told and left out; labels make a recall."""
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(session.read_bytes())
    (folder / "b.jsonl").write_text("{}\n")
    (tmp_path / "labels.json").write_text(json.dumps({"a.jsonl": {"r1": [151]}}))
    run = guard(
        "diff",
        folder,
        "--set",
        "minRunChars=99999",
        "--labels",
        tmp_path / "labels.json",
        "--html",
        tmp_path / "p.html",
    )
    assert run.exit_code == 1
    assert "left out: " in complaint(run)
    assert "Labelled lines still shown: 1 → 1 of 1" in run.stdout
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "minRunChars: 8000 → 99999" in page
    assert "line 1 of the output" in page
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"r1#0": {"keep_whole": 0.99, "focus": {"choice": "whole"}}}))
    judged = guard("diff", session, "--old-judge", f"recorded:{answers}", "--judge", "local")
    assert judged.stdout.startswith("judge: recorded → local")
    assert "kept (whole-needed) → distilled (chunks)" in judged.stdout
    assert guard("diff", tmp_path / "nope").exit_code == 3
    assert guard("diff", folder / "b.jsonl").exit_code == 3


def test_a_case_comes_to_the_decision_of_the_session(session: Path, tmp_path: Path) -> None:
    """Question, call, output and answer, and not all lines of the output; the file says what it needs."""
    run = guard("case", session, "r1", "-o", tmp_path / "case", "--needs", "20-22", "--says", "It stays.")
    assert (run.exit_code, run.stderr) == (0, "")
    case = tomllib.loads((tmp_path / "case" / "case.toml").read_text(encoding="utf-8"))
    assert [next(iter(entry)) for entry in case["entry"]] == ["prompt", "call", "result", "answer"]
    assert case["says"] == "It stays."
    _, _, settled = run_case(case)
    (decision,) = settled.decisions
    assert (decision.entry_id, decision.outcome) == ("e3", "distilled")
    lines = case["entry"][2]["result"]
    assert NEEDED in lines
    assert len(lines) < LOG.count("\n")
    (first, last) = case["needs"]["e3"][0]
    assert lines[first - 1 : last] == LOG.split("\n")[19:22]
    assert missing_lines(case, settled) == {"e3": [[first, last]]} == case["needs"]


def test_a_case_holds_no_secret(tmp_path: Path) -> None:
    """Neither of the output nor of what was said; lone surrogates survive; the decision is the same."""
    entries = [user("p1", f"Where is the pool made? {SECRET}"), *EXCHANGE[1:]]
    entries[2] = result("r1", "call-1", [{"type": "text", "text": f"{SECRET}\nhalf \ud83d\n{LOG}"}])
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*entries))
    run = guard("case", path, "r1", "-o", tmp_path / "case", "--needs", "1-2")
    assert run.exit_code == 0
    assert "secrets masked in 2 texts" in run.stdout
    text = (tmp_path / "case" / "case.toml").read_text(encoding="utf-8")
    assert "wJalrXUtnFEMI" not in text
    assert "[redacted " in text
    assert {"escaped": "half \\ud83d"} in tomllib.loads(text)["entry"][2]["result"]


def test_a_case_leaves_out_what_the_decision_does_not_need(tmp_path: Path) -> None:
    """Of a session with other runs, calls and outputs only the entry's own; more where a decision hangs on it."""
    more = [calling("a0", "call-0"), result("r0", "call-0", [{"type": "text", "text": "x\n" * 3_000}])]
    entries = [
        user("p0", "Hello"),
        EXCHANGE[-1] | {"id": "a9"},
        EXCHANGE[0],
        *more,
        *EXCHANGE[1:],
        user("p2", "Thanks"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*entries, EXCHANGE[-1] | {"id": "a3"}))
    assert guard("case", path, "r1", "-o", tmp_path / "case").exit_code == 0
    case = tomllib.loads((tmp_path / "case" / "case.toml").read_text(encoding="utf-8"))
    assert [next(iter(entry)) for entry in case["entry"]] == ["prompt", "call", "result", "answer"]


def test_an_output_left_alone_makes_a_case_too(session: Path, tmp_path: Path) -> None:
    """That no rule should have ruled it out is a problem as well."""
    assert guard("case", session, "r1", "-o", tmp_path / "case", "--set", "minRunChars=99999").exit_code == 0
    _, planned, settled = run_case(tomllib.loads((tmp_path / "case" / "case.toml").read_text(encoding="utf-8")))
    assert settled.decisions == ()
    assert planned.config.min_run_chars == 99_999


def test_a_case_asks_the_embedded_judge_when_told(session: Path, tmp_path: Path) -> None:
    """For a wrong answer: a better judge then mends the case."""
    assert guard("case", session, "r1", "-o", tmp_path / "case", "--ask-local").exit_code == 0
    case = tomllib.loads((tmp_path / "case" / "case.toml").read_text(encoding="utf-8"))
    assert case["judge"] == "local"
    assert "answers" not in case


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nope"], 3, "its tool outputs: r1"),
        (["r1", "--needs", "many"], 2, "such as 12-15,40"),
        (["r1", "--needs", "0"], 2, "such as 12-15,40"),
        (["r1", "--needs", "999"], 2, "the output has 301 lines"),
    ],
)
def test_a_slip_is_told(session: Path, tmp_path: Path, words: list[str], code: int, said: str) -> None:
    run = guard("case", session, *words, "-o", tmp_path / "case")
    assert run.exit_code == code
    assert said in complaint(run)
    assert not (tmp_path / "case").exists()


def test_a_case_is_never_written_over(session: Path, tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.toml").write_text("mine")
    assert guard("case", session, "r1", "-o", tmp_path / "case").exit_code == 4
    assert guard("case", session, "r1", "-o", session).exit_code == 4
    assert (tmp_path / "case" / "case.toml").read_text() == "mine"


@needs_shared
def test_cases_of_a_real_session_reproduce(tmp_path: Path) -> None:
    """Every item that a real session of Pi was judged by becomes a case that comes to the same decision."""
    for number, item in enumerate(json.loads(guard("distill", EXAMPLE, "--json").stdout)["items"]):
        run = guard("case", EXAMPLE, item["entryId"], "-o", tmp_path / str(number))
        assert (run.exit_code, run.stderr) == (0, ""), item


def test_stages_show_a_checkpoint_and_every_kind(tmp_path: Path) -> None:
    """Mid-run: what could be judged, when, and what was decided on small outputs, exchanges and large ones."""
    entries = [user("p0", "Hello?"), EXCHANGE[-1] | {"id": "a0"}]
    entries += [user("p1", "Where?"), EXCHANGE[-1] | {"id": "a01"}, user("p2", "And where is the pool made?")]
    for number in range(6):
        text = LOG if number % 2 else "a small output, of no great interest\n" * 20
        entries += [
            calling(f"c{number}", f"call-{number}"),
            result(f"r{number}", f"call-{number}", [{"type": "text", "text": text}]),
        ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*entries))

    def stage(name: str, *words: str) -> list[dict[str, str]]:
        found = guard("stage", name, path, "--phase", "mid-run", "--set", "midRunMinAgeTurns=1", *words)
        shown: list[dict[str, str]] = json.loads(found.stdout)
        return shown

    assert {"large", "small"} <= {item["kind"] for item in stage("candidates")}
    assert stage("checkpoint")[0]["type"] == "not-due"
    assert stage("decisions") == []
    due = ("--set", "midRunBatchChars=0", "--set", "midRunBreakEven=false")
    assert stage("checkpoint", *due)[0]["type"] == "due"
    assert {"large", "small"} <= {item["kind"] for item in stage("decisions", *due)}
    assert {"segment", "small"} <= {item["kind"] for item in stage("requests", *due)}


def test_a_replay_loads_no_client(trace: Path) -> None:
    """With the answers of the trace nothing can go out."""
    run = spawn("replay", trace, PYTHONPROFILEIMPORTTIME="1")
    assert run.returncode == 0
    assert "httpx" not in run.stderr
