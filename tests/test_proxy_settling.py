"""Judging behind the requests: when, of what, and what becomes of edits that wait."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import trio
import trio.testing
from msgspec import structs
from proxy_world import Turn, body_of, result_of
from rich.console import Console

from context_guard.config import Config
from context_guard.formats.replies.reply import as_json
from context_guard_effects.cli.watched import Decision, Judged, Watched, view
from context_guard_effects.proxy.jobs import Done, Job, run_job
from context_guard_effects.proxy.settling import QUEUED, QUEUED_BYTES, Settler
from context_guard_effects.proxy.worker import Setup, Worker
from context_guard_effects.store import memory_store
from context_guard_effects.testing import KeepJudge, made_output

NOW = 1_700_000_000_000
MINUTES = 60_000


def job(**changes: Any) -> Job:
    call = Turn(call_id="call_1").message("anthropic")
    found = result_of("anthropic", "call_1", made_output("one"))
    long = Turn("I think. " * 20_000).message("anthropic")[0]["content"]
    other = Turn(call_id="call_2").message("anthropic")[0]["content"]
    messages = [{"role": "user", "content": "Where?"}, *call, *found, {"role": "assistant", "content": long + other}]
    messages += result_of("anthropic", "call_2", "nothing")
    body = json.dumps(body_of("anthropic", messages)).encode()
    reply = json.dumps(Turn("There: NEEDLE.").message("anthropic"))
    made = Job("anthropic", body, reply, "run-end", "", NOW)
    return structs.replace(made, **changes)


async def test_an_edit_waits_while_the_cache_is_warm_and_is_made_when_it_is_cold() -> None:
    """The same cost rules as in any host: what does not pay now costs nothing once the provider has forgotten."""
    store, judge = memory_store(), KeepJudge("NEEDLE")
    first = await run_job(job(now=NOW), store, judge, Config())
    assert (0, True, 5 * MINUTES) == (first.edits, first.waits, (first.expires - NOW) // MINUTES * MINUTES)
    told = next(it.weighed for it in first.decisions if it.reason == "deferred")
    assert all(word in told for word in ("saved over", "more for the next", "for re-runs"))
    decisions = msgspec.convert(msgspec.to_builtins(first.decisions), tuple[Decision, ...])
    shown = Watched(1, 0, 0, (), (Judged(NOW, "run-end", 0, 0, decisions),), ())
    screen = StringIO()
    Console(file=screen, width=200).print(view(shown, NOW / 1_000))
    assert f"deferred: {told}" in screen.getvalue()
    later = await run_job(job(now=first.expires), store, judge, Config())
    assert (1, False) == (later.edits, later.waits)


class Clocked:
    """A judge's process that says each job waits, and a clock that Trio's drives."""

    def __init__(self) -> None:
        self.ran: list[Job] = []
        self.dropped: list[None] = []
        self.settler = Settler(self.run, self.now, lambda *_: None, lambda: self.dropped.append(None))

    def now(self) -> int:
        return NOW + round(trio.current_time() * 1_000)

    async def run(self, job: Job) -> Done:
        self.ran.append(job)
        return Done(answer="answer", waits=job.now is None, expires=self.now() + 5 * MINUTES)


async def test_what_waits_is_judged_again_when_the_cache_has_expired() -> None:
    clocked = Clocked()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clocked.settler.run)
        began = clocked.now()
        clocked.settler.add(job())
        await trio.sleep(299)
        assert 1 == len(clocked.ran)
        await trio.sleep(2)
        _, again = clocked.ran
        assert again.now is not None
        assert 5 * MINUTES <= again.now - began <= 5 * MINUTES + 2_000
        await trio.sleep(3_600)
        assert 2 == len(clocked.ran)
        nursery.cancel_scope.cancel()


class Elsewhere(Clocked):
    """The first time another proxy has the run."""

    async def run(self, job: Job) -> Done:
        self.ran.append(job)
        return Done(answer="answer", is_elsewhere=len(self.ran) == 1)


async def test_a_run_that_another_proxy_judges_is_looked_at_again() -> None:
    """That one may have been lost: only what was judged counts as judged."""
    clocked = Elsewhere()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clocked.settler.run)
        clocked.settler.add(job())
        await trio.sleep(4)
        assert (1, False) == (len(clocked.ran), clocked.settler.knows("answer"))
        await trio.sleep(2)
        assert (2, True) == (len(clocked.ran), clocked.settler.knows("answer"))
        assert None is clocked.ran[1].now
        await trio.sleep(3_600)
        assert 2 == len(clocked.ran)
        nursery.cancel_scope.cancel()


async def test_a_run_is_not_judged_again_after_a_restart() -> None:
    """The log says that it was; what the judge left unanswered, or waits for a cold cache, is judged again."""
    store, judge = memory_store(), KeepJudge("NEEDLE")
    config = Config(run_end_break_even=False)
    first = await run_job(job(), store, judge, config)
    asked = len(judge.requests)
    again = await run_job(job(), store, judge, config)
    assert (1, 0, first.answer, asked) == (first.edits, again.edits, again.answer, len(judge.requests))


async def test_a_request_that_goes_on_ends_the_wait() -> None:
    """It warms the cache again; the reply to it asks anew."""
    clocked = Clocked()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clocked.settler.run)
        clocked.settler.add(job())
        await trio.sleep(100)
        clocked.settler.came("answer")
        await trio.sleep(3_600)
        assert 1 == len(clocked.ran)
        nursery.cancel_scope.cancel()


async def test_a_checkpoint_that_waits_gives_way_to_what_comes_after_it() -> None:
    """Of its own conversation: the later one sees all that it would have seen. The end of a run never does."""
    clocked = Clocked()
    for phase, head, session in (
        ("mid-run", "a1", "1"),
        ("mid-run", "b1", "of another with the same first prompt"),
        ("mid-run", "a2", "3"),
        ("run-end", "a3", "4"),
        ("mid-run", "a4", "5"),
        ("run-end", "a5", "6"),
    ):
        path = frozenset(f"{head[0]}{number}" for number in range(int(head[1]) + 1))
        clocked.settler.add(job(phase=phase, head=head, path=path, session=session))
    assert 3 == clocked.settler.unfinished
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clocked.settler.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert ["of another with the same first prompt", "4", "6"] == [it.session for it in clocked.ran]
    assert 0 == clocked.settler.unfinished


class Known(Clocked):
    """Each job is the run that its head ended."""

    async def run(self, job: Job) -> Done:
        self.ran.append(job)
        return Done(answer=job.head)


async def test_of_a_burst_the_newest_are_judged_and_the_others_when_they_go_on() -> None:
    """Each that lost its room is counted and not known as judged, so the next prompt of its conversation, which asks
    for the run before it unless that is known (`notes.py`), has it judged."""
    clocked = Known()
    for number in range(QUEUED + 3):
        clocked.settler.add(job(head=f"run {number}"))
    assert (QUEUED, 3) == (clocked.settler.unfinished, len(clocked.dropped))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clocked.settler.run)
        await trio.testing.wait_all_tasks_blocked()
        assert [f"run {number}" for number in range(3, QUEUED + 3)] == [it.head for it in clocked.ran]
        unknown = [number for number in range(QUEUED + 3) if not clocked.settler.knows(f"run {number}")]
        assert [0, 1, 2] == unknown
        for number in unknown:
            clocked.settler.add(job(head=f"run {number}", reply=""))
        await trio.testing.wait_all_tasks_blocked()
        assert all(clocked.settler.knows(f"run {number}") for number in range(QUEUED + 3))
        nursery.cancel_scope.cancel()
    assert (0, 3) == (clocked.settler.unfinished, len(clocked.dropped))


async def test_a_job_larger_than_the_queue_leaves_the_others_in_it() -> None:
    clocked = Clocked()
    clocked.settler.add(job())
    clocked.settler.add(job(body=b" " * (QUEUED_BYTES + 1)))
    assert (1, 1) == (clocked.settler.unfinished, len(clocked.dropped))


async def test_a_job_that_breaks_everything_is_a_problem_and_no_more() -> None:
    done = await run_job(job(body=b"{"), memory_store(), KeepJudge("NEEDLE"), Config())
    assert done.problem.startswith("a pass changed nothing")


def test_half_of_a_surrogate_pair_does_not_end_the_proxy(tmp_path: Path) -> None:
    """Models send it, cut off: in a reply it is judged like all else; anywhere else the pass is a problem. On a real
    clock: the worker is a process of its own."""
    reply = as_json([{"role": "assistant", "content": [{"type": "text", "text": "There: NEEDLE. \ud83d"}]}])

    async def problems() -> list[str]:
        worker = Worker(Setup(str(tmp_path / "store.db"), "local", Config()))
        try:
            jobs = (job(reply=reply), job(session="\ud83d"), job(reply=reply))
            return [(await worker.run(each)).problem for each in jobs]
        finally:
            await worker.stop()

    first, told, last = trio.run(problems)
    assert ("", "") == (first, last)
    assert "surrogate" in told
