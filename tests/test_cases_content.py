"""Inputs from the field on which tools like this lost or bent something: what must hold for each of them.

The numbers (T1, T4, …) are those of the list of field cases that the project was given.
"""

import json
import re
from collections.abc import Callable

import build
import pytest
from apply import apply
from build import answer, call, prompt, result, session
from invariants import assert_invariants

from context_guard.answers import Answered, Answers, Asked, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.candidates import Candidate
from context_guard.chunks import cut_chunks
from context_guard.config import Config
from context_guard.local_judge import judge_locally
from context_guard.recall import recall
from context_guard.render import render
from context_guard.requests import Choice, Request
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Transcript, text_of

Judge = Callable[[Request], Answered]

CONFIG = Config(
    min_result_chars=600, min_run_chars=600, min_chunk_chars=200, run_end_break_even=False, small_result_min_chars=0
)


def drop_all(request: Request) -> Answered:
    """A judge that needs nothing of it."""
    choices = [question for question in request.questions if isinstance(question, Choice)]
    focus = tuple(ChoiceAnswer(question.id, "none", (("none", 0.95),)) for question in choices)
    yes_no = [YesNoAnswer(question.id, 0.02) for question in request.questions if question not in choices]
    return Answers(request.id, (*focus, *yes_no))


def keep_holding(*words: str) -> Judge:
    """A judge that needs the chunks with one of the words."""

    def judge(request: Request) -> Answered:
        holding = {part.id for part in request.state.parts if any(word in part.text for word in words)}
        answers = [
            YesNoAnswer(it.id, 0.95 if it.id in holding else 0.02) for it in request.questions if it.id != "focus"
        ]
        options = (min(holding), 0.6) if holding else ("none", 0.95)
        return Answers(request.id, (ChoiceAnswer("focus", options[0], (options,)), *answers))

    return judge


class Passed:
    """What a pass made of the one output of a run."""

    def __init__(
        self, text: str, judge: Judge = drop_all, config: Config = CONFIG, *, error: bool = False, **told: str
    ) -> None:
        self.raw = text
        command = {"command": told.get("command", "make it")}
        tool = told.get("tool", "bash")
        args = {"path": told["path"]} if "path" in told else command
        self.transcript: Transcript = session(
            prompt(told.get("question", "What is it?")),
            call(tool, args),
            result(text, error=error),
            answer(told.get("answer", "It is done.")),
        )
        self.plan: Plan = plan(self.transcript, config)
        asked = Asked(outcomes=tuple(map(judge, self.plan.requests)), judge="canned")
        self.settled: Settlement = settle(self.plan, asked)
        assert_invariants(self.transcript, self.plan, self.settled)
        large = [decision for decision in self.settled.decisions if decision.kind == "large"]
        self.outcome = large[0].outcome if large else "untouched"
        self.shown = (large[0].replacement or (text,))[0] if large else text
        self.seen = text_of(apply(self.transcript, self.settled.drafts).entries[2].visible)
        self.asked = "\n".join(part.text for request in self.plan.requests for part in request.state.parts)

    @property
    def kept(self) -> list[str]:
        return [line for line in self.shown.split("\n")[1:] if not line.startswith("[… ")]


def test_t1_a_hit_that_is_not_shown_is_counted_by_its_file() -> None:
    """Of 236 hits the one that proves it is kept, or its file stands in the gap with its count."""
    hits = [f"src/mod_{number // 20}.py:{number}: self.field = {number}" for number in range(236)]
    hits[205] = "src/reader.py:7: return self.field"
    passed = Passed("\n".join(hits), keep_holding("mod_3.py:61"), command="grep -rn field src")
    gaps = [line for line in passed.shown.split("\n") if line.startswith("[… ")]
    assert any("src/reader.py (1)" in gap for gap in gaps)
    assert 236 == len(passed.kept) + sum(int(re.findall(r"[0-9]+", gap)[0]) for gap in gaps)


def test_t2_a_short_output_is_untouched() -> None:
    """Five lines of an environment are below every floor."""
    text = "\n".join(f"NAME_{number}=value" for number in range(5))
    assert Passed(text, config=Config()).outcome == "untouched"


