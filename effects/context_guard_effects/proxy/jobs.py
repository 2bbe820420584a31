"""One pass over a conversation that a proxy saw, as a value that goes to whoever judges, and what comes back."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import trio
from msgspec import Struct
from msgspec.structs import replace

from context_guard.cache.marks import is_messages, read_marks
from context_guard.cache.prices import prices_for
from context_guard.config import Config
from context_guard.edit_log import LoggedPass
from context_guard.formats.codec import CODECS
from context_guard.formats.message_list import entry_ids
from context_guard.formats.request_body import list_key, read_request
from context_guard.proxy_routes import Api
from context_guard.recall_way import find_recall_way
from context_guard.records import DEFERRED, Phase
from context_guard.text import RECALL
from context_guard.transcript import Usage
from context_guard_effects.judges.port import Judge
from context_guard_effects.moment import Moment
from context_guard_effects.settling import Means, read_list, run_pass
from context_guard_effects.store import Claims, Store, StoreError

AFTER_EXPIRY_MS = 1_000


class Job(Struct, frozen=True):
    api: Api
    body: bytes
    """Of the request, as the agent sent it; not compressed."""
    reply: str
    """What the agent will add, as a JSON list. Empty: the list itself ends the run, in front of its last prompt."""
    phase: Phase
    session: str
    answered: int
    """When the reply was complete, or when the request came; milliseconds since the epoch."""
    usage: Usage | None = None
    head: str = ""
    """Id of the last thing that the assistant said or did in the request, where it is known."""
    path: frozenset[str] = frozenset()
    """Ids of all entries of the request."""
    now: int | None = None
    """When it is judged, where that is not right away."""


class Decision(Struct, frozen=True):
    """For people; nothing of the content."""

    tool: str
    kind: str
    outcome: str
    reason: str
    before_chars: int
    after_chars: int
    weighed: str = ""
    """Of a deferred edit, the sum that says so."""


class Done(Struct, frozen=True):
    answer: str = ""
    """Id of the entry that ended what was judged."""
    edits: int = 0
    saved_chars: int = 0
    decisions: tuple[Decision, ...] = ()
    judge: str = ""
    requests: int = 0
    cost_usd: float = 0.0
    unanswered: str = ""
    """What the judge left unanswered, and why, in a line; that was kept."""
    waits: bool = False
    """Some edits do not pay while the provider's cache is warm."""
    expires: int = 0
    """When it no longer is."""
    is_elsewhere: bool = False
    """Another proxy on the same store is judging that run now."""
    problem: str = ""


async def run_job(job: Job, store: Store, judge: Judge, config: Config) -> Done:
    """Never raises for anything in the conversation, the judge or the store."""
    try:
        return await _run(job, store, judge, config)
    except Exception as error:  # everything is kept; a defect of ours must not end the proxy
        said = " ".join(str(error).split())
        return Done(problem=f"a pass changed nothing: {type(error).__name__}: {said}"[:500])


async def _run(job: Job, store: Store, judge: Judge, config: Config) -> Done:
    body: dict[str, Any] = json.loads(job.body)
    codec, key = CODECS[job.api], list_key(job.api)
    given = body[key]
    messages: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    messages += json.loads(job.reply) if job.reply else []
    if not job.reply:
        messages = _before_last_prompt(messages)
    read = read_list(codec, messages)
    at = next((at for at in reversed(range(len(read))) if read[at].role == "assistant"), None)
    if at is None:
        return Done()
    ids = entry_ids(read)
    answer = ids[at]
    async with _claimed(store, answer) as is_ours:
        if not is_ours:
            return Done(answer=answer, is_elsewhere=True)
        if job.now is None and _is_judged(await trio.to_thread.run_sync(store.find, ids), answer, job.phase):
            return Done(answer=answer)
        return await _judge(job, body, Means(store, codec, judge, config), messages, answer)


def _is_judged(log: tuple[LoggedPass, ...], answer: str, phase: Phase) -> bool:
    """By another proxy, or by this one before it was started again; what the judge left unanswered is asked again."""
    records = (logged.record for logged in log if logged.witness == answer)
    return any(record is not None and record.phase == phase and not record.timed_out for record in records)


@asynccontextmanager
async def _claimed(store: Store, answer: str) -> AsyncIterator[bool]:
    """Whether nobody else judges the run that this entry ended, as long as this lasts."""
    if not isinstance(store, Claims):
        yield True
        return
    release = await trio.to_thread.run_sync(store.claim, f"run {answer}")
    try:
        yield release is not None
    finally:
        if release is not None:
            with trio.CancelScope(shield=True), suppress(StoreError):  # a connection that has ended has released it
                await trio.to_thread.run_sync(release)


async def _judge(job: Job, body: dict[str, Any], means: Means, messages: list[Any], answer: str) -> Done:
    config = means.config
    request = read_request(job.api, {**body, list_key(job.api): []}).unwrap()
    expires = job.answered + prices_for(request.model).ttl_ms + AFTER_EXPIRY_MS
    moment = Moment(
        model=request.model.ref if request.model is not None else None,
        usage=job.usage,
        overhead_chars=request.overhead_chars,
        now=job.now if job.now is not None or not _is_uncached(job.api, body) else expires,
        answered=job.answered,
        session=job.session,
    )
    if config.recall_with == RECALL:  # nobody has said how this agent recalls
        config = replace(config, recall_with=find_recall_way(body))
    settled = await run_pass(replace(means, config=config), messages, job.phase, moment, job.session)
    record = settled.record
    return Done(
        answer=answer,
        edits=settled.edits,
        saved_chars=record.saved_chars if record else 0,
        decisions=tuple(
            Decision(it.tool, it.kind, it.outcome, it.reason, it.before_chars, it.after_chars, it.weighed)
            for it in (record.results if record else ())
        ),
        judge=record.model if record else "",
        requests=record.requests if record else 0,
        cost_usd=record.cost_usd if record else 0.0,
        unanswered=settled.unanswered,
        waits=any(it.reason == DEFERRED for it in (record.results if record else ())),
        expires=expires,
        problem=settled.problem,
    )


def _is_uncached(api: Api, body: dict[str, Any]) -> bool:
    """Anthropic caches what is marked: without a mark an edit has nothing to lose, as once a cache has expired."""
    return api == "anthropic" and is_messages(body) and not read_marks(body)


def _before_last_prompt(messages: list[Any]) -> list[Any]:
    """Up to the last thing that the assistant said or did."""
    last = next((at for at in reversed(range(len(messages))) if not _is_prompt(messages[at])), -1)
    return messages[: last + 1]


def _is_prompt(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in ("user", "system", "developer")
