"""The System One wire: what is sent byte for byte, and each documented pair of request and reply as its client must."""

import json
from pathlib import Path
from typing import Any
from unicodedata import normalize

import msgspec
import pytest
import trio
from judge_requests import keep_set, run, segment_request

from context_guard.answers import Answers, Asked, ChoiceAnswer, JudgeUsage, Unanswered, YesNoAnswer, read_answers
from context_guard.history import Exchange, History
from context_guard.one_token import UNCALIBRATED, encode_label_request, label_questions, move_answers, read_label
from context_guard.refusals import read_refusal, wait_ms
from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, WHOLE, Choice, Part, Question, Request, State, YesNo
from context_guard.servers import Server
from context_guard.split import estimate_request_tokens, merge_halves, split_request
from context_guard.system_one import encode_request, state_of
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.logprobs import LogprobsJudge
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.testing import FakeSystemOne, Fault, fake_system_one

WIRE = Path(__file__).parent / "jev_wire"
ALL_ANSWERED = Answers("e1#0", ())


def pair(number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(WIRE.glob(f"{number:02}-*.json")).read_text())
    return found


def to_request(body: dict[str, Any], name: str = "e1") -> Request:
    """Our request that asks what the pair's body asks."""
    chunks = body["state"].get("chunks", {}) if isinstance(body["state"], dict) else {}
    return Request(
        id=f"{name}#0",
        kind="segment",
        phase="run-end",
        entry_ids=(name,),
        state=State(
            situation="s", history=History(), question="q", parts=tuple(Part(id=i, text=t) for i, t in chunks.items())
        ),
        questions=tuple(question for i, q in body["questions"].items() if (question := to_question(i, q)) is not None),
    )


def to_question(name: str, question: dict[str, Any]) -> Question | None:
    criteria = question.get("criteria", {})
    if question["type"] == "noul":
        return YesNo(name, question["instructions"], criteria.get("true", ""), criteria.get("false", ""))
    if question["type"] == "choice":
        return Choice(name, question["instructions"], tuple((option, said or "") for option, said in criteria.items()))
    return None


def reply_of(number: int) -> Fault:
    response = pair(number)["response"]
    return Fault(
        name=str(number),
        status=response["status"],
        headers=tuple(
            (name, value)
            for name, value in response["headers"].items()
            if name not in ("content-type", "retry-after", "x-typesafe-request-id")
        ),
        body=json.dumps(response["body"]).encode(),
    )


def ask_pair(number: int, budget_ms: int = 20_000, requests: int = 1) -> tuple[Asked, int]:
    """The pair's reply to everything that is asked, and how many requests arrived."""

    async def test() -> tuple[Asked, int]:
        async with fake_system_one() as server:
            server.always = reply_of(number)
            body = pair(number)["request"]["body"]
            asked = await ask_all(
                tuple(to_request(body, f"e{n}") for n in range(1, requests + 1)),
                SystemOneJudge(server.server, server.key),
                budget_ms,
                trio.CapacityLimiter(1),
            )
            return asked, len(server.requests)

    return run(test)


def answers_of(asked: Asked) -> Answers:
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Answers)
    return outcome


def unanswered_of(asked: Asked) -> Unanswered:
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Unanswered)
    return outcome


def test_pair_01_a_segment() -> None:
    """Answers by the ids that were sent, only noul and probabilities read, chunks 1 and 3 kept; who and which reply."""
    asked, _ = ask_pair(1)
    answers = answers_of(asked)
    assert {answer.id for answer in answers.answers} == {"keep_whole", "focus", "chunk_1", "chunk_2", "chunk_3"}
    focus = answers.choice(FOCUS)
    assert focus is not None
    assert focus.probability_of("chunk_1") == 0.84
    assert keep_set(to_request(pair(1)["request"]["body"]), asked).kept == (0, 2)
    assert (answers.judge, answers.reply_id) == ("fake/jev-1.13.0", "req_0001")
    assert asked.judge == "fake/jev-1.13.0"
    assert answers.usage == JudgeUsage(742, 88, 742 * 0.042 / 1_000_000)


