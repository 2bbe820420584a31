"""One pass over a live conversation, from its list into the log: judged, checked and stored, or nothing at all."""

from functools import partial
from typing import Any

import trio
from msgspec import Struct, structs
from returns.result import Failure, Success

from context_guard.config import Config
from context_guard.drafts import Draft
from context_guard.edit_log import LoggedPass
from context_guard.formats.codec import Codec
from context_guard.formats.message_list import (
    Message,
    edits_in_force,
    entry_ids,
    fit,
    log_pass,
    raw_outputs,
    to_transcript,
)
from context_guard.records import Phase, Record
from context_guard.silence import tell_silence
from context_guard.transcript import Transcript
from context_guard.withheld import withhold
from context_guard_effects.guard import distill
from context_guard_effects.judges.port import Judge
from context_guard_effects.moment import Moment, with_moment
from context_guard_effects.store import IdTaken, Store

TAKEN = "its id stands for another content in the store"


class Settled(Struct, frozen=True):
    """What one pass came to."""

    edits: int = 0
    record: Record | None = None
    """None where nothing was judged."""
    problem: str = ""
    """What went wrong; then nothing was changed."""
    unanswered: str = ""
    """What the judge left unanswered, and why, in a line; that was kept."""


class Means(Struct, frozen=True):
    """With what a conversation is guarded."""

    store: Store
    codec: Codec[Any]
    judge: Judge
    config: Config


def read_list(codec: Codec[Any], messages: list[Any]) -> tuple[Message, ...]:
    """Raises ValueError in words for people."""
    match codec.read(messages):
        case Success(tuple() as read):
            return read
        case Failure(error):
            raise ValueError(error.message)
        case other:
            raise TypeError(f"the codec gave {other!r}")


def check_edited(codec: Codec[Any], messages: list[Any], sent: list[Any]) -> None:
    """Raises ValueError where the provider would refuse what is sent for something that is not in the list itself."""
    problems = codec.validate(sent)
    if problems:
        known = {problem.message for problem in codec.validate(messages)}
        for problem in problems:
            if problem.message not in known:
                raise ValueError(f"the provider would refuse {problem.where}: {problem.message}")


def as_transcript(
    codec: Codec[Any], messages: tuple[Message, ...], log: tuple[LoggedPass, ...], moment: Moment, session: str
) -> Transcript:
    return to_transcript(codec.host, messages, log, moment.model_at(codec.api), moment.overhead_chars, session)


async def run_pass(means: Means, messages: list[Any], phase: Phase, moment: Moment, session: str) -> Settled:
    """Raises what goes wrong, with nothing stored."""
    read = with_moment(read_list(means.codec, messages), moment)
    ids = entry_ids(read)
    log = await trio.to_thread.run_sync(means.store.find, ids)
    transcript = as_transcript(means.codec, read, log, moment, session)
    distilled = await distill(transcript, means.config, means.judge, moment.boundary(phase))
    unanswered = tell_silence(distilled.settlement.outcomes)
    if not distilled.settlement.drafts:
        return Settled(unanswered=unanswered)
    job = _Job(means, messages, read, transcript, log, session, moment.time())
    settled = await trio.to_thread.run_sync(_keep, job, distilled.settlement.drafts)
    return structs.replace(settled, unanswered=unanswered)


class _Job(Struct, frozen=True):
    means: Means
    messages: list[Any]
    read: tuple[Message, ...]
    transcript: Transcript
    log: tuple[LoggedPass, ...]
    """As it was when the pass began."""
    session: str
    time: int


def _keep(job: _Job, drafts: tuple[Draft, ...]) -> Settled:
    """Blocks. In a thread that is not left alone when the pass is cancelled: stored whole or not at all."""
    store, transcript = job.means.store, job.transcript
    ids = tuple(entry.id for entry in transcript.entries if entry.role != "meta")
    if edits_in_force(ids, store.find(ids)) != edits_in_force(ids, job.log):
        return Settled(problem="Another pass over this conversation ended first: this one was dropped.")
    made = log_pass(transcript, drafts, job.session, job.time)
    changes = fit(job.read, ids, edits_in_force(ids, (*job.log, made)))
    if changes:
        check_edited(job.means.codec, job.messages, job.means.codec.write(job.messages, job.read, changes))
    find_image = partial(job.means.codec.find_image, job.messages)
    way = job.means.config.recall_with
    try:
        kept = store.keep(made, raw_outputs(transcript, drafts, find_image, way))
    except IdTaken as taken:
        left = withhold(drafts, taken.ids, TAKEN)
        raws = raw_outputs(transcript, left, find_image, way)
        kept = store.keep(log_pass(transcript, left, job.session, job.time), raws)
    return Settled(edits=len(kept.edits), record=kept.record)
