"""All requests of a pass, asked side by side within one time budget: what is late is missing, and missing is kept."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import msgspec
import trio

from context_guard.answers import Answered, Answers, Asked, Unanswered
from context_guard.config import Config
from context_guard.requests import Request
from context_guard_effects.judges.attempts import ask_until_answered
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.port import Judge

Progress = Callable[[int, int], None]
"""Called with the number of requests that are done, and of all."""


async def ask_all(
    requests: tuple[Request, ...],
    judge: Judge,
    budget_ms: int,
    limiter: trio.CapacityLimiter | None = None,
    on_progress: Progress | None = None,
) -> Asked:
    """One outcome for each request, in their order, after at most `budget_ms`.

    `limiter` bounds the requests in flight and may be shared with other passes; without one it is the default
    `concurrency`. Whatever the judge raises is an error of that request alone. A judge that is an async context manager
    is entered for the pass. Cancelling the caller passes through and leaves nothing running.
    """
    limiter = limiter or trio.CapacityLimiter(Config().concurrency)
    if isinstance(judge, Chain):
        return await _ask_both(requests, judge, budget_ms, limiter, on_progress)
    async with _opened(judge):
        return await _ask_each(requests, judge, budget_ms, limiter, on_progress)


def _opened(judge: Judge) -> AbstractAsyncContextManager[Any]:
    return judge if isinstance(judge, AbstractAsyncContextManager) else nullcontext()


async def _ask_both(
    requests: tuple[Request, ...],
    chain: Chain,
    budget_ms: int,
    limiter: trio.CapacityLimiter,
    on_progress: Progress | None,
) -> Asked:
    """The first judge on everything, the second on what is left, in what is left of the time."""
    began = trio.current_time()
    first = await ask_all(requests, chain.first, budget_ms, limiter)
    left = tuple(chain.left_to_ask(request, said) for request, said in zip(requests, first.outcomes, strict=True))
    second = await ask_all(
        tuple(request for request in left if request is not None),
        chain.second,
        max(0, budget_ms - round((trio.current_time() - began) * 1_000)),
        limiter,
        on_progress,
    )
    found = {outcome.request_id: outcome for outcome in second.outcomes}
    outcomes = tuple(
        chain.combined(request, said, asked, found.get(request.id))
        for request, said, asked in zip(requests, first.outcomes, left, strict=True)
    )
    answered = {outcome.request_id for outcome in outcomes if isinstance(outcome, Answers)}
    missed = (silent for silent in second.outcomes if isinstance(silent, Unanswered) and silent.request_id in answered)
    return msgspec.structs.replace(_asked(outcomes, chain, began), missed=tuple(missed))


async def _ask_each(
    requests: tuple[Request, ...],
    judge: Judge,
    budget_ms: int,
    limiter: trio.CapacityLimiter,
    on_progress: Progress | None,
) -> Asked:
    started: set[str] = set()
    outcomes: dict[str, Answered] = {}
    scope = trio.CancelScope()

    def is_late() -> bool:
        return scope.cancel_called

    async def ask(request: Request, place: object) -> None:
        try:
            await trio.lowlevel.checkpoint_if_cancelled()
            # The deadline may have passed since the place in the queue was granted.
            if is_late():
                return
            started.add(request.id)
            outcome = await ask_until_answered(request, judge, scope.deadline)
            if is_late():
                return
            outcomes[request.id] = outcome
        finally:
            limiter.release_on_behalf_of(place)
        if on_progress is not None:
            on_progress(len(outcomes), len(requests))

    began = trio.current_time()
    scope.deadline = began + budget_ms / 1_000
    with scope:
        async with trio.open_nursery() as nursery:
            # Queueing here rather than in the tasks, which Trio wakes in no particular order.
            for request in requests:
                place = object()
                await limiter.acquire_on_behalf_of(place)
                nursery.start_soon(ask, request, place)
    return _asked(tuple(outcomes.get(request.id) or _late(request, started) for request in requests), judge, began)


def _asked(outcomes: tuple[Answered, ...], judge: Judge, began: float) -> Asked:
    return Asked(
        outcomes=outcomes,
        judge=_who(outcomes) or judge.name,
        ms=round((trio.current_time() - began) * 1_000),
        timed_out=any(isinstance(outcome, Unanswered) and outcome.reason == "timeout" for outcome in outcomes),
    )


def _who(outcomes: tuple[Answered, ...]) -> str:
    """All who answered, each once."""
    judges = (outcome.judge for outcome in outcomes if isinstance(outcome, Answers))
    return "+".join(dict.fromkeys(name for judge in judges for name in judge.split("+") if name))


def _late(request: Request, started: set[str]) -> Unanswered:
    return Unanswered(request_id=request.id, reason="timeout", started=request.id in started)