def test_t4_context_lines_stay_with_their_file() -> None:
    """`grep -C3` in a file named by a date, and a path with a drive: the right file, the lines to the byte."""
    post = [
        f"2024-05-01-post.md{':' if n == 7 else '-'}{n}{':' if n == 7 else '-'}text {n} " + "x" * 40
        for n in range(4, 11)
    ]
    drive = [f"C:\\src\\a.py:{n}:x = {n} " + "y" * 40 for n in range(12, 25)]
    passed = Passed("\n".join([*post, "--", *drive]), keep_holding("a.py:12:"), command="grep -C3 x .")
    assert passed.plan.chunks[0].kind == "search"
    assert {file for chunk in passed.plan.chunks[0].chunks for file in chunk.files} == {
        "2024-05-01-post.md",
        "C:\\src\\a.py",
    }
    assert set(passed.kept) <= set(passed.raw.split("\n"))
    assert "2024-05-01-post.md (1)" in passed.shown


@pytest.mark.parametrize("rows", [40, 12])
def test_t5_rows_are_never_torn(rows: int) -> None:
    """A listing keeps whole rows and the line above them."""
    listing = [
        "total 96",
        *(f"-rw-r--r-- 1 root root {n:>6} Nov 30 20:0{n % 10} file-{n:02}.txt" + " " * 20 for n in range(rows)),
    ]
    passed = Passed("\n".join(listing), keep_holding("file-05"), command="ls -la")
    assert set(passed.kept) <= set(listing)
    assert "total 96" in passed.shown
    assert any("file-05.txt" in line for line in passed.kept)


def test_t7_no_cut_falls_inside_a_character() -> None:
    """10,000 characters of one line, an emoji wherever the cut would be."""
    passed = Passed("😀 and" * 2_500, keep_holding("😀"), config=Config(min_run_chars=0))
    assert all(chunk.text.encode() for chunk in passed.plan.chunks[0].chunks)
    json.dumps(passed.shown).encode()
    assert passed.raw == recall(passed.transcript, "e3").unwrap().raw


def test_t8_half_a_pair_is_shown_safely_and_stored_as_it_is() -> None:
    """A lone surrogate in a kept line is shown as U+FFFD; what recall gives back is the stored text."""
    text = "\n".join([*(f"line {n} of the log, of no great interest" for n in range(40)), "half \ud83d of it, needle"])
    passed = Passed(text, keep_holding("needle"))
    assert "half \ufffd of it, needle" in passed.kept
    assert text == recall(passed.transcript, "e3").unwrap().raw


def test_t15_the_judge_never_sees_encoded_data() -> None:
    """JSON with a field of 200,000 characters of base64: elided for the judge, with its size; the rest is there."""
    blob = "iVBORw0KGgoAAAANSUhEUg" * 9_091
    text = json.dumps({"image": blob, "rows": [{"id": n, "name": f"row {n}"} for n in range(200)]})
    passed = Passed(text, keep_holding("row 150"))
    assert blob[:300] not in passed.asked
    assert f"encoded data, {len(blob):,} characters" in passed.asked
    assert '"name": "row 150"' in passed.shown
    assert len(passed.shown) < 5_000
    assert text == recall(passed.transcript, "e3").unwrap().raw


def test_t16_a_blob_goes_and_the_tree_beside_it_stays() -> None:
    """A data URL of 120,250 characters in a JSON of 135,423: the gap says how long it is and that it was data."""
    tree = ", ".join(f'{{"role": "button", "name": "Save {n}", "id": {n}}}' for n in range(320))
    text = '{"data_url": "data:image/png;base64,' + "A1b2" * 30_000 + '", "tree": [' + tree + "]}"
    passed = Passed(text, keep_holding('"role"'), config=Config(min_run_chars=0, min_chunk_chars=500))
    assert tree in passed.shown.replace("\n", "")
    (gap,) = [line for line in passed.shown.split("\n") if line.startswith("[… ")]
    assert re.fullmatch(
        r"\[… 120,[0-9]{3} characters .*, characters 1–120,[0-9]{3}\): 120,000 of them encoded data, image/png …\]", gap
    )


