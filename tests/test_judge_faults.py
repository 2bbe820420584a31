"""A judge's server fails in every way it can: all is kept, with the right reason, in time, and nothing is left over."""

import gc
import logging
import tracemalloc

import pytest
import trio
from judge_requests import in_time, keep_set, open_sockets, run, segment_request

from context_guard.answers import Answers, Asked, Unanswered
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.testing import FAULTS, fake_system_one

BUDGET_MS = 700
"""Room for one further try after 0.25 s, not for a second one."""

TIMEOUT = {"never", "late", "slow body"}
OVERSIZE = {"http 400 overflow", "http 413"}
HARMLESS = {
    "byte order mark",
    "extra answer",
    "no confidence",
    "no usage",
    "token counts as floats",
    "other model",
    "no probabilities",
}
NO_ANSWER = {
    "missing answer",
    "every answer missing",
    "wrong type",
    "above one",
    "below zero",
    "as text",
    "null",
    "true",
    "nan",
    "duplicate id",
    "duplicate key",
    "unknown option",
    "option missing",
    "option renamed",
    "sum of a half",
}
"""Spoil keep_whole or focus, without which a segment is not decided."""
TRIED_AGAIN = {
    "http 408",
    "http 429",
    "http 429 nonsense",
    "http 429 soon",
    "http 500",
    "http 502 html",
    "http 503",
    "http 524",
    "http 529",
}


def expected_reason(fault: str) -> str:
    if fault in TIMEOUT:
        return "timeout"
    if fault in OVERSIZE:
        return "oversize"
    return "no-answer" if fault in NO_ANSWER else "error"


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """The first request of a process imports httpx, which takes longer than the budgets in here."""
    import httpx

    assert httpx.__version__


async def ask_failing(fault: str, budget_ms: int = BUDGET_MS) -> tuple[Asked, int, int]:
    async with fake_system_one() as server:
        server.always = FAULTS[fault]
        asked = await ask_all((segment_request(),), SystemOneJudge(server.server, server.key), budget_ms)
        await trio.testing.wait_all_tasks_blocked(0.02)
        return asked, len(server.requests), server.open


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - HARMLESS))
def test_a_failing_server_keeps_everything_and_says_why(fault: str) -> None:
    """Kept whole, with the reason of that fault, within the budget; no task, connection or socket stays."""
    before = open_sockets()
    budget_ms = BUDGET_MS if fault in TIMEOUT | TRIED_AGAIN else 5_000
    asked, requests, open_connections = run(ask_failing, fault, budget_ms)
    kept = keep_set(segment_request(), asked)
    assert (kept.reason, kept.keeps_all, len(kept.kept)) == (expected_reason(fault), True, 3)
    in_time(lambda: asked if asked.ms <= budget_ms + 100 else run(ask_failing, fault, budget_ms)[0], budget_ms)
    assert (open_connections, open_sockets()) == (0, before)
    if fault in TRIED_AGAIN:
        assert requests == 2, "one more try fits into the budget"
    elif fault in OVERSIZE:
        assert requests == 3, "whole, then in halves"
    else:
        assert requests == 1


@pytest.mark.parametrize("fault", sorted(HARMLESS))
def test_a_server_with_quirks_is_understood(fault: str) -> None:
    """What is more than asked for, or less than usual, costs no answer."""
    asked, _, _ = run(ask_failing, fault, 5_000)
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Answers)
    assert len(outcome.answers) == 5


@pytest.mark.parametrize("fault", sorted(NO_ANSWER - {"every answer missing"}))
def test_a_bad_answer_costs_only_itself(fault: str) -> None:
    asked, _, _ = run(ask_failing, fault, 5_000)
    outcome = asked.outcomes[0]
    assert isinstance(outcome, Answers)
    assert len(outcome.answers) == 4
    assert outcome.usage.input_tokens > 0, "the call was billed all the same"


def test_two_further_tries_and_no_more() -> None:
    """A server that is overloaded for ever is asked three times."""
    asked, requests, _ = run(ask_failing, "http 529", 20_000)
    assert requests == 3
    assert asked.ms < 10_000
    assert not asked.timed_out


