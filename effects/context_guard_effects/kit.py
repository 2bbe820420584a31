"""The guard of a loop that holds a message list: what the model is sent, when to judge, and the way back.

    guard = Guard(store=open_store(), provider="anthropic")
    tools = [*my_tools, guard.recall_tool().schema]
    reply = client.messages.create(messages=guard.project(messages), tools=tools, …)   # `messages` itself stays raw
    …
    await guard.settle(messages)                                                       # when the run has ended

The list is the loop's own and is never changed. What is sent instead follows from the list and the store's log alone:
one guard serves any number of conversations, forks and sub-agents, and several processes may share a store. Whatever
goes wrong, everything is kept and `status` says why; only a wrong argument raises.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from returns.result import Failure, Result

from context_guard.cache.breakpoints import place_breakpoints
from context_guard.config import Config
from context_guard.edit_log import LoggedEdit, LoggedPass, Pinned, Restored, Unpinned
from context_guard.formats.codec import Codec, Provider, find_codec
from context_guard.formats.message_list import edits_in_force, entry_ids, fit, is_entry_id
from context_guard.local_judge import Settings
from context_guard.records import Phase
from context_guard.savings import Savings, count_savings
from context_guard.server_state import find_server_state
from context_guard.status import status_lines
from context_guard.text import plural
from context_guard.transcript import Transcript
from context_guard_effects.bridge import run_in_trio, run_in_trio_sync
from context_guard_effects.checked import Checked
from context_guard_effects.judges.limited import limited
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.resolve import resolve_judge
from context_guard_effects.moment import Moment
from context_guard_effects.outputs import Output, output_of, result_texts
from context_guard_effects.recall_tool import RecallTool
from context_guard_effects.settling import Means, Settled, as_transcript, check_edited, read_list, run_pass
from context_guard_effects.store import Store, StoreError, StoreStatus, memory_store, read_place

Item = TypeVar("Item")
Answer = TypeVar("Answer")
JsonObject = dict[str, Any]

DEFAULTS = Config()
NOW = Moment()
REMEMBERED = 20
"""Problems that `status` tells."""


class Status(Struct, frozen=True):
    lines: tuple[str, ...]
    """All of it, for people."""
    problems: tuple[str, ...]
    """What went wrong, the latest last; each time everything was kept."""
    store: StoreStatus | None
    savings: Savings | None = None
    """Of the conversation asked about."""


class Guard:
    def __init__(
        self,
        store: Store | None = None,
        judge: Judge | str | None = None,
        config: Config = DEFAULTS,
        provider: Provider | Codec[Any] = "anthropic",
        session: str = "",
        breakpoints: bool = False,
    ) -> None:
        """`store`: by default one in memory, which ends with the process. `judge`: by default as `config.model` says.
        `session`: a name for people. `breakpoints`: all requests go through `project_request`, which then sets
        Anthropic's cache marks, so that an edit costs less."""
        if isinstance(store, str | os.PathLike):
            raise ValueError(f"{read_place(os.fspath(store))} is no store: give open_store(…) of it.")
        self.codec: Codec[Any] = find_codec(provider)
        self.store: Store = memory_store() if store is None else store
        self.config = config if breakpoints else msgspec.structs.replace(config, pin_anthropic_cache=False)
        self.judge = limited(_judge(config.model if judge is None else judge, config), self.store, config)
        self.session = session
        self._problems: deque[str] = deque(maxlen=REMEMBERED)
        self._checked = Checked()

    def project(self, messages: list[Item]) -> list[Item]:
        """What to send instead of the list; the list itself where nothing is to change. The same edits give the same
        bytes in every later request."""
        try:
            return self._projected(messages)
        except Exception as error:  # a fault of the guard must not cost the host its request
            self._note(f"a request went out unedited: {_said(error)}")
            return messages

    def project_request(self, body: JsonObject) -> JsonObject:
        """The same for the whole body of a request; it stays as it is where a server holds the history."""
        held = self.check_request(body)
        if held is not None:
            self._note(held)
            return body
        name = "input" if self.codec.host == "openai-responses" else "messages"
        messages = body.get(name)
        messages = list(messages) if isinstance(messages, tuple) else messages
        projected = self.project(messages) if isinstance(messages, list) else messages
        changed = body if projected is body.get(name) else {**body, name: projected}
        is_marked = self.config.pin_anthropic_cache and self.codec.host == "anthropic"
        return place_breakpoints(changed).body if is_marked else changed

    def check_request(self, body: JsonObject) -> str | None:
        """Why a request cannot be guarded: a server holds its history. None when it can."""
        return find_server_state(self.codec.host, body)

    async def settle(self, messages: Sequence[Any], moment: Moment = NOW) -> Settled:
        """Judges the run that has just ended, under Trio or asyncio. Cancelled, it leaves everything as it was."""
        return await run_in_trio(self._pass, messages, "run-end", moment)

    async def checkpoint(self, messages: Sequence[Any], moment: Moment = NOW) -> Settled:
        """The same in the middle of a run, before a request; it judges only where that is likely to pay."""
        return await run_in_trio(self._pass, messages, "mid-run", moment)

    def settle_sync(self, messages: Sequence[Any], moment: Moment = NOW) -> Settled:
        """For code without a loop."""
        return run_in_trio_sync(self._pass, messages, "run-end", moment)

    def checkpoint_sync(self, messages: Sequence[Any], moment: Moment = NOW) -> Settled:
        return run_in_trio_sync(self._pass, messages, "mid-run", moment)

    def refuse(self, why: str) -> None:
        """For adapters: a request goes out unedited for this reason, which `status` tells."""
        self._note(why)

    def recall_tool(self) -> RecallTool:
        """Put its schema among the tools from the first request on: a change of the tools costs the whole cache."""
        return RecallTool(self.store, self.codec.host)

    def pin(self, id: str) -> None:
        """From now on the model sees the output raw, and no pass touches it. Raises StoreError, and ValueError
        for what is no id."""
        self._say(Pinned(id))

    def unpin(self, id: str) -> None:
        self._say(Unpinned(id))

    def restore(self, id: str) -> None:
        """The model sees the output raw again, until a later pass judges it anew."""
        self._say(Restored(id))

    def outputs(self, messages: list[Any]) -> tuple[Output, ...]:
        """The tool outputs of a conversation. Raises ValueError for what is no message list, and StoreError."""
        transcript = self._transcript(messages)
        return tuple(output_of(transcript, entry) for entry in transcript.entries if entry.role == "tool")

    def replacements(self, messages: list[Any]) -> dict[str, str]:
        """Call id → what the model is to see of its result, for hosts whose own messages the caller edits. Results that
        share a call id are left out. For such hosts set `prune_exchanges` to false: an exchange cannot go in part."""
        sent = self.project(messages)
        if sent is messages:
            return {}
        raw, shown = (result_texts(read_list(self.codec, found)) for found in (messages, sent))
        return {call_id: text for call_id, text in shown.items() if text != raw.get(call_id, text)}

    def status(self, messages: list[Any] | None = None) -> Status:
        """What went wrong, what the store holds and, with a list, what is kept out of its context. Never raises."""
        savings = self._asked(partial(self._savings, messages)) if messages is not None else None
        store = self._asked(self.store.status)
        lines = (
            *(status_lines(savings) if savings is not None else ()),
            *([_told(store)] if store is not None else []),
            *(f"Problem: {problem}" for problem in self._problems),
        )
        return Status(lines=lines, problems=tuple(self._problems), store=store, savings=savings)

    async def _pass(self, messages: Sequence[Any], phase: Phase, moment: Moment) -> Settled:
        means = Means(self.store, self.codec, self.judge, self.config)
        try:
            settled = await run_pass(means, _listed(messages), phase, moment, moment.session or self.session)
        except Exception as error:  # as for a request; cancelling is no Exception and passes through
            settled = Settled(problem=f"a pass changed nothing: {_said(error)}")
        for said in filter(None, (settled.problem, settled.unanswered)):
            self._note(said)
        return settled

    def _projected(self, messages: list[Item]) -> list[Item]:
        read = read_list(self.codec, messages)
        ids = entry_ids(read)
        edits = edits_in_force(ids, self.store.find(ids))
        changes = fit(read, ids, edits)
        if not changes:
            return messages
        sent = self.codec.write(messages, read, changes)
        if not self._checked.covers(ids, edits):
            check_edited(self.codec, messages, sent)
            self._checked.add(ids, edits)
        return sent

    def _say(self, word: LoggedEdit) -> None:
        if not isinstance(word.target, str) or not is_entry_id(word.target):
            raise ValueError(f"{word.target!r} is no id of an output: give one of `outputs` or of a note.")
        self.store.keep(LoggedPass(witness="", edits=(word,), session=self.session, time=NOW.time()), ())

    def _transcript(self, messages: list[Any]) -> Transcript:
        read = read_list(self.codec, messages)
        return as_transcript(self.codec, read, self.store.find(entry_ids(read)), NOW, self.session)

    def _savings(self, messages: list[Any]) -> Savings:
        return count_savings(self._transcript(messages))

    def _asked(self, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except (StoreError, ValueError) as error:
            self._note(_said(error))
            return None

    def _note(self, problem: str) -> None:
        """Told once while it lasts."""
        if problem not in self._problems:
            self._problems.append(problem)


def _listed(messages: Sequence[Any]) -> list[Any]:
    """A copy, since a host goes on with its own. Raises ValueError."""
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise ValueError(f"a {type(messages).__name__} is no list of messages: give the list as it was sent.")
    return list(messages)


def _judge(judge: Judge | str, config: Config) -> Judge:
    if not isinstance(judge, str):
        return judge
    found: Result[Judge, str] = resolve_judge(judge, os.environ, Settings(keep_share=config.keep_share))
    if isinstance(found, Failure):
        raise ValueError(f"{judge!r} is not a judge: {found.failure()}.")
    return found.unwrap()


def _said(error: Exception) -> str:
    """One line: the error's own words, with its kind where it is no error of ours."""
    said = " ".join(str(error).split())
    return said if isinstance(error, StoreError | ValueError) and said else f"{type(error).__name__}: {said}"


def _told(status: StoreStatus) -> str:
    expired = f", {plural(status.expired, 'expired one')}" if status.expired else ""
    return f"Store {status.place}: {plural(status.outputs, 'original')}{expired}, {plural(status.passes, 'record')}."
