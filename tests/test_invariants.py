"""The rules of `invariants.py` over random transcripts, settings and answers, and over inputs that broke others."""

import time
from random import Random
from typing import Any

import build
import pytest
from apply import apply
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariants import assert_invariants, check_cut, check_reading, targets_of

from context_guard.answers import (
    Answer,
    Answered,
    Answers,
    Asked,
    ChoiceAnswer,
    Unanswered,
    UnansweredReason,
    YesNoAnswer,
)
from context_guard.boundary import MID_RUN, RUN_END, Boundary
from context_guard.candidates import Candidate
from context_guard.chunks import cut_chunks
from context_guard.config import Config
from context_guard.labels import tool_label
from context_guard.render import render
from context_guard.requests import Choice, Request
from context_guard.segments import pack_segments
from context_guard.stages import plan, settle
from context_guard.text import without_lone_surrogates
from context_guard.transcript import Model, ToolCall, Transcript

FAST = settings(deadline=None, derandomize=True, max_examples=200, suppress_health_check=list(HealthCheck))
WHOLE_PASS = settings(FAST, max_examples=250)

FILES = ["src/a.py", "src/b-2-c.py", "docs/2024-05-01-post.md", "C:\\work\\a.py", "a b.txt", "\u001b[35mz.c\u001b[0m"]
WORDS = [
    "pool",
    "",
    "  indented",
    "Überraschung",
    "数据",
    "x\r",
    "tab\there",
    "\x00",
    "\ud83d",
    "😀😀",
    "\u2028",
    "a:1:b-2-c",
]
ODD_LINES = [
    "",
    "\r",
    " \t",
    "--",
    "---",
    "[context-guard] Distilled the output of bash `ls`: kept 1 of 9 lines (3 of 90 chars); the rest was judged",
    "[… 3 lines omitted (output lines 1–3) …]",
    "[… 2 lines omitted: matches in src/a.py …]",
    "[Showing lines 1-10 of 99. Use offset=11 to continue.]",
    "[90 more lines in file. Use offset=11 to continue.]",
    "Command exited with code 1",
    "\u001b[31mred\u001b[0m \u001b[2K\rprogress 55%\rprogress 100%",
    "half \ud83d of a pair, and the other \ude00",
    "\ude00\ud83d",
    "\x00\x01\x7f\x9f",
]


def lines() -> st.SearchStrategy[str]:
    file, number, word = st.sampled_from(FILES), st.integers(0, 99_999), st.sampled_from(WORDS)
    return st.one_of(
        st.builds("{}:{}:{}".format, file, number, word),
        st.builds("{}-{}-{}".format, file, number, word),
        st.builds("2024-06-07T10:15:{:02}Z {}".format, st.integers(0, 59), word),
        st.builds("10:15:{:02} {}".format, st.integers(0, 59), word),
        st.sampled_from(ODD_LINES),
        st.text(st.characters(exclude_characters="\n", exclude_categories=()), max_size=20),
        st.builds(lambda word, times: word * times, word, st.integers(1, 400)),
    )


def texts(most: int) -> st.SearchStrategy[str]:
    """Runs of like lines, as tools print them; now and then a newline at the end."""
    runs = st.lists(st.tuples(lines(), st.sampled_from([1, 1, 2, 5, 30])), max_size=most)
    joined = runs.map(lambda found: "\n".join(line for line, times in found for _ in range(times)))
    return st.builds(str.__add__, joined, st.sampled_from(["", "\n", "\n\n"]))


def outputs() -> st.SearchStrategy[str]:
    """Outputs of a real size, most of them of one kind of line with others strewn in; they cost a single draw."""
    return st.one_of(texts(8), *[st.builds(output, st.integers(0, 2**32), st.sampled_from([5, 40, 120]))] * 4)


