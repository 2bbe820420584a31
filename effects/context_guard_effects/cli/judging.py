"""One pass over a session with the judge that was asked for."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import click
import trio
from returns.result import Failure, Success

from context_guard.answers import Asked, Unanswered
from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.local_judge import Settings
from context_guard.records import Phase
from context_guard.requests import Request
from context_guard.rerun import Ask
from context_guard.saved_trace import Trace
from context_guard.silence import tell_reason, tell_silence
from context_guard.transcript import Transcript
from context_guard_effects.cli.exits import UNJUDGED, UNREADABLE, Stop
from context_guard_effects.cli.moment import boundary_at
from context_guard_effects.cli.output import warn
from context_guard_effects.cli.settings import read_settings
from context_guard_effects.cli.sources import read_file
from context_guard_effects.guard import Distilled, distill
from context_guard_effects.judges.ask_all import Progress, ask_all
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.recorded import RecordedJudge, read_recording
from context_guard_effects.judges.resolve import resolve_judge

RECORDED = "recorded:"


def judge_transcript(transcript: Transcript, **how: Any) -> Distilled:
    """A pass with the options of `options.judging`."""
    trace = trace_transcript(transcript, **how)
    return Distilled(plan=trace.plan, asked=trace.asked, settlement=trace.settlement)


def trace_transcript(
    transcript: Transcript,
    *,
    judge: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    last_run: bool,
    phase: Phase,
    now: int | None,
) -> Trace:
    """The same with all that went into it."""
    config = read_settings(config_file, settings)
    boundary = boundary_at(transcript, phase, now, last_run)
    made = run_pass(transcript, config, choose_judge(judge, config), boundary)
    return Trace(transcript, config, made.plan, made.asked, made.settlement)


def ask_judge(name: str | None) -> Ask:
    """The judge of that name, for the requests of a pass that was planned before."""

    def ask(requests: tuple[Request, ...], config: Config) -> Asked:
        judge = choose_judge(name, config)
        with _progress() as on_progress:
            limiter = trio.CapacityLimiter(config.concurrency)
            return trio.run(partial(ask_all, requests, judge, config.timeout_ms, limiter, on_progress))

    return ask


def run_pass(transcript: Transcript, config: Config, judge: Judge, boundary: Boundary) -> Distilled:
    with _progress() as on_progress:
        return trio.run(partial(distill, transcript, config, judge, boundary, on_progress))


def choose_judge(name: str | None, config: Config) -> Judge:
    """The judge of that name; without one that of the settings."""
    name = config.model if name is None else name.strip()
    if not name:
        raise click.UsageError("--judge is empty: name one, such as local, or leave it out for that of the settings.")
    if name == RECORDED:
        raise click.UsageError(
            "recorded: needs a file: --judge recorded:FILE, written before by distill --record FILE or trace."
        )
    if name.startswith(RECORDED):
        path = Path(name.removeprefix(RECORDED))
        match read_recording(read_file(path)):
            case Success(RecordedJudge() as recorded):
                return recorded
            case Failure(error):
                raise Stop(f"{path}: {error.message}", UNREADABLE)
    found = resolve_judge(name, os.environ, Settings(keep_share=config.keep_share))
    if isinstance(found, Failure):
        raise click.UsageError(f"the judge {name!r} cannot be asked: {found.failure()}.")
    return found.unwrap()


def check_answered(distilled: Distilled | Trace) -> None:
    """Ends the command when requests were asked and the judge answered none; says so where it left some unanswered, or
    another judge answered in its place."""
    outcomes = distilled.settlement.outcomes
    if missed := distilled.asked.missed:
        count = f"{len(missed)} of {len(outcomes)} requests"
        warn(f"the remote judge left {count} unanswered, there the embedded one decided: {tell_reason(missed)}")
    silent = [outcome for outcome in outcomes if isinstance(outcome, Unanswered)]
    if silent and len(silent) == len(outcomes):
        raise Stop(f"the judge answered none of {len(outcomes)} requests: {tell_reason(silent)}", UNJUDGED)
    if silent:
        warn(tell_silence(outcomes))


def _progress() -> AbstractContextManager[Progress | None]:
    return _Bar() if sys.stderr is not None and sys.stderr.isatty() else nullcontext()


class _Bar:
    """A bar on the terminal that goes away when it is done."""

    def __enter__(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._bar.start()
        task = self._bar.add_task("judging", total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()