def test_a_try_that_succeeds_is_an_answer() -> None:
    """429, then 500, then the answer."""

    async def test() -> None:
        async with fake_system_one(faults=["http 429 soon", "http 500"]) as server:
            asked = await ask_all((segment_request(),), SystemOneJudge(server.server, server.key), 20_000)
            assert isinstance(asked.outcomes[0], Answers)
            assert len(server.requests) == 3
            assert len({request.raw for request in server.requests}) == 1

    run(test)


def test_milliseconds_count_before_seconds() -> None:
    """`retry-after-ms: 20` beside `retry-after: 3600` is waited for; an hour alone is not."""
    soon, requests, _ = run(ask_failing, "http 429 soon", 20_000)
    assert (requests, soon.timed_out) == (3, False)
    hour, requests, _ = run(ask_failing, "http 429 one hour", 20_000)
    assert (requests, hour.ms < 10_000) == (1, True)
    outcome = hour.outcomes[0]
    assert isinstance(outcome, Unanswered)
    assert "no time is left" in outcome.detail


def test_a_request_that_was_read_is_never_sent_again() -> None:
    """A lost connection or a reply that never comes may be billed."""
    for fault in ("drop before", "drop inside", "never"):
        _, requests, _ = run(ask_failing, fault, 700)
        assert requests == 1


def test_a_wrong_key_is_tried_once() -> None:
    """Six requests of a pass, one at a time: the first is refused, the others are not sent. The key is in no word."""

    async def test() -> None:
        async with fake_system_one() as server:
            judge = SystemOneJudge(server.server, "wrong-key-c2VjcmV0")
            requests = tuple(segment_request(f"e{number}") for number in range(6))
            asked = await ask_all(requests, judge, 10_000, trio.CapacityLimiter(1))
            assert len(server.requests) == 1
            for outcome in asked.outcomes:
                assert isinstance(outcome, Unanswered)
                assert (outcome.reason, outcome.detail[:8]) == ("error", "http 401")
            assert [isinstance(o, Unanswered) and o.started for o in asked.outcomes] == [True] + [False] * 5
            assert keep_set(requests[1], Asked(outcomes=asked.outcomes[1:])).reason == "error"

    run(test)


def test_no_key_sends_nothing() -> None:
    async def test() -> None:
        async with fake_system_one() as server:
            from msgspec.structs import replace

            judge = SystemOneJudge(replace(server.server, needs_key=True), "")
            asked = await ask_all((segment_request(),), judge, 1_000)
            assert (server.requests, asked.outcomes[0]) == (
                [],
                Unanswered("e1#0", "error", "FAKE_API_KEY is not set (--judge local needs no key)", started=False),
            )

    run(test)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://no-such-host.invalid/v1/systemone", "no route to no-such-host.invalid: the name is not known"),
        ("http://127.0.0.1:9/v1/systemone", "no route to 127.0.0.1:9"),
    ],
)
def test_no_route_is_told(url: str, says: str) -> None:
    """DNS failure and a refused connection end in an error that names the host, within the budget."""

    async def test() -> None:
        from msgspec.structs import replace

        async with fake_system_one() as server:
            judge = SystemOneJudge(replace(server.server, url=url), server.key)
            asked = await ask_all((segment_request(),), judge, 1_500)
            outcome = asked.outcomes[0]
            assert isinstance(outcome, Unanswered)
            assert (outcome.reason, asked.ms < 1_600) == ("error", True) or outcome.reason == "timeout"
            if outcome.reason == "error":
                assert outcome.detail.startswith(says)

    run(test)


def test_no_tls_is_told() -> None:
    """https to a server that speaks none: one line, not tried again."""

    async def test() -> None:
        from msgspec.structs import replace

        async with fake_system_one() as server:
            url = server.server.url.replace("http:", "https:")
            asked = await ask_all((segment_request(),), SystemOneJudge(replace(server.server, url=url), "k"), 3_000)
            outcome = asked.outcomes[0]
            assert isinstance(outcome, Unanswered)
            assert outcome.detail.startswith("no TLS with 127.0.0.1")

    run(test)


