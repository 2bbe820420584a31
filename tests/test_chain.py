"""Two judges in a row: the second is asked only what the first is unsure of, and the record says who decided what."""

import msgspec
import pytest
from judge_requests import in_time, keep_set, open_sockets, run, segment_request
from returns.result import Failure, Result, Success

from context_guard.answers import Answers, Asked, ChoiceAnswer, JudgeUsage, Unanswered, YesNoAnswer
from context_guard.history import History
from context_guard.local_judge.outputs import UNCLEAR
from context_guard.requests import FOCUS, KEEP_WHOLE, NONE, Part, Request, State, YesNo
from context_guard.second_opinion import second_request
from context_guard.whole import read_verdicts
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.resolve import resolve_judge
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.testing import FAULTS, fake_system_one

REQUEST = segment_request(parts=4)
FIRST = Answers(
    "e1#0",
    (
        YesNoAnswer(KEEP_WHOLE, 0.2),
        ChoiceAnswer(FOCUS, "chunk_1", (("chunk_1", 0.7), (NONE, 0.1))),
        *(YesNoAnswer(f"chunk_{number}", p) for number, p in enumerate((0.9, 0.7, 0.3, 0.1), 1)),
    ),
    judge="first",
    raw=tuple((f"chunk_{number}", p) for number, p in enumerate((0.8, 0.3, 0.1, 0.02), 1)),
    usage=JudgeUsage(5),
)


class Scripted:
    def __init__(self, name: str, outcome: Answers | Unanswered) -> None:
        self.name = name
        self.outcome = outcome
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        self.asked.append(request)
        outcome = msgspec.structs.replace(self.outcome, request_id=request.id)
        return Success(outcome) if isinstance(outcome, Answers) else Failure(outcome)


def second(*answers: tuple[str, float]) -> Scripted:
    return Scripted(
        "second", Answers("", tuple(YesNoAnswer(n, p) for n, p in answers), judge="second", usage=JudgeUsage(7))
    )


async def ask(chain: Chain) -> Asked:
    return await ask_all((REQUEST,), chain, 1_000)


async def test_only_the_unsure_parts_are_asked_again() -> None:
    """0.05 < p < 0.6 of what the first judge really thought: two of four, without a word of the others."""
    other = second(("chunk_2", 0.1), ("chunk_3", 0.95))
    asked = await ask(Chain(Scripted("first", FIRST), other))
    (request,) = other.asked
    assert [part.id for part in request.state.parts] == ["chunk_2", "chunk_3"]
    assert [question.id for question in request.questions] == ["chunk_2", "chunk_3"]
    assert keep_set(REQUEST, asked).kept == (0, 2)
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Answers)
    assert outcome.usage == JudgeUsage(12)
    assert dict(outcome.by) == {
        "keep_whole": "first",
        "focus": "first",
        "chunk_1": "first",
        "chunk_2": "second",
        "chunk_3": "second",
        "chunk_4": "first",
    }


async def test_the_record_says_who_decided_what() -> None:
    asked = await ask(Chain(Scripted("first", FIRST), second(("chunk_2", 0.1), ("chunk_3", 0.95))))
    assert asked.judge == "first+second"
    assert keep_set(REQUEST, asked).trace == "kw.20 focus=chunk_1:.70 keep 2/4; chunk_2 chunk_3 by second"


async def test_a_missing_answer_of_the_second_keeps_the_part() -> None:
    asked = await ask(Chain(Scripted("first", FIRST), second(("chunk_2", 0.1))))
    assert keep_set(REQUEST, asked).kept == (0, 2)


async def test_who_is_sure_asks_nobody() -> None:
    """All parts clear, or all to be kept anyway: the second judge hears nothing."""
    sure = msgspec.structs.replace(FIRST, raw=tuple((name, 0.9) for name, _ in FIRST.raw))
    whole = msgspec.structs.replace(FIRST, answers=(YesNoAnswer(KEEP_WHOLE, 0.8), *FIRST.answers[1:]))
    for said in (sure, whole):
        other = second()
        asked = await ask(Chain(Scripted("first", said), other))
        assert (other.asked, asked.outcomes, asked.judge) == ([], (said,), "first")


async def test_without_ground_for_a_judgement_the_second_judges_all() -> None:
    unclear = msgspec.structs.replace(FIRST, raw=((UNCLEAR, 1.0), *FIRST.raw))
    other = second(("chunk_1", 0.9))
    asked = await ask(Chain(Scripted("first", unclear), other))
    assert other.asked == [REQUEST]
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Answers)
    assert (outcome.by, outcome.judge) == ((), "second")