def output(seed: int, count: int) -> str:
    dice = Random(seed)
    file, kind = dice.choice(FILES), dice.randrange(6)
    found: list[str] = []
    for number in range(count):
        if dice.random() < 0.1:
            file, kind = dice.choice(FILES), dice.choice([kind, dice.randrange(6)])
        word = dice.choice(WORDS)
        found.append(
            [
                f"{file}:{number}: {word}",
                f"{file}-{number}- {word}",
                f"2024-06-07 10:15:{number % 60:02} request {number} {word}",
                f"    {number} {word * dice.randrange(9)}",
                dice.choice(ODD_LINES),
                word * dice.choice([1, 5, 300]),
            ][kind]
        )
    return "\n".join(found) + "\n" * dice.randrange(3)


def configs() -> st.SearchStrategy[Config]:
    return st.builds(
        Config,
        min_result_chars=st.sampled_from([0, 1, 300]),
        min_run_chars=st.sampled_from([0, 500]),
        keep_whole_threshold=st.sampled_from([0.7, 1.0]),
        max_keep_ratio=st.sampled_from([0.6, 1.0]),
        keep_cited_files=st.booleans(),
        max_chunks=st.sampled_from([1, 10, 120]),
        min_chunk_chars=st.just(100),
        max_chunk_chars=st.sampled_from([100, 400]),
        max_segment_chars=st.sampled_from([2_000, 32_000]),
        max_chunks_per_segment=st.sampled_from([2, 40]),
        exclude_tools=st.sampled_from([(), ("edit",)]),
        distill_errors=st.booleans(),
        history_exchanges=st.integers(0, 2),
        pin_anthropic_cache=st.booleans(),
        mid_run_min_age_turns=st.integers(1, 2),
        mid_run_batch_chars=st.sampled_from([0, 1_000]),
        mid_run_break_even=st.booleans(),
        small_result_min_chars=st.sampled_from([0, 120]),
        keep_recent_exchanges=st.integers(0, 1),
        exchange_break_even=st.booleans(),
        exchange_min_saving_chars=st.sampled_from([0, 8_000]),
        image_keep_turns=st.integers(0, 2),
        keep_notices=st.booleans(),
        hard_keeps=st.booleans(),
        trim_lines=st.booleans(),
        cut_by_kind=st.booleans(),
        original_cuts=st.booleans(),
        original_texts=st.booleans(),
    )