def test_pair_02_an_alias_and_odd_ids() -> None:
    """Ids with spaces and dashes, another model than was asked for; a score, which the guard never asks, is let be."""
    body = pair(2)
    request = to_request(
        {
            "state": "",
            "questions": {
                "item-1 relevance": {"type": "noul", "instructions": "Is it?"},
                "x y-z": {"type": "noul", "instructions": "?"},
            },
        }
    )
    reply = body["response"]["body"]
    reply["answers"]["x y-z"] = {"type": "noul", "noul": 0.5}
    answers = read_answers(request, json.dumps(reply).encode()).unwrap()
    assert answers.answers == (YesNoAnswer("x y-z", 0.5),)
    assert (answers.judge, body["request"]["body"]["model"]) == ("jev-1.13.0", "jev-latest")


def test_pair_03_openrouter() -> None:
    """The reply's id from its body, the server's own cost, the dated model."""
    response = pair(3)["response"]
    request = to_request(pair(3)["request"]["body"])
    answers = read_answers(request, json.dumps(response["body"]).encode(), 0.042).unwrap()
    assert (answers.reply_id, answers.judge) == ("gen-1764500000-abc", "typesafe/jev-1.13-20260917")
    assert answers.usage == JudgeUsage(96, 17, 4.032e-06)
    del response["body"]["usage"]["cost"]
    priced = read_answers(request, json.dumps(response["body"]).encode(), 0.042).unwrap()
    assert priced.usage.cost_usd == pytest.approx(4.032e-06)


def test_pair_04_a_compatible_server() -> None:
    """Fields nobody knows are ignored, options match byte for byte, confidence is not looked at."""
    request = to_request(pair(4)["request"]["body"])
    answers = read_answers(request, json.dumps(pair(4)["response"]["body"]).encode()).unwrap()
    assert answers.answers == (
        YesNoAnswer("stale", 0.58),
        ChoiceAnswer("kind", "테스트 로그", (("기타", 0.09), ("테스트 로그", 0.91))),
    )
    assert answers.reply_id == ""
    nfd = normalize("NFD", json.dumps(pair(4)["response"]["body"], ensure_ascii=False))
    assert read_answers(request, nfd.encode()).unwrap().choice("kind") is None


def test_pair_05_validation() -> None:
    """Not sent again; place and message are told, the echo of what was sent is not."""
    asked, sent = ask_pair(5)
    outcome = unanswered_of(asked)
    assert (sent, outcome.reason) == (1, "error")
    assert outcome.detail == "http 422: body.questions.focus.choice.criteria: Field required"
    assert "Which?" not in outcome.detail


def test_pair_06_overflow() -> None:
    """Told from a bad request by its error_type alone; one chunk cannot be split and is kept."""
    asked, sent = ask_pair(6)
    assert (sent, unanswered_of(asked).reason) == (1, "oversize")
    assert keep_set(to_request(pair(6)["request"]["body"]), asked).reason == "oversize"


def test_an_overflow_is_split_once() -> None:
    """Whole, then both halves; a half that is too large as well is kept, the other is judged."""

    async def test(faults: list[str]) -> tuple[Asked, list[list[str]]]:
        async with fake_system_one(
            {"keep_whole": 0.1, "focus": "none", **{f"chunk_{n}": 0.1 for n in range(1, 5)}}
        ) as s:
            s.fail(*faults)
            asked = await ask_all((segment_request(parts=4),), SystemOneJudge(s.server, s.key), 20_000)
            return asked, [list(request.body["state"]["chunks"]) for request in s.requests]

    asked, sent = run(test, ["http 400 overflow"])
    assert sent == [["chunk_1", "chunk_2", "chunk_3", "chunk_4"], ["chunk_1", "chunk_2"], ["chunk_3", "chunk_4"]]
    assert keep_set(segment_request(parts=4), asked).kept == ()
    assert answers_of(asked).request_id == "e1#0"
    asked, sent = run(test, ["http 400 overflow", "http 413"])
    assert len(sent) == 3
    assert keep_set(segment_request(parts=4), asked).kept == (0, 1)
    asked, sent = run(test, ["http 400 overflow"] * 3)
    assert (len(sent), keep_set(segment_request(parts=4), asked).reason) == (3, "oversize")


