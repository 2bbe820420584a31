"""The loop: lines in, lines out. Messages change the session in the order in which they came; answers may overtake."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio
from returns.result import Failure, Success

from context_guard.boundary import Boundary as Moment
from context_guard.cache.anchors import cache_anchors
from context_guard.cache.breakpoints import place_breakpoints
from context_guard.cache.mark_changes import mark_changes
from context_guard.cache.points import CachePoint
from context_guard.cache.refresh import log_points, refresh_points
from context_guard.config import Config
from context_guard.drafts import Append, Draft
from context_guard.formats.pi_edits import draft_body
from context_guard.late_drafts import refused_targets
from context_guard.local_judge import Settings
from context_guard.records import Phase
from context_guard.savings import State, count_savings, status_parts
from context_guard.transcript import Model, Transcript
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.resolve import host_provider, resolve_judge
from context_guard_effects.pi_bridge.classifier import Classifiers
from context_guard_effects.pi_bridge.commands import answer_command
from context_guard_effects.pi_bridge.live import LiveSession
from context_guard_effects.pi_bridge.passes import Passes
from context_guard_effects.pi_bridge.protocol import (
    Answered,
    AnyMessage,
    Boundary,
    Classified,
    Command,
    Hello,
    Late,
    Outgoing,
    ProtocolError,
    Recall,
    Status,
    Sync,
    read_message,
    write_line,
)
from context_guard_effects.pi_bridge.recall import answer_recall
from context_guard_effects.pi_bridge.settings import load_settings

Reply = dict[str, Any]


class Bridge:
    """One Pi's guard. `write` sends a whole line; `now` is in milliseconds since the epoch."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        environment: Mapping[str, str],
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._write = write
        self._environment = environment
        self._now = now
        self._live = LiveSession()
        self._written: tuple[CachePoint, ...] = ()
        self._sent: tuple[int, Model] | None = None
        """When the last request went out, and to which model."""
        self._complaints: set[str] = set()
        self._classifiers = Classifiers(self._send)
        self._passes: Passes
        self._shown: Transcript | None = None
        self._load()

    async def serve(self, read_line: Callable[[], Awaitable[bytes]]) -> None:
        """Until the lines end, which is when Pi has gone; what is still being judged then goes with it."""
        async with trio.open_nursery() as nursery:
            self._passes = Passes(nursery, self._tell_busy)
            while line := await read_line():
                self._take(line, nursery)
            nursery.cancel_scope.cancel()

    def _load(self) -> None:
        found = load_settings(self._environment)
        self._config: Config = found.config
        self._warnings = found.warnings
        self._judge: Judge | None = None
        self._problem = ""
        self._ask_pi = host_provider(self._config.model, self._environment)
        """The provider of whose classifiers the extension is to tell those that Pi has a log-in for."""
        local = Settings(keep_share=self._config.keep_share)
        match resolve_judge(self._config.model, self._environment, local, self._classifiers.judge):
            case Success(judge):
                self._judge = judge
            case Failure(said):
                self._problem = "no judge"
                self._warnings = (*self._warnings, f"{self._config.model!r} is not a judge: {said}")

    def _take(self, line: bytes, nursery: trio.Nursery) -> None:
        try:
            message = read_message(line)
        except ProtocolError as error:
            self._send({"id": error.id, "error": f"not understood: {error}"})
            return
        if isinstance(message, Classified):
            self._classifiers.answered(message.call, message.result)
            return
        if message.sync.classifiers is not None:
            self._classifiers.available = tuple(message.sync.classifiers)
        if isinstance(message, Hello):
            self._written, self._sent = (), None
        if isinstance(message, Hello) or message.sync.classifiers is not None:
            self._load()
        try:
            transcript = self._live.update(message.sync)
        except Exception as error:
            self._send({"id": message.id, "error": _defect(error)})
            return
        if transcript is None:
            self._send({"id": message.id, "need": "entries"})
            return
        self._shown = transcript
        if isinstance(message, Boundary | Late | Command):
            nursery.start_soon(self._answer_later, message, transcript)
        else:
            self._answer(message, transcript)

    def _answer(self, message: AnyMessage, transcript: Transcript) -> None:
        """What needs no judge, at once."""
        reply: Reply
        try:
            match message:
                case Hello():
                    limit = self._config.timeout_ms
                    reply = {"status": self._status(transcript), "warnings": self._warnings, "budgetMs": limit}
                    reply["askPi"] = self._ask_pi
                case Status():
                    reply = {"status": self._status(transcript)}
                case Outgoing():
                    reply = self._mark(message, transcript)
                case Answered():
                    reply = self._refresh(message, transcript)
                case Recall():
                    reply = answer_recall(message, transcript, self._live)
                case _:
                    raise AssertionError(message)
        except Exception as error:  # the bridge lives on, and Pi goes on unguarded for this once
            reply = {"error": _defect(error)}
        self._send({"id": message.id, **reply})
        if isinstance(message, Outgoing | Status):
            self._passes.look_ahead(transcript, self._config, self._moment("mid-run", message.sync))

    def _moment(self, phase: Phase, sync: Sync) -> Moment:
        return Moment(
            phase=phase,
            now=self._now(),
            written=self._written,
            cost=sync.model.prices if sync.model is not None else None,
            has_judge=self._judge is not None,
        )

    async def _answer_later(self, message: Boundary | Late | Command, transcript: Transcript) -> None:
        try:
            match message:
                case Boundary():
                    reply = await self._pass(message, transcript)
                case Late():
                    reply = await self._late(transcript)
                case Command():
                    reply = await self._command(message, transcript)
        except Exception as error:
            reply = {"error": _defect(error)}
        self._send({"id": message.id, **reply})

    async def _pass(self, message: Boundary, transcript: Transcript) -> Reply:
        others = tuple(draft.target_id if draft.type == "context_edit" else None for draft in message.drafts)
        dropped = refused_targets(transcript, others)
        taken = frozenset(target for target in others if target is not None)
        if message.outcome != "completed" or not self._config.enabled:
            return _drafts((), dropped)
        late: tuple[Draft, ...] = ()
        if (earlier := self._passes.current) is not None:
            if message.phase == "run-end":
                await earlier.done.wait()
            if not earlier.done.is_set():
                return _drafts((), dropped)
            late = earlier.drafts(transcript, taken)
            taken |= _targets(late)
            self._passes.current = None
        started = self._passes.start(
            transcript,
            self._config,
            self._judge or LocalJudge(),  # which is asked nothing where there is none
            self._moment(message.phase, message.sync),
        )
        if started is None:
            return _drafts(late, dropped)
        patience = self._config.settle_wait_ms / 1_000 if message.can_wait else float("inf")
        with trio.move_on_after(patience):
            await started.done.wait()
        if not started.done.is_set():
            return _drafts(late, dropped) | {"late": True}
        self._passes.current = None
        self._complain(started.complaint)
        return _drafts((*late, *started.drafts(transcript, taken)), dropped)

    async def _late(self, transcript: Transcript) -> Reply:
        """The pass stays: whether the host could take its edits shows on the branch at the next boundary."""
        waiting = self._passes.current
        if waiting is None:
            return _drafts((), ())
        await waiting.done.wait()
        self._complain(waiting.complaint)
        return _drafts(waiting.drafts(transcript, frozenset()), ())

    async def _command(self, message: Command, transcript: Transcript) -> Reply:
        reply = await answer_command(
            message.text, transcript, self._config, self._judge, self._problem, self._environment
        )
        if reply.pop("reload", False):
            self._load()
            reply["warnings"], reply["askPi"] = self._warnings, self._ask_pi
        return reply | {"status": self._status(transcript)}

    def _mark(self, message: Outgoing, transcript: Transcript) -> Reply:
        model = transcript.model
        if not self._config.enabled or not self._config.pin_anthropic_cache or model is None:
            return {"changes": []}
        now = self._now()
        placed = place_breakpoints(message.skeleton, cache_anchors(transcript, self._written, now))
        self._written = log_points(transcript, self._written, placed.body, now, model)
        self._sent = now, model
        return {
            "changes": [
                {"path": change.path, "control": change.control}
                for change in mark_changes(message.skeleton, placed.body)
            ]
        }

    def _refresh(self, message: Answered, transcript: Transcript) -> Reply:
        model = transcript.model
        if self._sent is not None and model is not None and self._sent[1].ref == model.ref:
            self._written = refresh_points(transcript, self._written, self._sent[0], message.tokens, model)
        return {}

    def _status(self, transcript: Transcript, busy: bool = False) -> list[tuple[str, str]]:
        if not self._config.enabled:
            state: State = "off"
        elif busy:
            state = "busy"
        else:
            state = "problem" if self._problem else "ready"
        return list(status_parts(count_savings(transcript), state, self._problem))

    def _tell_busy(self, busy: bool) -> None:
        if self._shown is not None:
            working = "context-guard: distilling old context…" if busy else None
            self._send({"event": "status", "status": self._status(self._shown, busy), "working": working})

    def _complain(self, complaint: str) -> None:
        """Once for each complaint; what the judge did not answer is kept anyway."""
        if complaint and complaint not in self._complaints:
            self._complaints.add(complaint)
            self._send({"event": "notice", "text": f"context-guard: {complaint}; nothing was changed."})

    def _send(self, value: dict[str, Any]) -> None:
        self._write(write_line(value))


def _drafts(drafts: tuple[Draft, ...], dropped: tuple[int, ...]) -> Reply:
    return {"drafts": [draft_body(draft) for draft in drafts], "dropped": list(dropped)}


def _targets(drafts: tuple[Draft, ...]) -> frozenset[str]:
    return frozenset(draft.target for draft in drafts if not isinstance(draft, Append))


def _defect(error: Exception) -> str:
    return f"a defect of context-guard, please report it: {type(error).__name__}: {error}"
