"""A remote judge with a limit that processes share: a request that finds no place in time is not asked, hence kept."""

import time
from types import TracebackType
from typing import Self

import trio
from returns.result import Failure, Result

from context_guard.answers import Answers, Unanswered
from context_guard.config import Config
from context_guard.requests import Request
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.remote import RemoteJudge
from context_guard_effects.store import Quota, Store, StoreError

WINDOW_MS = 60_000


def limited(judge: Judge, store: Store, config: Config) -> Judge:
    """The judge, its remote part limited where the settings say so. Raises ValueError for a store that shares none."""
    if config.judge_requests_per_minute == 0:
        return judge
    match judge:
        case RemoteJudge():
            return LimitedJudge(judge, _quota(store), config.judge_requests_per_minute)
        case Chain():
            return Chain(judge.first, limited(judge.second, store, config), judge.otherwise, judge.asks_all)
        case _:
            return judge


def _quota(store: Store) -> Quota:
    if not isinstance(store, Quota):
        raise ValueError("judgeRequestsPerMinute needs a store that processes share: this one has no `take`.")
    return store


class LimitedJudge:
    def __init__(self, judge: RemoteJudge, quota: Quota, per_minute: int) -> None:
        self.name = judge.name
        self._judge = judge
        self._quota = quota
        self._per_minute = per_minute

    async def __aenter__(self) -> Self:
        await self._judge.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._judge.__aexit__(kind, error, at)

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        now = time.time_ns() // 1_000_000
        try:
            has_place = await trio.to_thread.run_sync(
                self._quota.take, f"judge {self.name}", now // WINDOW_MS, self._per_minute
            )
        except StoreError as error:
            return Failure(
                Unanswered(request.id, "error", f"the limit cannot be asked: {error.message}", started=False)
            )
        if has_place:
            return await self._judge(request)
        said = f"all {self._per_minute:,} requests of this minute (judgeRequestsPerMinute) are taken"
        left = WINDOW_MS - now % WINDOW_MS
        return Failure(Unanswered(request.id, "error", said, started=False, again_ms=left))