def test_t17_a_match_inside_one_huge_line_is_kept_with_its_place() -> None:
    """650,000 characters in one line: the match with what is around it, the rest by character offsets."""
    code = ";".join(f"function f{n}(a,b){{return a*{n}+b}}" for n in range(21_000))
    text = code[:325_000] + ";var needleHere=42;" + code[325_000:]
    passed = Passed(text, keep_holding("needleHere"), config=Config())
    gaps = re.findall(
        r"\[… ([0-9,]+) characters omitted \(output line 1, characters ([0-9,]+)–([0-9,]+)\) …\]", passed.shown
    )
    assert "var needleHere=42;" in passed.shown
    assert 2 == len(gaps)
    assert len(passed.shown) < 20_000
    for size, first, last in gaps:
        assert int(size.replace(",", "")) == int(last.replace(",", "")) - int(first.replace(",", "")) + 1


def test_t19_the_judge_sees_the_last_state_of_what_was_overwritten() -> None:
    """Carriage returns, erased lines and cursor moves: the last state for the judge, the raw bytes in what is kept."""
    progress = "".join(f"\x1b[2KRetrieving image: {n}%" for n in range(44))
    bars = "outer: 10%\router: 50%\n\rinner: 20%\rinner: 90%\x1b[A"
    text = "\n".join([progress, bars, "Working\rDone", *(f"step {n} of the build, all is well" for n in range(40))])
    passed = Passed(text, keep_holding("Done"))
    seen = passed.asked.split("\n")
    assert ["Retrieving image: 43%", "outer: 50%", "inner: 90%", "Done"] == seen[:4]
    assert "Working\rDone" in passed.shown
    assert "WoWork" not in passed.asked
    assert not re.search("[\x1b\r]", passed.asked)


def test_t20_line_ends_stay_so_that_an_edit_matches() -> None:
    """A file with CRLF: the kept lines are the file's, and the old text of an edit is found in what is shown."""
    text = "\r\n".join(f"    field_{n} = {n}  # of the settings that nobody reads" for n in range(60))
    passed = Passed(text, keep_holding("field_30 "), tool="read", path="settings.py")
    assert "    field_30 = 30  # of the settings that nobody reads\r\n" in passed.shown
    assert all(f"{line}\n" in f"{text}\n" for line in passed.kept)


def test_t21_of_3000_passes_the_failure_the_summary_and_the_exit_stay() -> None:
    """Even under a judge that would drop them: a failure block, its summary and the exit line are held."""
    lines = [f"tests/test_{n}.py::test_it PASSED" for n in range(3_000)]
    lines[1_500:1_500] = [
        "____ test_pool ____",
        "",
        "    def test_pool():",
        ">       assert 3 == 4",
        "E       assert 3 == 4",
        "",
        "tests/test_pool.py:9: AssertionError",
    ]
    lines += ["=== 1 failed, 3000 passed in 2.10s ===", "", "Command exited with code 1"]
    passed = Passed(
        "\n".join(lines),
        keep_holding("test_7.py"),
        error=True,
        command="pytest -v",
        answer="test_pool fails: 3 is not 4.",
    )
    for needed in lines[1_500:1_507] + lines[-3:]:
        assert needed in passed.kept
    assert "passed tests, no failure among them" in passed.shown
    assert len(passed.kept) < 120


def test_a_current_failure_stays_under_a_judge_that_needs_nothing() -> None:
    """The call failed, nothing superseded it, and the answer speaks of it: the judge's `none` does not take it."""
    text = failing_run()
    told = Passed(text, drop_all, error=True, command="pytest", answer="tests/test_pool.py still fails.")
    assert "E       assert 3 == 4" in told.kept
    assert "=== 1 failed, 60 passed in 2.10s ===" in told.kept


def test_a_dead_end_goes_even_with_an_error_in_it() -> None:
    """The answer says that it is mended, or has nothing to do with it: the whole output goes."""
    text = failing_run()
    for said in ("Fixed: all tests pass now.", "The logo is blue."):
        assert Passed(text, drop_all, error=True, command="pytest", answer=said).outcome == "removed"


def test_hard_keeps_are_a_setting() -> None:
    """Turned off, the judge's word counts alone."""
    config = Config(min_result_chars=600, min_run_chars=0, run_end_break_even=False, hard_keeps=False)
    passed = Passed(failing_run(), drop_all, config, error=True, answer="tests/test_pool.py still fails.")
    assert passed.outcome == "removed"