def test_no_word_holds_the_key(caplog: pytest.LogCaptureFixture) -> None:
    """Neither outcomes nor logs nor a judge's own words, even when the server repeats the key or it fits no header."""
    from context_guard_effects.testing import Fault

    caplog.set_level(logging.DEBUG)

    async def test(key: str) -> str:
        async with fake_system_one(key="") as server:
            judge = SystemOneJudge(server.server, key)
            server.always = Fault("echo", 400, body=f'{{"detail": {{"message": "bad key {key}"}}}}'.encode())
            asked = await ask_all((segment_request(),), judge, 500)
            return f"{asked!r} {judge!r} {judge.__dict__['_connection']!r}"

    for key in ("plain-and-short-1", "sk-abcdefghijklmnopqrstuvwxyz123456", "line\nbreak-in-key-77", "schlüssel-77"):
        said = run(test, key)
        assert key not in said
        assert key not in caplog.text
        assert "break-in-key" not in said


def test_two_hundred_requests_under_two_seconds() -> None:
    """200 segments at once, a server that takes 0.1 s each, six at a time: the deadline holds within 100 ms, no more
    than six are ever in flight, what was not asked counts as timed out."""

    async def test() -> tuple[Asked, int, int]:
        requests = tuple(
            segment_request(f"e{n}", 20, "src/module_{}.py:{}: " + "value = compute(other) " * 60) for n in range(200)
        )
        async with fake_system_one() as server:
            server.delay = 0.1
            judge = SystemOneJudge(server.server, server.key)
            asked = await ask_all(requests, judge, 2_000, trio.CapacityLimiter(6))
            return asked, server.most_in_flight, len(server.requests)

    before = open_sockets()
    passes: list[tuple[Asked, int, int]] = []

    def one_pass() -> Asked:
        passes.append(run(test))
        return passes[-1][0]

    asked = in_time(one_pass, 2_000)
    _, most, sent = passes[-1]
    answered = sum(isinstance(outcome, Answers) for outcome in asked.outcomes)
    assert most <= 6
    assert answered <= sent <= answered + 6
    assert asked.timed_out == (answered < 200)
    assert all(o.reason == "timeout" for o in asked.outcomes if isinstance(o, Unanswered))
    assert open_sockets() == before


def test_memory_stays_flat_under_a_flood() -> None:
    """Huge replies are not gathered: 40 of 20 MB each leave a few MB at most at any time."""

    async def test() -> None:
        async with fake_system_one() as server:
            server.always = FAULTS["huge body"]
            judge = SystemOneJudge(server.server, server.key)
            requests = tuple(segment_request(f"e{n}") for n in range(40))
            asked = await ask_all(requests, judge, 5_000, trio.CapacityLimiter(6))
            assert all(isinstance(outcome, Unanswered) for outcome in asked.outcomes)

    run(test)
    gc.collect()
    tracemalloc.start()
    try:
        run(test)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


class _CancelAt(trio.abc.Instrument):
    """Cancels a scope when the task under test has been scheduled so many times."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.scope = trio.CancelScope()
        self.task: trio.lowlevel.Task | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self.task is None or not _is_inside(task, self.task):
            return
        self.left -= 1
        if self.left == 0:
            self.scope.cancel()


def _is_inside(task: trio.lowlevel.Task, root: trio.lowlevel.Task) -> bool:
    while task is not root:
        if task.parent_nursery is None:
            return False
        task = task.parent_nursery.parent_task
    return True


def test_cancelling_at_every_checkpoint_leaves_nothing_behind() -> None:
    """The host gives up after 1, 2, 3, … steps of the pass: nothing runs on, no place and no connection stays taken."""

    async def one(steps: int) -> bool:
        async with fake_system_one(faults=["http 429 soon"]) as server:
            judge, limiter = SystemOneJudge(server.server, server.key), trio.CapacityLimiter(2)
            instrument = _CancelAt(steps)
            requests = tuple(segment_request(f"e{number}") for number in range(3))

            async def ask() -> None:
                with instrument.scope:
                    instrument.task = trio.lowlevel.current_task()
                    await ask_all(requests, judge, 2_000, limiter)

            trio.lowlevel.add_instrument(instrument)
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(ask)
            finally:
                trio.lowlevel.remove_instrument(instrument)
            assert limiter.borrowed_tokens == 0
            assert judge.__dict__["_connection"].__dict__["_client"] is None
            for _ in range(100):
                if server.open == 0:
                    break
                await trio.sleep(0.005)
            assert server.open == 0
            return instrument.scope.cancelled_caught

    before = open_sockets()
    steps = 0
    cancelled = True
    while cancelled and steps < 400:
        steps += 1
        cancelled = run(one, steps)
    assert 20 < steps < 400, "the pass came to its end once it was no longer cancelled"
    assert open_sockets() == before