def test_pair_07_a_wrong_key() -> None:
    """Fails once, then this judge sends nothing more; the key is in no word."""
    asked, sent = ask_pair(7, requests=4)
    assert sent == 1
    for outcome in asked.outcomes:
        assert isinstance(outcome, Unanswered)
        assert (outcome.reason, "test-key" in repr(outcome)) == ("error", False)
        assert "http 401 authentication_error: the key is not accepted" in outcome.detail


def test_pair_08_a_rate_limit() -> None:
    """Milliseconds before seconds before a date; a wait past the deadline is not begun."""
    now = 1_800_000_000.0
    assert wait_ms({"retry-after-ms": "1500", "retry-after": "2"}, now) == 1_500
    assert wait_ms({"retry-after": "2"}, now) == 2_000
    assert wait_ms({"retry-after": "0.3"}, now) == 300
    assert wait_ms({"retry-after": "Fri, 15 Jan 2027 08:00:05 GMT"}, now) == 5_000
    assert wait_ms({"retry-after": "-4"}, now) == 0
    assert wait_ms({"retry-after-ms": "nan", "retry-after": "soon"}, now) is None
    assert wait_ms({}, now) is None

    async def test() -> tuple[Asked, int]:
        async with fake_system_one() as server:
            server.always = msgspec.structs.replace(reply_of(8), headers=(("retry-after", "2"),))
            asked = await ask_all((segment_request(),), SystemOneJudge(server.server, server.key), 1_500)
            return asked, len(server.requests)

    asked, sent = run(test)
    assert (sent, unanswered_of(asked).reason) == (1, "error")
    assert asked.ms < 1_500


def test_pair_09_overload() -> None:
    """529 is tried again like 503, at most twice."""
    asked, sent = ask_pair(9)
    assert (sent, unanswered_of(asked).reason) == (3, "error")


def test_pair_10_openrouters_envelope() -> None:
    """`error.message` is read where there is no `detail`; which statuses are worth another try."""
    asked, sent = ask_pair(10)
    assert sent == 1
    assert unanswered_of(asked).detail == "http 402: no credit is left: Insufficient credits"
    again = [
        status
        for status in (400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 524, 529)
        if read_refusal(status, {}, b"", 0.0).again_ms is not None
    ]
    assert again == [408, 429, 500, 502, 503, 524, 529]


def test_pair_11_broken_answers() -> None:
    """Each broken answer is none; a chunk without one stays, and the usage is recorded, 742.0 as 742."""
    asked, _ = ask_pair(11)
    answers = answers_of(asked)
    assert answers.answers == (YesNoAnswer("keep_whole", 0.12), YesNoAnswer("chunk_2", 0.08))
    assert (answers.usage.input_tokens, answers.usage.output_tokens) == (742, 88)
    kept = keep_set(to_request(pair(11)["request"]["body"]), asked)
    assert (kept.keeps_all, kept.reason) == (True, "no-answer")


