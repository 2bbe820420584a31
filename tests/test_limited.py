"""A limit of a remote judge that processes share."""

import trio
from judge_requests import segment_request
from msgspec.structs import replace

from context_guard.answers import Answers, Asked, Unanswered
from context_guard.config import Config
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.limited import LimitedJudge, limited
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.store import SqliteStore, StoreError, memory_store
from context_guard_effects.testing.fake_system_one import fake_system_one

TWO = Config(judge_requests_per_minute=2)


def ask(store: SqliteStore) -> tuple[Asked, int]:
    """Three requests to a server on loopback, and how many it got. On a real clock: the store is asked in a thread."""

    async def run() -> tuple[Asked, int]:
        async with fake_system_one() as server:
            judge = limited(SystemOneJudge(server.server, server.key), store, TWO)
            asked = await ask_all(tuple(replace(segment_request(), id=f"r{n}") for n in range(3)), judge, 5_000)
            return asked, len(server.requests)

    return trio.run(run)


def test_what_finds_no_place_is_not_sent() -> None:
    """Nor does it wait beyond the pass: the next minute is too far."""
    asked, sent = ask(memory_store())
    assert (2, 2) == (sent, sum(isinstance(it, Answers) for it in asked.outcomes))
    (left,) = (it for it in asked.outcomes if isinstance(it, Unanswered))
    assert not left.started
    assert "all 2 requests of this minute (judgeRequestsPerMinute) are taken" in left.detail


def test_a_limit_that_cannot_be_asked_lets_nothing_out() -> None:
    class Broken(SqliteStore):
        def take(self, name: str, window: int, limit: int) -> bool:
            raise StoreError("the disk is gone")

    asked, sent = ask(Broken(None, lambda: 0))
    assert 0 == sent
    assert {"the limit cannot be asked: the disk is gone"} == {
        it.detail for it in asked.outcomes if isinstance(it, Unanswered)
    }


def test_only_what_goes_out_is_limited() -> None:
    async def run() -> None:
        async with fake_system_one() as server:
            remote = SystemOneJudge(server.server, server.key)
            assert limited(remote, memory_store(), Config()) is remote
            both = limited(Chain(LocalJudge(), remote), memory_store(), TWO)
            assert isinstance(both, Chain)
            assert isinstance(both.first, LocalJudge)
            assert isinstance(both.second, LimitedJudge)
            local = LocalJudge()
            assert limited(local, memory_store(), TWO) is local

    trio.run(run)