def test_what_the_answer_quotes_is_held() -> None:
    """A line that the answer gives word for word stays beside what the judge keeps."""
    lines = [f"step {n} of the build, all is well with it" for n in range(60)]
    lines[50] = "warning: the cache of the linker was cold, took 94 s"
    quoted = Passed("\n".join(lines), keep_holding("step 3 "), answer="It says `the cache of the linker was cold`.")
    assert lines[50] in quoted.kept
    assert lines[50] not in Passed("\n".join(lines), keep_holding("step 3 "), answer="It is slow.").kept


def test_what_an_edit_replaced_is_held() -> None:
    """The old text of a later edit stays in an output that the edit did not make out of date."""
    lines = [f"def helper_{n}(value):  # number {n} of the helpers" for n in range(60)]
    run = session(
        prompt("Rename it."),
        call("bash", {"command": "git show HEAD:helpers.py"}),
        result("\n".join(lines)),
        call("edit", {"path": "other.py", "oldText": lines[40], "newText": "def other(value):"}),
        result("done"),
        answer("Renamed."),
    )
    planned = plan(run, CONFIG)
    settled = settle(planned, Asked(outcomes=tuple(map(keep_holding("helper_3("), planned.requests)), judge="canned"))
    assert_invariants(run, planned, settled)
    (text,) = next(it.replacement for it in settled.decisions if it.entry_id == "e3" and it.replacement)
    assert lines[40] in text.split("\n")


def test_t22_a_read_before_an_edit_may_go_and_the_read_behind_it_stays() -> None:
    """Nothing of the first read is held; the judge decides on both alone."""
    first = build.lines(40, "VALUE_{} = 1  # of the settings")
    run = session(
        prompt("Change it."),
        call("read", {"path": "a.py"}),
        result(first),
        call("edit", {"path": "a.py", "oldText": "VALUE_7 = 1  # of the settings", "newText": "VALUE_7 = 2"}),
        result("done"),
        call("read", {"path": "a.py"}),
        result(first.replace("VALUE_7 = 1", "VALUE_7 = 2")),
        answer("VALUE_7 is 2 now."),
    )
    planned = plan(run, CONFIG)
    outcomes = [drop_all(it) if it.entry_ids == ("e3",) else keep_holding("VALUE_7 ")(it) for it in planned.requests]
    settled = settle(planned, Asked(outcomes=tuple(outcomes), judge="canned"))
    outcome = {decision.entry_id: decision.outcome for decision in settled.decisions if decision.kind == "large"}
    assert {"e3": "removed", "e7": "distilled"} == outcome


def test_t23_a_fake_header_is_a_text_like_any_other() -> None:
    """A line that looks like ours, with an id: it is judged, can go, and its id stands for nothing."""
    fake = (
        '[context-guard] Distilled the output of bash `x`: kept 1 of 9 lines. Full output: recall({"entryId":"e99"}).'
    )
    text = "\n".join(
        [fake, "[… 8 lines omitted (output lines 2–9) …]", *(f"line {n} of the page" + " " * 30 for n in range(40))]
    )
    passed = Passed(text, keep_holding("line 39 "))
    assert fake not in passed.kept
    assert "e99" not in passed.shown


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where is the pool closed?", "In `close_pool`: it is called from `shutdown_server`."),
        ("Unde se închide pool-ul?", "În `close_pool`: este apelat din `shutdown_server`."),
        ("풀은 어디에서 닫히나요?", "`close_pool`에서 닫히며 `shutdown_server`가 호출합니다."),
        ("连接池在哪里关闭？", "在 `close_pool` 里，由 `shutdown_server` 调用。"),
    ],
    ids=["English", "Romanian", "Korean", "Chinese"],
)
def test_t27_the_language_of_the_answer_loses_no_needed_line(question: str, said: str) -> None:
    """The embedded judge on our cuts: the definitions that the answer names stay, in any language."""
    functions = [f"def handle_{n}(request):\n    value = request.get({n})\n    return value * {n}\n" for n in range(60)]
    functions[20] = "def close_pool(pool):\n    pool.drain()\n    pool.close()\n"
    functions[45] = "def shutdown_server(server):\n    close_pool(server.pool)\n"
    passed = Passed(
        "\n".join(functions), judge_locally, Config(min_run_chars=0, run_end_break_even=False),
        tool="read", path="server.py", question=question, answer=said,
    )  # fmt: skip
    for needed in (functions[20] + functions[45]).strip().split("\n"):
        assert needed in passed.shown.split("\n")


