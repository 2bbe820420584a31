"""The whole guard in one call, for a host that runs Trio: plan → ask → settle."""

import trio
from msgspec import Struct

from context_guard.answers import Asked
from context_guard.boundary import RUN_END, Boundary
from context_guard.config import Config
from context_guard.local_judge import Settings
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Transcript
from context_guard_effects.judges.ask_all import Progress, ask_all
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.port import Judge

DEFAULTS = Config()


class Distilled(Struct, frozen=True):
    """All of one pass: what was planned, what the judge said, what comes of it (`settlement.drafts`)."""

    plan: Plan
    asked: Asked
    settlement: Settlement


async def distill(
    transcript: Transcript,
    config: Config = DEFAULTS,
    judge: Judge | None = None,
    boundary: Boundary = RUN_END,
    on_progress: Progress | None = None,
) -> Distilled:
    """One pass over the transcript, by the local judge unless another is given. Changes nothing: appending the drafts
    is the host's."""
    judge = judge or LocalJudge(Settings(keep_share=config.keep_share))
    planned = plan(transcript, config, boundary)
    asked = await ask_all(
        planned.requests, judge, config.timeout_ms, trio.CapacityLimiter(config.concurrency), on_progress
    )
    return Distilled(plan=planned, asked=asked, settlement=settle(planned, asked))
