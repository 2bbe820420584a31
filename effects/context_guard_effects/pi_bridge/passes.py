"""Passes over the live session: one at a time, judged beside whatever else Pi asks for."""

from collections.abc import Callable

import trio

from context_guard.answers import Answered, Unanswered
from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.drafts import Draft
from context_guard.gathered import Gathered, cannot_be_due, gather, grow
from context_guard.late_drafts import fit_drafts
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Transcript
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.port import Judge


class Pass:
    """A pass that is being judged, or was and has not been seen on the branch yet."""

    def __init__(self, planned: Plan, head: str | None) -> None:
        self.plan = planned
        self.head = head
        self.settlement: Settlement | None = None
        self.defect = ""
        self.done = trio.Event()

    def drafts(self, transcript: Transcript, taken: frozenset[str]) -> tuple[Draft, ...]:
        """What of it fits the branch now; nothing while it is not done."""
        return fit_drafts(self.settlement, self.head, transcript, taken) if self.settlement is not None else ()

    @property
    def complaint(self) -> str:
        """Why no request of it was answered; empty when one was."""
        if self.defect:
            return self.defect
        outcomes: tuple[Answered, ...] = self.settlement.outcomes if self.settlement is not None else ()
        silent = [outcome for outcome in outcomes if isinstance(outcome, Unanswered)]
        if not silent or len(silent) < len(outcomes):
            return ""
        return next((outcome.detail for outcome in silent if outcome.detail), "") or "the judge did not answer in time"


class Passes:
    """Starts passes in the nursery; `on_busy` hears when judging begins and when it has ended."""

    def __init__(self, nursery: trio.Nursery, on_busy: Callable[[bool], None]) -> None:
        self._nursery = nursery
        self._on_busy = on_busy
        self.current: Pass | None = None
        self._gathered: Gathered | None = None
        """Of the last checkpoint that came to nothing."""

    def start(self, transcript: Transcript, config: Config, judge: Judge, boundary: Boundary) -> Pass | None:
        """A pass over this branch, when there is anything to judge or to take out."""
        is_checkpoint = boundary.phase == "mid-run"
        if is_checkpoint and self._is_known(transcript, config):
            assert self._gathered is not None
            if cannot_be_due(self._gathered, transcript, boundary):
                return None
        planned = plan(transcript, config, boundary)
        if _is_idle(planned):
            if is_checkpoint:
                self._nursery.start_soon(self._gather, transcript, planned)
            return None
        found = Pass(planned, transcript.head)
        self.current = found
        self._nursery.start_soon(self._run, found, judge)
        return found

    def look_ahead(self, transcript: Transcript, config: Config, boundary: Boundary) -> None:
        """While the model thinks: what the next turn's end would have to look for first."""
        if not self._is_known(transcript, config):
            self._nursery.start_soon(self._look, transcript, config, boundary)

    def _is_known(self, transcript: Transcript, config: Config) -> bool:
        """Whether an earlier look tells of this branch; what came since is added to it."""
        self._gathered = grow(self._gathered, transcript, config) if self._gathered is not None else None
        return self._gathered is not None

    async def _look(self, transcript: Transcript, config: Config, boundary: Boundary) -> None:
        try:
            planned = plan(transcript, config, boundary)
        except Exception:  # the turn's end meets it again, and tells
            return
        if _is_idle(planned):
            await self._gather(transcript, planned)

    async def _gather(self, transcript: Transcript, planned: Plan) -> None:
        """As a task of its own it comes after the reply, which nothing then holds up."""
        try:
            self._gathered = gather(transcript, planned)
        except Exception:  # then every turn is looked at
            self._gathered = None

    async def _run(self, found: Pass, judge: Judge) -> None:
        config = found.plan.config
        try:
            if found.plan.requests:
                self._on_busy(True)
            limiter = trio.CapacityLimiter(config.concurrency)
            asked = await ask_all(found.plan.requests, judge, config.timeout_ms, limiter)
            found.settlement = settle(found.plan, asked)
        except Exception as error:  # of a pass, not of the bridge: everything is kept
            found.defect = f"a defect, please report it: {type(error).__name__}: {error}"
        finally:
            if found.plan.requests:
                self._on_busy(False)
            found.done.set()


def _is_idle(planned: Plan) -> bool:
    return not planned.requests and not planned.items.images