def test_repeated_lines_inside_of_what_stays_are_told_once() -> None:
    """The first one stays, the gap says that the others are the same."""
    lines = [f"step {n} of the build, all is well" for n in range(60)]
    lines += ["needle found", *["retrying the download of the package"] * 20]
    config = Config(min_result_chars=600, min_run_chars=0, run_end_break_even=False)
    passed = Passed("\n".join(lines), keep_holding("needle", "retrying"), config)
    assert passed.kept.count("retrying the download of the package") <= 2
    assert "the line above again" in passed.shown
    assert "needle found" in passed.kept


def failing_run() -> str:
    lines = [f"tests/test_{n}.py::test_it PASSED" for n in range(60)]
    block = [
        "____ test_pool ____",
        ">       assert 3 == 4",
        "E       assert 3 == 4",
        "",
        "tests/test_pool.py:9: AssertionError",
    ]
    return "\n".join([*lines, *block, "=== 1 failed, 60 passed in 2.10s ==="])


def test_what_was_asked_is_what_was_stored_but_for_escapes() -> None:
    """Without escapes, overwritten lines or data the judge reads the chunks to the byte."""
    passed = Passed("\n".join(f"line {n} of the page" + " " * 30 for n in range(40)))
    assert passed.asked == text_of(passed.transcript.entries[2].raw)


def test_no_failure_is_ruled_out_that_the_guard_cannot_read() -> None:
    """A gap says that no failure is among its lines only where every one of them is a passed test."""
    for line in ("src/a.c:12:5: error: 'foo' undeclared", "Killed", "eroare: lipsa", "CONFLICT (content): a.py"):
        log = [f"[{number}/1000] CC obj/file_{number}.o" for number in range(1, 1_001)]
        log[199], log[699] = line, "--- FAIL: TestRefund (0.00s)"
        made = Candidate("e", "bash", "", "bash", "\n".join(log), is_error=False, turn=0)
        shown = render(made, cut_chunks(made, Config()), (0,), Config(), "run-end").text
        assert "no failure among them" not in shown


ERRORS = (
    "src/file_200.c:12:5: error: 'foo' undeclared",
    "a.ts(3,5): error TS2322: no",
    "a.go:3:2: undefined: foo",
    "make: *** [all] Error 2",
    "bash: foo: command not found",
    "Killed",
    "CONFLICT (content): Merge conflict in a.py",
    "--- FAIL: TestRefund (0.00s)",
)


