"""All requests of a pass, asked side by side within one time budget: what is late is missing, and missing is kept."""

from collections.abc import Callable

import trio
from returns.result import Failure, Success

from context_guard.answers import Answered, Answers, Asked, Unanswered
from context_guard.config import Config
from context_guard.requests import Request
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
    `concurrency`. Whatever the judge raises is an error of that request alone. Cancelling the caller passes through
    and leaves nothing running.
    """
    started: set[str] = set()
    outcomes: dict[str, Answered] = {}
    limiter = limiter or trio.CapacityLimiter(Config().concurrency)
    scope = trio.CancelScope()

    def is_late() -> bool:
        return scope.cancel_called

    async def ask(request: Request) -> None:
        async with limiter:
            await trio.lowlevel.checkpoint_if_cancelled()
            # The deadline may have passed since the place in the queue was granted.
            if is_late():
                return
            started.add(request.id)
            outcome = await _ask(request, judge)
            if is_late():
                return
            outcomes[request.id] = outcome
        if on_progress is not None:
            on_progress(len(outcomes), len(requests))

    began = trio.current_time()
    scope.deadline = began + budget_ms / 1_000
    with scope:
        async with trio.open_nursery() as nursery:
            for request in requests:
                nursery.start_soon(ask, request)
    answered = tuple(outcomes.get(request.id) or _late(request, started) for request in requests)
    return Asked(
        outcomes=answered,
        judge=judge.name,
        ms=round((trio.current_time() - began) * 1_000),
        timed_out=any(isinstance(outcome, Unanswered) and outcome.reason == "timeout" for outcome in answered),
    )


async def _ask(request: Request, judge: Judge) -> Answered:
    try:
        result = await judge(request)
    except Exception as error:
        return Unanswered(request_id=request.id, reason="error", detail=_said(error))
    except BaseExceptionGroup as group:
        # A nursery of the judge's own mixes its errors with our cancellation. Only the latter is to be passed on.
        raise group.split(Exception)[1] or group from None
    match result:
        case Success(Answers() as answers) if answers.request_id == request.id:
            return answers
        case Failure(Unanswered() as unanswered) if unanswered.request_id == request.id:
            return unanswered
        case _:
            return Unanswered(request_id=request.id, reason="error", detail="the judge answered something else")


def _late(request: Request, started: set[str]) -> Unanswered:
    return Unanswered(request_id=request.id, reason="timeout", started=request.id in started)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