def test_pair_12_log_probabilities() -> None:
    """The mass of every spelling of a label, made to one; too little mass is no answer; not calibrated, and so told."""
    request = to_request(
        {"state": {}, "questions": {"chunk_1": {"type": "noul", "instructions": "Is it still needed?"}}}
    )
    reply = pair(12)["response"]["body"]
    label = read_label(request, request.questions[0], json.dumps(reply).encode())
    assert label is not None
    assert isinstance(label.answer, YesNoAnswer)
    assert label.answer.probability == pytest.approx(0.18, abs=0.005)
    assert label.mass == pytest.approx(0.99, abs=0.005)
    assert label.usage.input_tokens == 61
    top = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    for item in top[:3]:
        item["logprob"] -= 1.0
    label = read_label(request, request.questions[0], json.dumps(reply).encode())
    assert label is not None
    assert (label.answer, label.mass < 0.5) == (None, True)
    body, sent = (
        json.loads(encode_label_request(request, request.questions[0], "qwen3.5-9b")),
        pair(12)["request"]["body"],
    )
    assert {key: body[key] for key in sent if key != "messages"} == {k: v for k, v in sent.items() if k != "messages"}
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_a_chat_server_judges_with_thresholds_of_its_own() -> None:
    """One call a question, all with the same beginning; a part goes only when the model is nearly sure, and `raw` holds
    what it said."""

    async def test() -> tuple[Asked, FakeSystemOne]:
        async with fake_system_one() as server:
            where = Server(
                name="fake/m (log-probabilities)", wire="logprobs", url=f"{server.url}/v1/chat/completions", model="m"
            )
            asked = await ask_all((segment_request(),), LogprobsJudge(where, server.key), 20_000)
            return asked, server

    asked, server = run(test)
    answers = answers_of(asked)
    assert (answers.judge, len(answers.answers), len(server.requests)) == ("fake/m (log-probabilities)", 5, 5)
    raw = dict(answers.raw)
    for name in ("chunk_1", "chunk_2", "chunk_3"):
        moved = answers.yes_no(name)
        assert moved is not None
        assert (moved >= 0.6) == (raw[name] >= UNCALIBRATED.keep)
    prompts = [request.body["messages"][1]["content"] for request in server.requests]
    assert len({prompt.partition("\n\nQuestion:")[0] for prompt in prompts}) == 1
    assert server.most_in_flight == 1


def test_own_thresholds_come_to_lie_on_the_default_ones() -> None:
    answers = Answers(
        "r", (YesNoAnswer("chunk_1", 0.1), YesNoAnswer("chunk_2", 0.09), ChoiceAnswer(FOCUS, NONE, ((NONE, 0.9),)))
    )
    moved = move_answers(answers, "segment")
    assert moved.yes_no("chunk_1") == pytest.approx(0.6)
    assert (moved.yes_no("chunk_2") or 0) < 0.6
    focus = moved.choice(FOCUS)
    assert focus is not None
    assert focus.probability_of(NONE) == pytest.approx(0.5)
    assert dict(moved.raw) == {"chunk_1": 0.1, "chunk_2": 0.09, "focus.none": 0.9}


def test_a_choice_with_more_options_than_labels_still_gets_an_answer() -> None:
    """Forty chunks are one option, `some`: which of them it is, their own answers say."""
    request = segment_request(parts=40)
    assert len(label_questions(request)) == 42


FULL = State(
    situation="What this is.",
    history=History(summary="Before.", first_request="Do it.", exchanges=(Exchange("Hello", "Hi"), Exchange("And?"))),
    question="Why?",
    answer="Because.",
    notes="A note.",
    latest_note="The last note.",
    later_calls=(),
    superseded="Read again later.",
    tool="bash",
    status="The call failed.",
    args='{"command":"x"}',
    size="2 lines",
    parts=(Part(id="chunk_1", text="one"), Part(id="chunk_2", text="two")),
)


def asking(state: State, **changes: Any) -> Request:
    request = Request(id="r", kind="segment", phase="run-end", entry_ids=("e",), state=state, questions=())
    return msgspec.structs.replace(request, **changes)


def test_the_state_at_run_end() -> None:
    """Fields and their order; an exchange without a reply has only its user's side."""
    state = msgspec.structs.replace(FULL, later_calls=None, latest_note="", superseded="")
    assert list(state_of(asking(state)).items()) == [
        ("situation", "What this is."),
        (
            "earlier_conversation",
            {
                "summary": "Before.",
                "first_request": "Do it.",
                "recent_exchanges": [{"user": "Hello", "assistant": "Hi"}, {"user": "And?"}],
            },
        ),
        ("user_question", "Why?"),
        ("final_answer", "Because."),
        ("agent_notes_during_the_run", "A note."),
        ("tool", "bash"),
        ("tool_status", "The call failed."),
        ("tool_arguments", '{"command":"x"}'),
        ("output_size", "2 lines"),
        ("chunks", {"chunk_1": "one", "chunk_2": "two"}),
    ]


