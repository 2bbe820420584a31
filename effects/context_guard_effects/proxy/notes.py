"""What is noted of each request and reply: in metrics, in the log, on the board, and as work for whoever judges."""

import time
from collections.abc import Callable

from msgspec import Struct

from context_guard.config import Config
from context_guard.formats.replies import Reply
from context_guard.proxy_routes import Guarded, read_session
from context_guard.records import Phase
from context_guard_effects.proxy.asked import Asked
from context_guard_effects.proxy.dashboard import Dashboard
from context_guard_effects.proxy.jobs import Job
from context_guard_effects.proxy.logs import Log
from context_guard_effects.proxy.metrics import Metrics
from context_guard_effects.proxy.settling import Clock, Settler


class Notes(Struct, frozen=True):
    """Where they go."""

    metrics: Metrics
    board: Dashboard
    log: Log
    settler: Settler
    now: Clock
    tell: Callable[[str], None]
    """Of what went wrong, for people."""


def note_request(notes: Notes, asked: Asked) -> None:
    """Of a guarded request, once it has been rewritten. One that starts a run has the run before it judged, where its
    end was not seen here."""
    rewritten = asked.rewritten
    assert rewritten is not None
    asked.seen = notes.board.request(asked.api, read_session(asked.by_name), rewritten, asked.size, notes.now())
    if rewritten.why:
        notes.metrics.unguarded.labels(rewritten.why).inc()
    if rewritten.edits:
        notes.metrics.kept_out.inc(max(0, rewritten.kept_out))
    told = rewritten.conversation
    if told is not None and told.answer:
        notes.settler.came(told.answer)
        if told.starts_run and told.has_results and not notes.settler.knows(told.answer):
            notes.settler.add(_job(notes, asked, None, "run-end"))


def note_reply(notes: Notes, asked: Asked, config: Config) -> None:
    """Also of an agent that hung up: many do as soon as they have the last event."""
    reply = asked.reading.close() if asked.reading is not None else None
    whole = asked.is_over or reply is not None
    outcome = "cut-off" if not whole else "ok" if asked.status < 400 else "error"
    notes.metrics.requests.labels(asked.api or "other", outcome).inc()
    notes.log.info(
        "request",
        upstream=asked.upstream.name,
        api=asked.api,
        status=asked.status,
        outcome=outcome,
        ms=round((time.perf_counter() - asked.began) * 1e3, 1),
        bytes=asked.size,
        edits=asked.rewritten.edits if asked.rewritten else 0,
        why=asked.why,
        read=reply is not None,
    )
    if reply is None or asked.rewritten is None:
        return
    if reply.usage is not None:
        notes.metrics.count_usage(asked.api, reply.usage)
        if asked.seen is not None:
            asked.seen.usage = reply.usage
    phase = _phase_after(asked, reply, config)
    if phase is not None:
        notes.settler.add(_job(notes, asked, reply, phase))


def _phase_after(asked: Asked, reply: Reply, config: Config) -> Phase | None:
    """Which pass the conversation is due for now. A batch has more characters than the whole request has bytes: then
    there is nothing to weigh in the middle of a run."""
    told = asked.rewritten.conversation if asked.rewritten is not None else None
    if told is None or not told.has_results:
        return None
    if reply.ends_run:
        return "run-end"
    return "mid-run" if config.mid_run and len(asked.plain) >= config.mid_run_batch_chars else None


def _job(notes: Notes, asked: Asked, reply: Reply | None, phase: Phase) -> Job:
    assert isinstance(asked.route, Guarded)
    told = asked.rewritten.conversation if asked.rewritten is not None else None
    return Job(
        api=asked.route.api,
        body=asked.plain,
        reply=reply.messages if reply is not None else "",
        phase=phase,
        session=read_session(asked.by_name),
        answered=notes.now(),
        usage=reply.usage if reply is not None else None,
        head=told.answer if told is not None else "",
        path=told.path if told is not None else frozenset(),
    )