OUTPUTS = outputs()
FLAG = st.booleans()
PROMPTS = texts(2)
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("bash", {"command": "rg -n `pool`\n| head"}),
    ("bash", {"command": "sed -i s/a/b/ src/a.py"}),
    ("read", {"path": "./src/a.py", "offset": 12}),
    ("Read", {"file_path": "C:\\work\\a\x07.py"}),
    ("edit", {"path": "src/a.py"}),
    ("recall", {"entryId": "e3"}),
    ("screenshot", {}),
]


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Up to two old exchanges, then a run: finished, cut short or still going on."""
    pieces: list[build.Piece] = []
    for _ in range(draw(st.integers(0, 2))):
        pieces += _run(draw)
    pieces += _run(draw)
    if draw(st.integers(0, 4)) == 0:
        pieces.pop()
    models = [build.MODEL, Model("openai-codex", "gpt"), Model("google", "gemini")]
    return build.session(*pieces, model=draw(st.sampled_from(models)))


STEPS = st.sampled_from([0, 1, 2, 3, 3])
CALLS = st.lists(st.sampled_from(TOOLS), min_size=1, max_size=2)
SAID = st.sampled_from(["", "Let me see. \ud83d"])
IMAGES = st.sampled_from([0, 0, 0, 2])
STRAYS = st.sampled_from([None, None, None, build.note("Mind the gap."), build.prompt("And src/b-2-c.py?")])
ANSWERS = st.sampled_from(["Done.", "It is in `post.md` and a.py.", "\ud83d"])


def _run(draw: st.DrawFn) -> list[build.Piece]:
    pieces: list[build.Piece] = [build.prompt(draw(PROMPTS), images=draw(IMAGES))]
    for _ in range(draw(STEPS)):
        made = draw(CALLS)
        pieces.append(build.calls(*made, says=draw(SAID)))
        pieces += [build.result(draw(OUTPUTS), error=draw(FLAG), images=draw(IMAGES)) for _ in made]
        stray = draw(STRAYS)
        pieces += [] if stray is None else [stray]
    return [*pieces, build.answer(draw(ANSWERS))]


def outcomes(request: Request) -> st.SearchStrategy[Answered]:
    """A judge that drops, keeps a few or all, wavers, or leaves questions out; now and then one that fails."""
    reasons: st.SearchStrategy[UnansweredReason] = st.sampled_from(["timeout", "error", "aborted"])
    failed = st.builds(Unanswered, st.just(request.id), reasons, replied=st.booleans(), started=st.booleans())
    moods = st.sampled_from(["drop", "drop", "few", "few", "few", "waver", "silent", "keep"])
    answered = st.builds(answers, st.just(request), moods, st.integers(0, 2**16), st.integers(0, 2**40))
    return st.one_of(*[answered] * 8, failed)


def answers(request: Request, mood: str, pick: int, bits: int) -> Answered:
    found: list[Answer] = []
    for number, question in enumerate(request.questions):
        lot = bits >> number % 40 & 1
        if mood == "silent" and lot:
            continue
        if isinstance(question, Choice):
            options = [name for name, _ in question.options] + ["chunk_999"]
            choice = {"drop": "none", "keep": "whole"}.get(mood) or options[pick % len(options)]
            p = 0.3 if mood == "waver" else 0.9
            found.append(ChoiceAnswer(question.id, choice, ((choice, p), (options[-2], 1 - p))))
        else:
            likely = {"drop": 0.02, "keep": 0.95, "waver": 0.6 * lot}.get(
                mood, 0.95 * (lot and pick >> number % 16 & 1)
            )
            found.append(YesNoAnswer(question.id, 0.1 if question.id == "keep_whole" and mood != "keep" else likely))
    return Answers(request.id, tuple(found))


@WHOLE_PASS
@given(transcripts(), configs(), st.sampled_from([RUN_END, RUN_END, MID_RUN, Boundary(every_run=True)]), st.data())
def test_every_pass_keeps_the_invariants(
    transcript: Transcript, config: Config, boundary: Boundary, data: st.DataObject
) -> None:
    """Whatever the transcript, the settings and the answers, a pass keeps to the rules, and so does the next one."""
    for _ in range(2):
        planned = plan(transcript, config, boundary)
        found = tuple(data.draw(outcomes(request)) for request in planned.requests)
        settled = settle(planned, Asked(outcomes=found, judge="canned"))
        assert_invariants(transcript, planned, settled)
        transcript = apply(transcript, settled.drafts)


@FAST
@given(OUTPUTS, configs())
def test_joined_chunks_are_the_output(text: str, config: Config) -> None:
    """Chunks cover every line once, in order, and put together they are the output; so are segments."""
    cut = cut_chunks(candidate(text), config)
    check_cut(text, cut)
    segments = pack_segments(cut, config)
    assert tuple(range(len(cut.chunks))) == tuple(index for segment in segments for index in segment.chunks)
    assert all(segment.oversize or segment.chars <= config.max_segment_chars for segment in segments)


@FAST
@given(OUTPUTS, configs(), st.sampled_from(TOOLS), st.integers(0, 2**30))
def test_kept_lines_are_the_outputs_own(text: str, config: Config, tool: tuple[str, dict[str, Any]], bits: int) -> None:
    """Whichever chunks stay, the replacement holds their lines byte for byte and a gap for each of the others."""
    item = candidate(text, *tool)
    cut = cut_chunks(item, config)
    kept = tuple(chunk.index for chunk in cut.chunks if bits >> chunk.index % 30 & 1)
    rendering = render(item, cut, kept, config, "run-end")
    check_reading(without_lone_surrogates(text), rendering.text)
    assert all(without_lone_surrogates(cut.chunks[index].text) in rendering.text for index in kept)


HOSTILE = {
    "empty": "",
    "one newline": "\n",
    "only separators": "--\n" * 3_000,
    "only blank lines": "\n" * 30_000,
    "only carriage returns": "\r" * 30_000,
    "NUL": "\x00" * 30_000,
    "lone surrogates": "\ud83d\n" * 9_000,
    "one line of 5 MB": "x" * 5_000_000,
    "one line of 5 MB with matches": "a:1:" * 1_250_000,
    "one line of 5 MB with dashes": "a-1-" * 1_250_000,
    "one line of 5 MB of digits": "1" * 5_000_000,
    "100,000 lines": "\n".join(f"line {number}" for number in range(100_000)),
    "100,000 times": "\n".join(f"10:15:{number % 60:02} request {number}" for number in range(100_000)),
    "100,000 files": "\n".join(f"src/{number}.py:1: pool" for number in range(100_000)),
    "rg -C over 5,000 files": "\n--\n".join(
        f"src/d-{number}-x/f.py-8-before\nsrc/d-{number}-x/f.py:9:pool\nsrc/d-{number}-x/f.py-10-after"
        for number in range(5_000)
    ),
    "base64": "data:image/png;base64," + "iVBORw0KGgo" * 20_000,
    "deeply nested JSON": "[" * 200_000,
}
SECONDS = 5


@pytest.mark.parametrize("name", HOSTILE)
def test_no_input_breaks_or_stalls_a_pass(name: str) -> None:
    """A hostile output is chunked, judged and replaced like any other, in time that grows no faster than it does."""
    text = HOSTILE[name]
    transcript = build.session(
        build.prompt("Where is the pool?"),
        build.call("bash", {"command": "cat it"}),
        build.result(text),
        build.answer("In src/9.py."),
    )
    started = time.process_time()
    planned = plan(transcript, Config())
    settled = settle(planned, Asked(outcomes=tuple(map(drop, planned.requests)), judge="canned"))
    assert time.process_time() - started < SECONDS
    assert_invariants(transcript, planned, settled)


def test_arguments_of_any_depth_are_no_trouble() -> None:
    """Tool arguments that are no object, or nested too deep to read, make a bare label and stop nothing."""
    for args in ("[" * 100_000, "{}", "null", '"text"', '{"command": 1}', '{"command": "\\ud83d"}', "not json"):
        assert tool_label("bash", args).startswith("bash")


def test_every_marker_of_a_long_session_is_redeemable() -> None:
    """Of 300 results in 20 runs, every note that is left in place of one can be redeemed (T14)."""
    pieces: list[build.Piece] = []
    for run in range(20):
        pieces.append(build.prompt(f"Task {run}"))
        for step in range(15):
            pieces += [build.call("bash", {"command": f"make {step}"}), build.result(build.lines(60 + run))]
        pieces.append(build.answer("Done."))
    transcript = build.session(*pieces)
    planned = plan(transcript, Config(min_result_chars=400), Boundary(every_run=True))
    settled = settle(planned, Asked(outcomes=tuple(map(drop, planned.requests)), judge="canned"))
    assert len(targets_of(settled.drafts)) == 300
    assert_invariants(transcript, planned, settled)


def drop(request: Request) -> Answers:
    """A judge that wants to be rid of everything but the chunk it is asked about first."""
    options = [name for question in request.questions if isinstance(question, Choice) for name, _ in question.options]
    focus = ChoiceAnswer("focus", options[2], ((options[2], 0.9),)) if options else None
    answers = [YesNoAnswer(question.id, 0.01) for question in request.questions if question.id != "focus"]
    return Answers(request.id, (*([focus] if focus else []), *answers))


def candidate(text: str, tool: str = "bash", args: dict[str, Any] | None = None) -> Candidate:
    call = build.call(tool, args).raw[0]
    assert isinstance(call, ToolCall)
    return Candidate(
        entry_id="e", tool=tool, args=call.args, label=tool_label(tool, call.args), text=text, is_error=False, turn=0
    )