def test_the_state_at_a_checkpoint() -> None:
    """Progress in place of notes and answer; no later call is said in words."""
    state = msgspec.structs.replace(FULL, answer="", history=History())
    assert list(state_of(asking(state, phase="mid-run"))) == [
        "situation",
        "user_question",
        "agent_progress",
        "later_tool_calls",
        "superseded",
        "tool",
        "tool_status",
        "tool_arguments",
        "output_size",
        "chunks",
    ]
    told = state_of(asking(state, phase="mid-run"))
    assert told["agent_progress"] == {"latest_note": "The last note.", "earlier_notes": "A note."}
    assert told["later_tool_calls"] == "none yet"
    later = msgspec.structs.replace(state, later_calls=("bash `ls`",))
    assert state_of(asking(later, phase="mid-run"))["later_tool_calls"] == ["bash `ls`"]


def test_items_and_exchanges() -> None:
    small = State(
        situation="s",
        history=History(),
        question="q",
        parts=(
            Part(id="item_1", text="out", tool="bash `ls`", failed=True, superseded="old"),
            Part(id="item_2", text="x", tool="read a"),
        ),
    )
    assert state_of(asking(small, kind="small"))["items"] == {
        "item_1": {"tool": "bash `ls`", "status": "failed", "superseded": "old", "output": "out"},
        "item_2": {"tool": "read a", "output": "x"},
    }
    old = State(
        situation="s",
        history=History(),
        question="q",
        parts=(Part(id="exchange_1", text="prompt", reply="done", calls=("bash `ls`",), size="3 messages"),),
    )
    assert state_of(asking(old, kind="exchange"))["exchanges"] == {
        "exchange_1": {
            "user_prompt": "prompt",
            "final_answer": "done",
            "tool_calls": ["bash `ls`"],
            "size": "3 messages",
        }
    }


def test_the_questions_on_the_wire() -> None:
    """`noul` with both criteria, `choice` with its options in order; the same request gives the same bytes."""
    request = segment_request(parts=1)
    body = json.loads(encode_request(request, "jev-1.13.0"))
    assert list(body) == ["model", "state", "questions"]
    assert body["questions"]["keep_whole"] == {
        "type": "noul",
        "instructions": "Would leaving out any one chunk lose evidence?",
        "criteria": {"true": "All stays.", "false": "Some is noise."},
    }
    assert list(body["questions"]["focus"]["criteria"]) == [WHOLE, NONE, "chunk_1"]
    assert encode_request(request, "m") == encode_request(segment_request(parts=1), "m")


def test_a_lone_surrogate_is_no_trouble() -> None:
    """Real outputs hold halves of pairs: they go out as U+FFFD."""
    request = segment_request(parts=1, text="\ud83d {} \udc00 {}")
    assert "\ufffd 1 \ufffd 1" in encode_request(request, "m").decode()


@pytest.mark.parametrize(
    "reply",
    [b"", b"[]", b"null", b"\xff", b'{"answers": []}', b'{"answers": 3}', b"[" * 100_000, b"9" * 10_000, b'{"answers"'],
)
def test_what_is_no_reply_is_a_failure_and_no_crash(reply: bytes) -> None:
    failed = read_answers(segment_request(), reply).failure()
    assert (failed.reason, failed.replied) == ("error", True)


def test_probabilities_may_be_rounded() -> None:
    """42 options of two decimals each may be off by 0.21 together; three may not."""
    request = segment_request(parts=40)
    shares = dict.fromkeys(("whole", "none", *(f"chunk_{n}" for n in range(1, 41))), 0.02)
    reply = {"answers": {"focus": {"type": "choice", "choice": "none", "probabilities": shares}}}
    assert read_answers(request, json.dumps(reply).encode()).unwrap().choice(FOCUS) is not None
    three = segment_request(parts=1)
    reply["answers"]["focus"]["probabilities"] = {"whole": 0.5, "none": 0.3, "chunk_1": 0.1}
    assert read_answers(three, json.dumps(reply).encode()).unwrap().choice(FOCUS) is None


def test_a_choice_without_probabilities_is_a_choice() -> None:
    """Some models on a System One route give none. It removes nothing: `none` needs a probability."""
    request = segment_request()
    reply = {"answers": {"keep_whole": {"type": "noul", "noul": 0.1}, "focus": {"type": "choice", "choice": "none"}}}
    answers = read_answers(request, json.dumps(reply).encode()).unwrap()
    assert answers.choice(FOCUS) == ChoiceAnswer(FOCUS, NONE)
    assert keep_set(request, Asked(outcomes=(answers,))).kept != ()