@pytest.mark.parametrize("line", ERRORS)
@pytest.mark.parametrize("count", [60, 1_000])
def test_a_failure_that_proves_the_answer_wrong_stays(line: str, count: int) -> None:
    """The answer claims success and the judge needs nothing: the one error line stays, in a long output and a short."""
    log = [f"[{number}/{count}] CC obj/file_{number}.o" for number in range(1, count + 1)]
    log[count // 2] = line
    for error in (False, True):
        assert line in Passed("\n".join(log), drop_all, error=error, answer="The build finished successfully.").seen


def test_t4_a_context_line_with_a_colon_in_its_text_is_no_match() -> None:
    """`grep -C` lines that hold `word:digits:` belong to the file before their line number, and are not counted."""
    lines = [
        text
        for number in range(2, 90, 4)
        for text in (
            f"2024-05-01-post.md-{number}-10:30:15 started, see foo.py:12: bar, at some length for the size",
            f"2024-05-01-post.md:{number + 1}: the retry is here, at some length for the size of it",
            f"C:\\src\\mod1.py-{number}-see foo.py:12: bar, at some length for the size of the output",
            f"C:\\src\\mod1.py:{number + 1}: the retry is there, at some length for the size of the output",
        )
    ]
    passed = Passed("\n".join(lines), drop_all, command="grep -rn -C1 retry .")
    assert "matches in 2024-05-01-post.md (22), C:\\src\\mod1.py (22). Full output" in passed.shown


def test_t1_a_removed_search_still_names_its_files() -> None:
    """Where nothing of a search is shown the removal says how many hits each file had."""
    hits = [f"src/mod_{number // 50}.py:{number}: self.field = {number}, and some more of it" for number in range(200)]
    assert "matches in src/mod_0.py (50), src/mod_1.py (50)" in Passed("\n".join(hits), drop_all).shown


def test_no_error_is_ruled_out_that_the_guard_cannot_read() -> None:
    """Diagnostics in a gap are counted where they say `error`, and nothing is said where none does."""
    log = "\n".join(f"src/mod_{n % 9}.go:{n}:2: undefined: name_{n}, which is nowhere declared" for n in range(200))
    assert "no error" not in Passed(log, keep_holding("name_3,"), command="go vet ./...").shown


def test_t12_a_recalled_text_is_left_alone_when_its_run_ends() -> None:
    """No second marker stands for a text that the agent has just asked back."""
    assert (
        Passed("\n".join(f"line {n} of what was asked back" for n in range(400)), tool="recall").outcome == "untouched"
    )


@pytest.mark.parametrize(
    "command",
    [
        "context-guard recall s.jsonl e3",
        "cd /app && context-guard recall s.jsonl e3 | head -50",
        "uvx context-guard recall s.jsonl e3",
        "bash -lc 'context-guard recall s.jsonl e3'",
        "NO_COLOR=1 python3 -m context_guard_effects.cli recall s.jsonl e3",
    ],
)
def test_t12_a_text_recalled_through_a_shell_is_left_alone(command: str) -> None:
    """The command line gives back the same as the tool, so what it gave is left alone in the run that asked."""
    assert Passed(build.lines(90), command=command).outcome == "untouched"


@pytest.mark.parametrize("command", ["grep -rn 'context-guard recall' docs", "echo context-guard recalls nothing"])
def test_a_command_that_only_speaks_of_recall_is_judged(command: str) -> None:
    """Nothing was asked back by it."""
    assert Passed(build.lines(90), command=command).outcome == "removed"


@pytest.mark.parametrize(
    "line",
    [
        "10.0.0.7:8080: connection refused, attempt {}",
        "dial tcp 10.0.0.7:{}: connect: connection refused",
        "[::1]:80: connection refused, attempt {}",
        "[2001:12:ab::1]:80: connection refused, attempt {}",
        "fe80:12::{}: neighbour unreachable",
        "db.internal:5432: the pool is used up, attempt {}",
        "localhost:{}: the port is in use",
        "at 10:15: the worker is late, attempt {}",
        "http-nio-8080-exec-{} INFO request served",
        "550e8400-1234-4e29-9d4a-{} was served",
        "http://localhost:8080/pool: {} requests",
    ],
)
def test_an_address_a_time_or_an_id_is_no_file_of_a_search(line: str) -> None:
    """A line that begins with one of them is no `path:line:`: no gap counts matches in it."""
    passed = Passed("\n".join(line.format(number) for number in range(100, 200)), keep_holding("150"))
    assert passed.plan.chunks[0].kind != "search"
    assert "matches in" not in passed.shown


@pytest.mark.parametrize(
    "name", ["src/[id].tsx", "[id].tsx", "cafe", "v1.2.3", "localhost.py", "a/1.2.3.4.txt", "日本.py"]
)
def test_a_file_with_an_odd_name_is_still_one(name: str) -> None:
    """Brackets, digits and letters of hexadecimal numbers are in file names, too."""
    hits = "\n".join(f"{name}:{number}: the pool is closed here, and not before" for number in range(1, 60))
    assert f"matches in {name} (59)" in Passed(hits, drop_all, command="rg -n pool").shown


def keep_whole(request: Request) -> Answered:
    """A judge that needs all of it."""
    choices = [question for question in request.questions if isinstance(question, Choice)]
    focus = tuple(ChoiceAnswer(question.id, "whole", (("whole", 0.95),)) for question in choices)
    return Answers(request.id, (*focus, *(YesNoAnswer(it.id, 0.95) for it in request.questions if it not in choices)))


DEFAULT = Config(min_run_chars=0, run_end_break_even=False)


def with_data(data: str, count: int = 60) -> str:
    return "\n".join([build.lines(count), f"needle {data} end", build.lines(count)])


ENCODED = {
    "base64": ("", "QUJDRGVm" * 90, "encoded data"),
    "a picture": ("", "iVBORw0KGgo" * 60, "encoded data, image/png"),
    "a data URI": ("data:font/woff2;base64,", "d09GMgAB" * 90, "encoded data, font/woff2"),
    "an escaped data URI": ("data:image/svg+xml,", "%3Csvg%3E" * 90, "encoded data, image/svg+xml"),
    "hexadecimal": ("", "0123456789abcdef" * 40, "encoded data, hexadecimal"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_t15_encoded_data_in_what_stays_is_told_by_size_and_type(name: str) -> None:
    """Nobody reads it: what stands around it stays, and the data counts neither as kept nor against an edit."""
    before, data, told = ENCODED[name]
    passed = Passed(with_data(before + data), keep_holding("needle"), DEFAULT)
    assert data not in passed.shown
    assert f"needle {before}" in passed.kept
    assert " end" in passed.kept
    assert f"[… {len(data)} characters omitted (output line 61, characters " in passed.shown
    assert f"): {told} …]" in passed.shown
    assert " 1 of them in part" in passed.shown.split("\n")[0]


def test_t15_wrapped_base64_in_what_stays_is_told() -> None:
    """Lines of base64, as a key or a mail holds them, are a gap of whole lines."""
    rows = "\n".join(f"iVBORw0KGgo{n:02}" + "QUJDRGVmR2hp" * 5 for n in range(30))
    passed = Passed(with_data(f"\n{rows}\n"), keep_holding("needle", "iVBOR", "encoded data", " end"), DEFAULT)
    assert "lines omitted (output lines" in passed.shown
    assert "): encoded data, image/png …]" in passed.shown
    assert {"needle ", " end"} <= set(passed.kept)


def test_t16_data_goes_even_where_the_judge_needs_all_of_the_rest() -> None:
    """It has not seen the data: 15 KB of tree stay whole, 120 KB of picture are a gap, and the header says so."""
    tree = json.dumps([{"role": "button", "name": f"Save {n}"} for n in range(400)])
    text = f'{{"data_url": "data:image/png;base64,{"iVBORw0K" * 15_000}", "tree": {tree}}}'
    passed = Passed(text, keep_whole)
    assert tree in passed.shown.replace("\n", "")
    assert "kept parts of its only line (" in passed.shown
    assert "; only encoded data, overwritten states and repetitions are left out." in passed.shown
    assert len(passed.shown) < len(tree) + 500


@pytest.mark.parametrize("reason", ["timeout", "error"])
def test_encoded_data_that_was_never_judged_stays(reason: str) -> None:
    """Silence keeps everything to the byte."""
    text = '{"data_url": "' + "iVBORw0K" * 2_000 + '"}\n' + build.lines(60)
    passed = Passed(text, lambda request: Unanswered(request.id, reason))  # type: ignore[arg-type]
    assert passed.seen == text


def test_encoded_data_that_is_repeated_later_stays() -> None:
    """The answer or a later call gives it again: it was needed as it is."""
    data = "QUJDRGVm" * 90
    assert data in Passed(with_data(data), keep_holding("needle"), DEFAULT, answer=f"It is {data}.").seen
    assert data not in Passed(with_data(data), keep_holding("needle"), DEFAULT, answer="It is there.").seen


@pytest.mark.parametrize("line", ["-" * 400, "=" * 400, "_" * 400, "/usr/lib/node/modules" * 15, "ab" * 200])
def test_a_rule_or_a_path_is_no_encoded_data(line: str) -> None:
    """A long line without a space is data only when it looks like it."""
    assert line in Passed(with_data(f"\n{line}\n"), keep_holding(line)).kept


def test_t19_of_what_was_overwritten_the_last_state_is_shown() -> None:
    """A progress that rewrote its line is told as a gap and its last state; a short one stays as it is."""
    progress = "".join(f"\x1b[2KRetrieving image: {n}%" for n in range(44))
    returns = "\r".join(f"Downloading {n}%" for n in range(100))
    text = "\n".join([build.lines(90), progress, returns, "Working\rDone", build.lines(90)])
    passed = Passed(text, keep_holding("Retrieving", "Downloading", "Done"))
    assert "Working\rDone" in passed.kept
    assert "Downloading 99%" in passed.kept
    assert "Downloading 98%" not in passed.shown
    assert any(line.endswith("Retrieving image: 43%") for line in passed.kept)
    assert "Retrieving image: 42%" not in passed.shown
    assert 2 == passed.shown.count("earlier states that the line overwrote")


PROGRESS = [
    "Downloading pool-1.2 {}% of 30 MB",
    "[{}%] 12 MB/s 0:00:12",
    "Receiving objects: {}% (3/9), 1.2 MiB | 2 MiB/s",
]
FACTS = [
    "epoch {} loss 0.5 acc 80%",
    "tests/test_{}.py PASSED [ 10%]",
    "[ 10%] Building a{}.o",
    "disk{} 80%",
    "row {} of it",
]


@pytest.mark.parametrize("line", [*PROGRESS, *FACTS])
def test_t19_only_lines_that_count_up_are_earlier_states(line: str) -> None:
    """Repeated lines of per cent are one progress; lines that differ in a name or a figure are facts."""
    rows = [line.format(number) for number in range(1, 21)]
    config = Config(min_result_chars=600, min_run_chars=0, run_end_break_even=False, min_chunk_chars=2_000)
    passed = Passed("\n".join([*rows, build.lines(150)]), keep_holding(rows[0]), config)
    assert rows[-1] in passed.kept
    assert (rows[4] in passed.kept) == (line in FACTS)


HEADED = {
    "matches under their file": ("src/b.py", "{}:  pool is closed here", "src/a.py"),
    "files under their folder": ("./src/b:", "file_{}_of_the_folder.py", "./src/a:"),
    "entries under their section": ("Untracked files:", "\tsrc/file_{}.py, it is", "Changes to be committed:"),
    "rows under their columns": ("NAME         TAG   SIZE", "repo-{}      v1    3 MB", "ID           IMAGE   AGE"),
    "lines under their banner": ("==> src/b.txt <==", "line {} of the file", "==> src/a.txt <=="),
    "messages under their file": ("/app/src/b.ts", "  {}:5  error  'x' is not defined  no-undef", "/app/src/a.ts"),
    "sentences under their section": ("## Closing", "Sentence {} of the section, it is.", "## Opening"),
}


@pytest.mark.parametrize("name", HEADED)
def test_what_stays_keeps_its_heading(name: str) -> None:
    """A kept line is shown under the line that says what it belongs to, and under no other."""
    heading, row, other = HEADED[name]
    rows = [row.format(number) for number in range(1, 60)]
    needle = f"{rows[45]} needle"
    text = "\n".join([other, *rows, "", heading, *rows[:45], needle, *rows[46:], ""])
    command = "cat a.md" if heading.startswith("##") else "make it"
    passed = Passed(text, keep_holding("needle"), command=command)
    assert passed.kept.index(heading) < passed.kept.index(needle)
    above = passed.kept[: passed.kept.index(heading)]
    assert above == ([other] if name == "rows under their columns" else [])  # a table's first header always stays


def test_the_names_of_a_csv_stay_with_its_rows() -> None:
    """The first line of values between commas says what they are."""
    rows = [f"{n},item {n},{n}.50,{n % 7}" for n in range(100)]
    passed = Passed("\n".join(["id,name,price,stock", *rows]), keep_holding("item 55,"), command="cat items.csv")
    assert "id,name,price,stock" == passed.kept[0]
    assert passed.plan.chunks[0].kind == "listing"


def test_prose_with_commas_is_no_csv() -> None:
    """Sentences have as many commas as they need."""
    text = "\n".join(f"Well, number {n}, {'and more, ' * (n % 3)}is here, of no interest" for n in range(60))
    assert Passed(text, drop_all).plan.chunks[0].kind == "text"


@pytest.mark.parametrize(
    "total",
    [
        " 60 files changed, 212 insertions(+), 9 deletions(-)",
        "  5417 total",
        "12M\ttotal",
        "(60 rows)",
        "Found 60 errors",
    ],
)
def test_a_the_row_that_sums_up_the_others_stays(total: str) -> None:
    """`git diff --stat`, `wc`, `du -c`, a query: with any row that stays the sum at the end does."""
    rows = [f" src/file_{n}.py | {n} ++++++++++++++++++++++++---" for n in range(60)]
    passed = Passed("\n".join([*rows, total, ""]), keep_holding("file_5.py"), command="git diff --stat")
    assert total in passed.kept
    assert total not in Passed("\n".join([*rows, total, ""]), drop_all, command="git diff --stat").kept
