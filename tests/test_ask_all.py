import pytest
import trio
import trio.testing
from returns.result import Failure, Result, Success

from context_guard.answers import Answers, Unanswered
from context_guard.history import History
from context_guard.requests import Request, State
from context_guard_effects.judges.ask_all import ask_all


def requests(count: int) -> tuple[Request, ...]:
    state = State(situation="", history=History(), question="")
    return tuple(
        Request(id=f"r{number}", kind="segment", phase="run-end", entry_ids=("e",), state=state, questions=())
        for number in range(1, count + 1)
    )


class Script:
    """A judge that takes as many seconds for each request as the test says; an exception instead is raised."""

    name = "script"

    def __init__(self, *steps: float | BaseException | Result[Answers, Unanswered]) -> None:
        self.steps = steps
        self.started: list[str] = []
        self.running = self.most = self.ended = 0

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        step = self.steps[int(request.id[1:]) - 1]
        self.started.append(request.id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if isinstance(step, BaseException):
                raise step
            if not isinstance(step, int | float):
                return step
            await trio.sleep(step)
        finally:
            self.running -= 1
            self.ended += 1
        return Success(Answers(request_id=request.id, answers=()))


def mock_clock() -> trio.testing.MockClock:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    return clock


def reasons(asked_outcomes: tuple[Answers | Unanswered, ...]) -> list[str]:
    return [outcome.reason if isinstance(outcome, Unanswered) else "answered" for outcome in asked_outcomes]


async def test_every_request_is_answered_in_the_order_of_the_requests() -> None:
    """Outcomes stand in the order of the requests, whichever answer came first."""
    asked = await ask_all(requests(3), Script(0.3, 0.1, 0.2), budget_ms=1_000)
    assert [outcome.request_id for outcome in asked.outcomes] == ["r1", "r2", "r3"]
    assert (asked.ms, asked.timed_out, asked.judge) == (300, False, "script")


async def test_no_requests_take_no_time() -> None:
    """A pass with nothing to ask is over at once."""
    asked = await ask_all((), Script(), budget_ms=1_000)
    assert (asked.outcomes, asked.ms, asked.timed_out) == ((), 0, False)


async def test_the_deadline_holds_and_late_is_missing() -> None:
    """A judge that never answers costs the budget and no more; who answered in time has answered."""
    asked = await ask_all(requests(2), Script(0.1, 10_000), budget_ms=500)
    assert reasons(asked.outcomes) == ["answered", "timeout"]
    assert asked.outcomes[1] == Unanswered(request_id="r2", reason="timeout", started=True)
    assert (asked.ms, asked.timed_out) == (500, True)


async def test_requests_that_wait_at_the_deadline_never_start() -> None:
    """Four requests, two at a time, none answers: two are started, the others are marked as never sent."""
    judge = Script(9, 9, 9, 9)
    asked = await ask_all(requests(4), judge, 500, trio.CapacityLimiter(2))
    assert sorted(judge.started) == ["r1", "r2"]
    assert [isinstance(o, Unanswered) and o.started for o in asked.outcomes] == [True, True, False, False]
    assert reasons(asked.outcomes) == ["timeout"] * 4


async def test_a_place_that_becomes_free_at_the_deadline_is_not_taken() -> None:
    """A judge that blocks past the deadline without letting go starts nothing more, and its own answer is late."""

    clock = mock_clock()

    class Blocking(Script):
        async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
            self.started.append(request.id)
            clock.jump(2)
            return Success(Answers(request_id=request.id, answers=()))

    judge = Blocking()
    asked = await ask_all(requests(3), judge, 1_000, trio.CapacityLimiter(1))
    assert len(judge.started) == 1
    assert reasons(asked.outcomes) == ["timeout"] * 3


async def test_the_limiter_is_shared_by_passes_and_bounds_them_together() -> None:
    """Two passes at once never have more requests in flight than their one limiter allows."""
    judge, limiter = Script(*[0.1] * 6), trio.CapacityLimiter(2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask_all, requests(6), judge, 10_000, limiter)
        nursery.start_soon(ask_all, requests(6), judge, 10_000, limiter)
    assert (judge.most, judge.ended) == (2, 12)
    assert limiter.borrowed_tokens == 0


async def test_an_exception_is_an_error_of_that_request_alone() -> None:
    """What one request raises leaves the others be, and its words are kept for the trace."""
    asked = await ask_all(requests(2), Script(ValueError("no such model"), 0.1), 1_000)
    assert reasons(asked.outcomes) == ["error", "answered"]
    assert asked.outcomes[0] == Unanswered(request_id="r1", reason="error", detail="ValueError: no such model")
    assert not asked.timed_out


async def test_errors_mixed_with_the_deadlines_own_cancellation_stay_inside() -> None:
    """A judge with a nursery of its own, which fails while it is cancelled, is late and not a crash."""

    class Nested(Script):
        async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.fail_when_cancelled)
                await trio.sleep_forever()
            raise AssertionError

        async def fail_when_cancelled(self) -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("while leaving")

    asked = await ask_all(requests(2), Nested(), 500)
    assert reasons(asked.outcomes) == ["timeout", "timeout"]


async def test_a_failure_of_the_judge_is_passed_on_as_it_is() -> None:
    """A judge may itself say that and why it has no answer."""
    said = Unanswered(request_id="r1", reason="error", detail="http 500", replied=True)
    asked = await ask_all(requests(1), Script(Failure(said)), 1_000)
    assert (said,) == asked.outcomes


async def test_an_answer_to_another_request_is_an_error() -> None:
    """A mix-up of the judge's is not taken for a timeout, nor for an answer."""
    asked = await ask_all(requests(1), Script(Success(Answers(request_id="r9", answers=()))), 1_000)
    assert reasons(asked.outcomes) == ["error"]


async def test_cancelling_the_caller_leaves_nothing_behind() -> None:
    """A host that gives up gets no outcome, and nothing goes on running or waiting."""
    judge, limiter = Script(9, 9, 9), trio.CapacityLimiter(2)
    with trio.move_on_after(1) as scope:
        await ask_all(requests(3), judge, 60_000, limiter)
    assert scope.cancelled_caught
    assert (judge.running, judge.ended, limiter.borrowed_tokens) == (0, 2, 0)
    assert len(judge.started) == 2


async def test_progress_is_told_after_each_answer() -> None:
    """Done and all, counted up."""
    told: list[tuple[int, int]] = []
    await ask_all(requests(3), Script(0.1, 0.2, 0.3), 1_000, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


async def test_system_exits_are_not_swallowed() -> None:
    """Only an `Exception` is an error of the judge; what ends a program ends it."""
    with pytest.raises(BaseExceptionGroup) as raised:
        await ask_all(requests(1), Script(SystemExit(3)), 1_000)
    assert raised.group_contains(SystemExit)