def test_halves_are_merged_so_that_more_is_kept() -> None:
    """The higher keep_whole; `whole` before a chunk before `none`; the other half's chosen chunk stays as well."""
    request = segment_request(parts=4)

    def half(name: str, whole: float, focus: str, p: float, *chunks: tuple[str, float]) -> Answers:
        options = ((WHOLE, 0.0), (NONE, 0.0), *((chunk, 0.0) for chunk, _ in chunks))
        shares = tuple((option, p if option == focus else 0.1) for option, _ in options)
        own = tuple(YesNoAnswer(chunk, value) for chunk, value in chunks)
        return Answers(
            name,
            (YesNoAnswer(KEEP_WHOLE, whole), ChoiceAnswer(FOCUS, focus, shares), *own),
            "j",
            JudgeUsage(10, 1, 0.5),
        )

    first = half("e1#0/1", 0.2, "chunk_1", 0.8, ("chunk_1", 0.3), ("chunk_2", 0.1))
    second = half("e1#0/2", 0.6, "chunk_4", 0.7, ("chunk_3", 0.1), ("chunk_4", 0.3))
    merged = merge_halves(request, first, second)
    assert isinstance(merged, Answers)
    assert (merged.yes_no(KEEP_WHOLE), merged.usage) == (0.6, JudgeUsage(20, 2, 1.0))
    assert keep_set(request, Asked(outcomes=(merged,))).kept == (0, 3)
    none = half("e1#0/2", 0.1, NONE, 0.9, ("chunk_3", 0.1), ("chunk_4", 0.1))
    also_none = half("e1#0/1", 0.1, NONE, 0.8, ("chunk_1", 0.1), ("chunk_2", 0.1))
    merged = merge_halves(request, also_none, none)
    assert keep_set(request, Asked(outcomes=(merged,))).kept == ()
    merged = merge_halves(request, first, none)
    assert keep_set(request, Asked(outcomes=(merged,))).kept == (0,)
    failed = Unanswered("e1#0/2", "error", "http 500")
    merged = merge_halves(request, also_none, failed)
    assert keep_set(request, Asked(outcomes=(merged,))).kept == (2, 3)
    both = merge_halves(request, Unanswered("e1#0/1", "oversize"), failed)
    assert both == Unanswered("e1#0", "oversize")


def test_halves_hold_every_part_once() -> None:
    request = segment_request(parts=7)
    halves = split_request(request)
    assert halves is not None
    assert [part for half in halves for part in half.state.parts] == list(request.state.parts)
    for half in halves:
        ids = {part.id for part in half.state.parts}
        focus = next(question for question in half.questions if isinstance(question, Choice))
        assert {name for name, _ in focus.options} == {WHOLE, NONE} | ids
        assert {question.id for question in half.questions} == {KEEP_WHOLE, FOCUS} | ids
    assert split_request(segment_request(parts=1)) is None


def test_what_is_too_large_is_not_even_sent() -> None:
    """The guard before sending: halves that fit are sent, and one huge chunk is kept without a request."""

    async def test(text: str, parts: int) -> tuple[Asked, int]:
        async with fake_system_one() as server:
            small = msgspec.structs.replace(server.server, context_tokens=2_000)
            asked = await ask_all((segment_request(parts=parts, text=text),), SystemOneJudge(small, server.key), 20_000)
            return asked, len(server.requests)

    asked, sent = run(test, "word " * 150 + "{} {}", 4)
    assert estimate_request_tokens(segment_request(parts=4, text="word " * 150 + "{} {}")) < 2_000
    assert sent == 1
    asked, sent = run(test, "word " * 300 + "{} {}", 4)
    assert (sent, isinstance(asked.outcomes[0], Answers)) == (2, True)
    asked, sent = run(test, "word " * 3_000 + "{} {}", 1)
    assert (sent, unanswered_of(asked).reason, unanswered_of(asked).started) == (0, "oversize", False)
    assert keep_set(segment_request(parts=1), asked).reason == "oversize"
