import pytest
from build import answer, call, lines, prompt, result, session
from returns.result import Failure, Success

from context_guard.answers import (
    Answered,
    Answers,
    Asked,
    ChoiceAnswer,
    JudgeUsage,
    Unanswered,
    YesNoAnswer,
)
from context_guard.stages import plan, settle
from context_guard_effects.guard import DEFAULTS, distill
from context_guard_effects.judges.recorded import NO_ANSWER, RecordedJudge, read_recording, record_answers

RUN = session(
    prompt("Where is the pool made?"),
    call("bash", {"command": "cat pool.log"}),
    result(lines(400)),
    answer("On line 7 of the output."),
)


def judge(data: bytes | str) -> RecordedJudge:
    match read_recording(data.encode() if isinstance(data, str) else data):
        case Success(RecordedJudge() as found):
            return found
        case other:
            raise AssertionError(other)


def problem(data: bytes) -> str:
    match read_recording(data):
        case Failure(error):
            return str(error.message)
        case _:
            raise AssertionError


async def test_the_documented_form_is_read() -> None:
    """A number is a yes/no answer, an object a choice, and the edit follows from them."""
    said = judge(
        """{"e3#0": {
        "keep_whole": 0.15,
        "focus": {"choice": "chunk_1", "probabilities": {"chunk_1": 0.52, "none": 0.3}},
        MORE
    }}""".replace("MORE", ", ".join(f'"chunk_{n}": 0.02' for n in range(2, 41)))
    )
    distilled = await distill(RUN, judge=said)
    assert [decision.outcome for decision in distilled.settlement.decisions] == ["distilled"]
    assert distilled.settlement.record.model == "recorded"


async def test_a_request_that_is_not_in_the_file_is_an_error() -> None:
    """Nothing is made up: what was asked about stays, and the reason is an error."""
    distilled = await distill(RUN, judge=judge("{}"))
    assert [Unanswered(request_id="e3#0", reason="error", detail=NO_ANSWER)] == list(distilled.settlement.outcomes)
    assert [(item.outcome, item.reason) for item in distilled.settlement.decisions] == [("kept", "error")]


async def test_a_recorded_run_replays_exactly() -> None:
    """Answers, errors and time-outs, usage and raw scores: what was recorded gives the same settlement again."""
    first = await distill(RUN)
    again = await distill(RUN, judge=judge(record_answers(first.settlement.outcomes)))
    assert first.settlement.outcomes == again.settlement.outcomes
    assert first.settlement.drafts == again.settlement.drafts


EVERY_OUTCOME: tuple[Answered, ...] = (
    Answers(
        request_id="a#0",
        answers=(YesNoAnswer("keep_whole", 0.25), ChoiceAnswer("focus", "none", (("none", 0.5), ("whole", 0.125)))),
        judge="local",
        usage=JudgeUsage(1_000, 20, 0.0005),
        raw=(("chunk_1", -1.5),),
    ),
    Answers(request_id="a#1", answers=()),
    Unanswered(request_id="b \ud83d#0", reason="error", detail="http 500", replied=True),
    Unanswered(request_id="b#1", reason="timeout"),
    Unanswered(request_id="b#2", reason="timeout", started=False),
)


async def test_every_outcome_survives_the_file() -> None:
    """Each kind of outcome is read back as it was."""
    replay = judge(record_answers(EVERY_OUTCOME))
    assert {outcome.request_id: outcome for outcome in EVERY_OUTCOME} == replay._outcomes
    assert replay.name == "local"


def test_a_recording_settles_without_trio() -> None:
    """The answers are plain data: a host with its own I/O settles with them just the same."""
    planned = plan(RUN, DEFAULTS)
    kept = settle(planned, Asked(outcomes=(Unanswered(request_id="e3#0", reason="error"),)))
    assert [decision.reason for decision in kept.decisions] == ["error"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "no JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"e3#0": [1]}', "'e3#0'"),
        (b'{"e3#0": {"chunk_1": 1.5}}', "chunk_1"),
        (b'{"e3#0": {"chunk_1": NaN}}', "chunk_1"),
        (b'{"e3#0": {"chunk_1": true}}', "chunk_1"),
        (b'{"e3#0": {"focus": {"probabilities": {}}}}', "focus"),
        (b'{"e3#0": {"focus": {"choice": "none", "probabilities": {"none": 2}}}}', "focus"),
        (b'{"e3#0": {"error": "x", "reason": "tired"}}', "'e3#0'"),
        (b'{"e3#0": {"error": "x", "chunk_1": 0.5}}', "chunk_1"),
        (b'{"e3#0": {"$usage": {"tokens": 5}}}', "'e3#0'"),
        (b'{"e3#0": {"$jugde": "x"}}', "$jugde"),
    ],
)
def test_a_malformed_recording_names_the_place(data: bytes, says: str) -> None:
    """A slip in the file is told with request and question, on one line, before anything is judged."""
    said = problem(data)
    assert says in said
    assert "\n" not in said
