"""One request until its outcome: asked again where that has a use, and in halves where it is too large.

All waiting and trying again of the guard is in here, beside the pass deadline that bounds it; a judge does neither.
"""

from zlib import crc32

import msgspec
import trio
from returns.result import Failure, Success

from context_guard.answers import Answered, Answers, Unanswered
from context_guard.requests import Request
from context_guard.split import merge_halves, split_request
from context_guard_effects.judges.port import Judge

RETRIES = 2
BACKOFF_SECONDS = 0.25
"""Before the second try; twice as long before the third."""
SPREAD = 0.25
"""Up to this share is added to a wait, differently for each request, so that they do not all come back at once."""


async def ask_until_answered(request: Request, judge: Judge, deadline: float) -> Answered:
    """At most two further tries before `deadline` (of Trio's clock), each only where the judge says that it has a use;
    a request that is too large is split once."""
    outcome = await _ask_again(request, judge, deadline)
    if not (isinstance(outcome, Unanswered) and outcome.reason == "oversize"):
        return outcome
    halves = split_request(request)
    if halves is None:
        return outcome
    first = await _ask_again(halves[0], judge, deadline)
    return merge_halves(request, first, await _ask_again(halves[1], judge, deadline))


async def _ask_again(request: Request, judge: Judge, deadline: float) -> Answered:
    for attempt in range(RETRIES + 1):
        outcome = await _ask(request, judge)
        if not isinstance(outcome, Unanswered) or outcome.again_ms is None:
            break
        wait = _wait(request, outcome.again_ms, attempt)
        is_late = trio.current_time() + wait >= deadline
        if attempt == RETRIES or is_late:
            detail = f"{outcome.detail} (no time is left to wait {wait:,.1f} s)" if is_late else outcome.detail
            return msgspec.structs.replace(outcome, detail=detail, again_ms=None)
        await trio.sleep(wait)
    return outcome


def _wait(request: Request, again_ms: int, attempt: int) -> float:
    """Seconds; never less than the server asks for."""
    share = crc32(f"{request.id} {attempt}".encode()) / 2**32
    return max(again_ms / 1_000, BACKOFF_SECONDS * (attempt + 1)) * (1 + SPREAD * share)


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


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
