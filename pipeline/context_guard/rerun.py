"""A traced pass again, from one of its stages on: what another setting, another judge or a later version makes of it.

Everything before that stage is the trace's. A recorded answer counts only for the request that it was given to: where
the request asks about something else now, there is no answer, and that keeps everything.
"""

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from msgspec.structs import replace

from context_guard.answers import Answered, Asked, Unanswered
from context_guard.config import Config
from context_guard.requests import Request, State
from context_guard.saved_trace import Trace
from context_guard.stages import PLANNING, Plan, find_items, for_phase, settle, settle_kept

Stage = Literal["span", "chunks", "segments", "requests", "answers", "keep-sets", "drafts"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""Where a pass can begin again. `span` is everything; what is judged of a run (the candidates) goes with it."""

CHANGED = "the recorded answer is to another request"


Ask = Callable[[tuple[Request, ...], Config], Asked]
"""Puts the requests before a judge."""


def rerun(trace: Trace, config: Config, start: Stage = "span", ask: Ask | None = None) -> Trace:
    """The pass with these settings; without anybody to ask, with the recorded answers."""
    planned = _replan(trace, config, start)
    asked = recorded(trace, planned) if ask is None else ask(planned.requests, config)
    return _resettle(trace, config, planned, asked, start)


def _replan(trace: Trace, config: Config, start: Stage) -> Plan:
    """The plan, made again from that stage on."""
    config = for_phase(config, trace.plan.phase)
    if start == "span":
        planned = find_items(trace.transcript, config, trace.plan.boundary)
    else:
        planned = replace(trace.plan, config=config)
    again = STAGES[STAGES.index(start) :]
    for name, stage in PLANNING:
        if name in again:
            planned = stage(planned)
    return planned


def recorded(trace: Trace, planned: Plan) -> Asked:
    """The trace's answers to the requests of a plan."""
    outcomes = answers_to(planned.requests, trace.plan.requests, trace.asked.outcomes)
    return replace(trace.asked, outcomes=tuple(outcomes))


def answers_to(
    requests: Iterable[Request], earlier: Iterable[Request], outcomes: Iterable[Answered]
) -> Iterable[Answered]:
    """The outcomes of those earlier requests that ask the same; of a request that asks something else there is none."""
    asked = {request.id: request for request in earlier}
    said = {outcome.request_id: outcome for outcome in outcomes}
    for request in requests:
        if request.id not in asked or not asks_the_same(request, asked[request.id]):
            yield Unanswered(request.id, "error", CHANGED)
        elif request.id in said:
            yield said[request.id]


def asks_the_same(one: Request, other: Request) -> bool:
    """Whether both put the same material and the same facts before the judge, in whatever words they ask."""
    return _substance(one) == _substance(other)


def _resettle(trace: Trace, config: Config, planned: Plan, asked: Asked, start: Stage) -> Trace:
    """The whole pass, once the requests have been answered. From `drafts` on the keep sets are the trace's."""
    kept = trace.settlement.keep_sets
    settled = settle_kept(planned, asked, kept) if start == "drafts" else settle(planned, asked)
    return Trace(trace.transcript, config, planned, asked, settled)


def _substance(request: Request) -> tuple[tuple[str, ...], tuple[str, ...], State]:
    return (
        request.entry_ids,
        tuple(question.id for question in request.questions),
        replace(request.state, situation="", status="", size=""),
    )