FAILED = Unanswered("", "error", "http 500", replied=True)


async def test_the_second_fails_and_all_is_kept() -> None:
    """The default: what was to be asked is kept, and the reason is the second judge's."""
    asked = await ask(Chain(Scripted("first", FIRST), Scripted("second", FAILED)))
    kept = keep_set(REQUEST, asked)
    assert (kept.reason, kept.keeps_all) == ("error", True)


async def test_the_second_fails_and_the_first_counts() -> None:
    """The user's choice: the local answers then decide."""
    asked = await ask(Chain(Scripted("first", FIRST), Scripted("second", FAILED), "local"))
    assert asked.outcomes == (FIRST,)
    asked = await ask(Chain(Scripted("first", FIRST), Scripted("second", FAILED), "local", asks_all=True))
    assert (asked.outcomes, asked.judge) == ((FIRST,), "first")


async def test_what_the_second_left_unanswered_is_told_where_the_first_took_its_place() -> None:
    """Beside the outcomes, which no longer show it; where all is kept instead, they do."""
    missed = (msgspec.structs.replace(FAILED, request_id=REQUEST.id),)
    for asks_all in (False, True):
        asked = await ask(Chain(Scripted("first", FIRST), Scripted("second", FAILED), "local", asks_all))
        assert (asked.outcomes, asked.missed) == ((FIRST,), missed)
    asked = await ask(Chain(Scripted("first", FIRST), Scripted("second", FAILED)))
    assert (asked.outcomes, asked.missed) == (missed, ())


async def test_asked_for_one_request_it_answers_the_same() -> None:
    """A host that calls the chain itself gets what a pass gets."""
    chain = Chain(Scripted("first", FIRST), second(("chunk_2", 0.1), ("chunk_3", 0.95)))
    assert (await chain(REQUEST)).unwrap() == (await ask(chain)).outcomes[0]


async def test_small_outputs_say_who_judged_them() -> None:
    """Whole items go the same way, one by one."""
    state = State(
        situation="", history=History(), question="", parts=tuple(Part(id=f"item_{n}", text="x") for n in (1, 2))
    )
    request = Request(
        "s", "small", "run-end", ("a", "b"), state, tuple(YesNo(f"item_{n}", "?", "y", "n") for n in (1, 2))
    )
    first = Answers("s", (YesNoAnswer("item_1", 0.3), YesNoAnswer("item_2", 0.9)), judge="first")
    left = second_request(request, first)
    assert left is not None
    assert [part.id for part in left.state.parts] == ["item_1"]
    asked = await ask_all((request,), Chain(Scripted("first", first), second(("item_1", 0.1))), 1_000)
    verdicts = read_verdicts((request,), {"s": asked.outcomes[0]})
    assert (verdicts["a"].trace, verdicts["b"].trace) == ("p.10 by second", "p.90 by first")


@pytest.mark.parametrize(("otherwise", "reason"), [("keep", "timeout"), ("local", "")])
def test_a_second_judge_that_hangs_costs_the_budget_and_no_more(otherwise: str, reason: str) -> None:
    """`local+jev`: kept with `timeout`; `local+jev,local`: decided locally, at the deadline all the same."""

    async def test() -> Asked:
        async with fake_system_one() as server:
            server.always = FAULTS["never"]
            remote = SystemOneJudge(server.server, server.key)
            chain = Chain(Scripted("first", FIRST), remote, "local" if otherwise == "local" else "keep")
            return await ask_all((REQUEST,), chain, 400)

    before = open_sockets()
    asked = in_time(lambda: run(test), 400)
    assert asked.ms >= 390
    assert open_sockets() == before
    if reason:
        assert keep_set(REQUEST, asked).reason == reason
    else:
        assert asked.outcomes == (FIRST,)


def test_the_local_judge_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--judge local`: with every way to a socket barred, a pass is the same."""
    import socket

    def barred(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    judge = resolve_judge("local", {}).unwrap()
    assert isinstance(judge, LocalJudge)
    open_ones: list[int] = []

    async def test() -> Asked:
        monkeypatch.setattr(socket, "socket", barred)
        monkeypatch.setattr(socket, "create_connection", barred)
        monkeypatch.setattr(socket, "getaddrinfo", barred)
        before = open_sockets()
        asked = await ask_all((REQUEST,), judge, 1_000)
        open_ones.append(open_sockets() - before)
        return asked

    asked = run(test)
    monkeypatch.undo()
    assert isinstance(asked.outcomes[0], Answers)
    assert open_ones == [0]
