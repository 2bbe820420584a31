"""The guard of a hand-written loop."""

import asyncio
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import trio
from returns.result import Result

from context_guard.answers import Answers, Unanswered
from context_guard.config import Config
from context_guard.edit_log import LoggedPass, RawImage, RawOutput
from context_guard.formats.codec import CODECS, Provider
from context_guard.requests import Request
from context_guard.text import MARKER
from context_guard.transcript import Usage
from context_guard.validate import Problem
from context_guard_effects.kit import Guard
from context_guard_effects.moment import Moment, usage_of
from context_guard_effects.settling import Settled
from context_guard_effects.store import IdTaken, SqliteStore, StoreError, memory_store, open_store
from context_guard_effects.testing import (
    KeepJudge,
    LoopHost,
    SilentJudge,
    answer,
    assert_guard_invariants,
    call,
    made_output,
    messages,
    prompt,
    result,
)
from context_guard_effects.testing.hosts import AT_ANY_COST, Conversation
from context_guard_effects.testing.loop import Loop

JsonObject = dict[str, Any]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
RAW = made_output("one")


def conversation(provider: Provider = "anthropic") -> list[JsonObject]:
    return messages(
        provider,
        prompt("Where is the needle?"),
        call("search", {"q": "needle"}, id="call_1"),
        result(RAW),
        answer("Line 142 holds the NEEDLE."),
    )


def guard(**given: Any) -> Guard:
    defaults: dict[str, Any] = {"judge": KeepJudge("NEEDLE"), "config": AT_ANY_COST}
    return Guard(**(defaults | given))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_hand_written_loop_is_guarded(provider: Provider) -> None:
    """What holds for every host holds for a loop over the messages of each provider."""
    assert_guard_invariants(LoopHost(provider), memory_store())


class Unguarded(Loop):
    def requests(self) -> list[list[JsonObject]]:
        return [[*self.history()[: len(sent)]] for sent in self._requests]


class Rewriting(Loop):
    def history(self) -> list[JsonObject]:
        return self._guard.project(deepcopy(self._messages))


class Renaming(Loop):
    def requests(self) -> list[list[JsonObject]]:
        found: list[list[JsonObject]] = json.loads(json.dumps(self._requests).replace("call_1", "call_7"))
        return found


class Forgetful(Loop):
    def reopen(self, guard: Guard) -> Conversation:
        return Loop(self._provider, Guard(judge=guard.judge, config=guard.config), deepcopy(self._messages))


class Mixing(Loop):
    def fork(self) -> Conversation:
        return Loop(self._provider, self._guard, self._messages)


@pytest.mark.parametrize("kind", [Unguarded, Rewriting, Renaming, Forgetful, Mixing])
def test_a_host_that_breaks_a_rule_is_found(kind: Callable[[Provider, Guard, list[JsonObject]], Loop]) -> None:
    """The invariants fail for a host that sends raw, rewrites its history, renames calls, forgets or mixes up forks."""

    class Broken:
        provider: Provider = "anthropic"

        def open(self, guard: Guard) -> Conversation:
            return kind(self.provider, guard, [])

    with pytest.raises((AssertionError, KeyError)):
        assert_guard_invariants(Broken(), memory_store())


WAYS: dict[str, Callable[[Guard, list[JsonObject]], Settled]] = {
    "trio": lambda guard, list_: trio.run(guard.settle, list_),
    "asyncio": lambda guard, list_: asyncio.run(guard.settle(list_)),
    "sync": lambda guard, list_: guard.settle_sync(list_),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_pass_runs_under_any_loop_and_none(way: str) -> None:
    """Trio, asyncio and plain code get the same edits, and from then on the same bytes with every request."""
    guarded, list_ = guard(), conversation()
    assert 1 == WAYS[way](guarded, list_).edits
    sent = guarded.project(list_)
    assert list_ == conversation()
    assert all(ours is theirs for place, (ours, theirs) in enumerate(zip(sent, list_, strict=True)) if place != 2)
    assert sent[2]["content"][0]["content"].startswith(MARKER)
    longer = [*list_, *messages("anthropic", prompt("Thanks."))]
    assert json.dumps(sent)[:-1] == json.dumps(guarded.project(longer))[: len(json.dumps(sent)) - 1]


async def test_a_blocking_pass_inside_trio_names_the_way() -> None:
    """Trio refuses what blocks its loop; the refusal says what to call instead."""
    with pytest.raises(RuntimeError, match="await the guard's async method"):
        guard().settle_sync(conversation())


def test_without_edits_the_list_itself_is_sent() -> None:
    list_ = conversation()
    assert list_ is guard().project(list_)


class Hanging:
    name = "hanging"

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.sleep_forever()
        raise AssertionError


class Raising:
    name = "raising"

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        raise RuntimeError("out of order")


async def test_a_cancelled_pass_leaves_everything_as_it_was() -> None:
    """A host's time limit under Trio: nothing is stored, nothing is edited."""
    guarded, list_ = guard(judge=Hanging(), config=Config(timeout_ms=600_000)), conversation()
    with trio.move_on_after(5) as scope:
        await guarded.settle(list_)
    assert scope.cancelled_caught
    assert (list_, 0) == (guarded.project(list_), guarded.store.status().passes)


def test_a_cancelled_pass_under_asyncio_leaves_everything_as_it_was() -> None:
    """The same through the thread: the work there ends too."""
    guarded, list_ = guard(judge=Hanging(), config=Config(timeout_ms=600_000)), conversation()

    async def limited() -> None:
        await asyncio.wait_for(guarded.settle(list_), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    assert (list_, 0) == (guarded.project(list_), guarded.store.status().passes)


@pytest.mark.parametrize(
    ("judge", "why"), [(Raising(), "RuntimeError: out of order"), (SilentJudge(), "this judge never answers")]
)
def test_a_judge_that_fails_keeps_everything_and_says_why(judge: Any, why: str) -> None:
    guarded, list_ = guard(judge=judge), conversation()
    settled = guarded.settle_sync(list_)
    assert (0, "") == (settled.edits, settled.problem)
    assert settled.unanswered.endswith(f"what they ask about is kept: {why}")
    assert (settled.unanswered,) == guarded.status().problems
    assert list_ is guarded.project(list_)


@pytest.mark.parametrize("given", [None, {}, "text", 3])
def test_a_pass_over_no_list_is_a_problem_and_no_more(given: Any) -> None:
    guarded = guard()
    assert "is no list of messages" in guarded.settle_sync(given).problem


class Broken(SqliteStore):
    """A store whose disk is full."""

    def __init__(self) -> None:
        super().__init__(None, lambda: 0)

    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        raise StoreError("the disk is full: make room.")


def test_a_store_that_fails_keeps_everything_and_says_why() -> None:
    """No edit holds that could not be stored; the host meets no exception."""
    guarded, list_ = guard(store=Broken()), conversation()
    assert "the disk is full: make room." in guarded.settle_sync(list_).problem
    assert list_ is guarded.project(list_)
    assert ["a pass changed nothing: the disk is full: make room."] == list(guarded.status().problems)


def test_what_is_no_message_list_is_sent_as_it_is() -> None:
    """A format that the guard does not know costs the host nothing; the status names the place."""
    guarded: Guard = guard()
    odd: list[Any] = ["Hello"]
    assert odd is guarded.project(odd)
    assert "messages[0]" in guarded.status().problems[0]


def test_an_edited_list_that_the_provider_would_refuse_is_sent_raw() -> None:
    codec = msgspec.structs.replace(
        CODECS["anthropic"],
        validate=lambda list_: (Problem("messages[2]", "No."),) if MARKER in json.dumps(list_) else (),
    )
    store, list_ = memory_store(), conversation()
    guard(store=store).settle_sync(list_)
    strict = guard(store=store, provider=codec)
    assert list_ is strict.project(list_)
    assert ("a request went out unedited: the provider would refuse messages[2]: No.",) == strict.status().problems
    assert "messages[2]" in guard(store=memory_store(), provider=codec).settle_sync(list_).problem


class Taken(SqliteStore):
    """A store in which the id of the first output stands for another content."""

    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        if raws:
            raise IdTaken("taken", (raws[0].id,))
        return super().keep(pass_, raws)


def test_an_id_that_stands_for_another_content_costs_its_own_edit_alone() -> None:
    """The output stays, the rest of the pass is stored, and the record says why."""
    guarded, list_ = guard(store=Taken(None, lambda: 0)), conversation()
    settled = guarded.settle_sync(list_)
    assert settled.record is not None
    (item,) = settled.record.results
    assert ("kept", "its id stands for another content in the store", 0) == (
        item.outcome,
        item.reason,
        settled.record.saved_chars,
    )
    assert list_ is guarded.project(list_)


def test_processes_share_a_store(tmp_path: Path) -> None:
    """What one guard stores another one on the same file sends from its next request on."""
    list_ = conversation()
    ours, theirs = (guard(store=open_store(tmp_path / "store.db")) for _ in range(2))
    assert list_ is theirs.project(list_)
    ours.settle_sync(list_)
    assert ours.project(list_) == theirs.project(list_) != list_


def test_a_fork_from_before_the_answer_never_sees_the_edit() -> None:
    guarded, list_ = guard(), conversation()
    guarded.settle_sync(list_)
    fork = [*list_[:3], *messages("anthropic", prompt("x"), answer("Another answer."))[1:]]
    assert fork is guarded.project(fork)


def test_another_task_with_the_same_steps_never_sees_the_edit() -> None:
    """Edits are in force only where they were judged; the same steps under another prompt are raw."""
    guarded, history = guard(), conversation()
    assert guarded.settle_sync(history).edits == 1
    other = [{"role": "user", "content": "List every line that is no needle."}, *history[1:]]
    assert guarded.project(other) is other
    assert guarded.project(history) is not history


def test_a_pinned_output_is_sent_raw_and_left_alone() -> None:
    """A pin takes the edit back and holds; a restored output may be judged anew."""
    guarded, list_ = guard(), conversation()
    guarded.settle_sync(list_)
    (output,) = guarded.outputs(list_)
    assert ("call_1", "search", len(RAW), True) == (output.call_id, output.tool, output.chars, output.is_edited)
    guarded.pin(output.id)
    assert list_ == guarded.project(list_)
    assert guarded.outputs(list_)[0].is_pinned
    assert 0 == guarded.settle_sync(list_).edits
    guarded.unpin(output.id)
    assert 1 == guarded.settle_sync(list_).edits
    guarded.restore(output.id)
    assert list_ == guarded.project(list_)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_recalled_is_left_alone_in_its_run(provider: Provider) -> None:
    """What the model has just asked back stays until the run that asked for it has ended, and at its end."""
    guarded, list_ = guard(provider=provider), conversation(provider)
    guarded.settle_sync(list_)
    entry = guarded.outputs(list_)[0].id
    asked = messages(
        provider,
        prompt("And the rest?"),
        call("recall", {"entryId": entry}, id="call_2"),
        result(guarded.recall_tool().page({"entryId": entry}).text),
        answer("All read."),
    )
    guarded.settle_sync([*list_, *asked])
    assert [True, False] == [output.is_edited for output in guarded.outputs([*list_, *asked])]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_recall_answers_in_the_words_of_the_provider(provider: Provider) -> None:
    """Text and pictures as the provider takes them; a wrong question is an error that says what to do."""
    store = memory_store()
    picture = RawImage(media_type="image/png", data="iVBORw0KGgo=")
    word = LoggedPass(witness="")
    store.keep(word, (RawOutput(id="0123456789ab", text="one\ntwo", images=(picture,)),))
    tool = guard(store=store, provider=provider).recall_tool()
    assert "recall" in json.dumps(tool.schema)
    given = json.dumps(tool.result("call_3", '{"entryId": "0123456789ab"}'))
    assert all(word in given for word in ("call_3", "one\\ntwo", "iVBORw0KGgo="))
    assert "2: two" == tool.page({"entryId": "0123456789ab", "pattern": "tw"}).text.partition("\n")[0]
    for question in ("{}", "no json", '{"entryId": "unknown"}', "[1]"):
        page = tool.page(question)
        assert page.is_error
        assert MARKER in page.text


def test_usage_is_read_from_any_provider() -> None:
    """Cached tokens are counted once, whether the provider counts them among its input or beside it."""
    anthropic = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7}
    chat = {"prompt_tokens": 95, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 90}}
    responses = {"input_tokens": 95, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 90}}
    assert Usage(5, 2, 90, 7) == usage_of(anthropic)
    assert Usage(5, 2, 90, 0) == usage_of(chat) == usage_of(responses)


def test_an_edit_waits_while_the_cache_is_warm_and_is_free_once_it_is_cold() -> None:
    """The moment decides: a short conversation pays nothing back before its cache has expired."""
    guarded, list_ = guard(config=Config()), conversation()
    told = Moment(model="openai/gpt-5.6", usage=Usage(input=4_000, output=10), now=1_000_000, answered=999_000)
    assert 0 == guarded.settle_sync(list_, told).edits
    later = msgspec.structs.replace(told, now=1_000_000 + 3_600_000)
    assert 1 == guarded.settle_sync(list_, later).edits


def test_a_request_whose_history_a_server_holds_is_left_alone() -> None:
    """Only what is new would be seen: the body goes out as it is, and the status says what to do."""
    guarded = guard(provider="openai-responses")
    body: JsonObject = {"model": "m", "input": [], "previous_response_id": "resp_1"}
    assert body is guarded.project_request(body)
    assert "previous_response_id" in guarded.status().problems[0]
    assert guarded.check_request({"model": "m", "input": []}) is None


def test_the_body_of_a_request_is_guarded_and_marked() -> None:
    """Messages are edited; cache marks that make an edit cheaper are set where the host asked for them."""
    list_ = conversation()
    body: JsonObject = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [*list_, *messages_end()]}
    plain, marking = guard(), guard(breakpoints=True)
    assert body is plain.project_request(body)
    for guarded in (plain, marking):
        guarded.settle_sync(list_)
    assert plain.project_request(body)["messages"] == plain.project(body["messages"])
    marks = [json.dumps(guarded.project_request(body)).count("cache_control") for guarded in (plain, marking)]
    assert [1, 2] == marks
    assert 1 == json.dumps(body).count("cache_control")


def messages_end() -> list[JsonObject]:
    last = {"type": "text", "text": "Thanks.", "cache_control": {"type": "ephemeral"}}
    return [{"role": "user", "content": [last]}]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_host_with_messages_of_its_own_is_told_what_to_show(provider: Provider) -> None:
    """Call id → text, for each result that is edited; a call id that two results share is left out."""
    guarded, list_ = guard(provider=provider), conversation(provider)
    assert {} == guarded.replacements(list_)
    guarded.settle_sync(list_)
    shown = guarded.replacements(list_)
    assert ["call_1"] == list(shown)
    assert shown["call_1"].startswith(MARKER)
    again = messages(provider, prompt("Once more."), call("search", {}, id="call_1"), result("none"), answer("No."))
    assert {} == guarded.replacements([*list_, *again])


def test_another_pass_that_ended_first_is_not_overruled() -> None:
    """Two passes over the same run: the second one finds that the edits have changed, and is dropped."""
    store, list_ = memory_store(), conversation()
    first = guard(store=store)

    class Late(KeepJudge):
        async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
            await first.settle(list_)
            return await super().__call__(request)

    second = guard(store=store, judge=Late("part_7"))
    assert "ended first" in trio.run(second.settle, list_).problem
    assert "NEEDLE" in str(second.project(list_)[2])


def test_a_guard_names_a_judge_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="'no-such-judge' is not a judge"):
        Guard(judge="no-such-judge")


@pytest.mark.parametrize(
    ("given", "told"),
    [({"provider": "openai"}, "'openai-chat'"), ({"provider": None}, "'anthropic'"), ({"store": "s.db"}, "open_store")],
)
def test_a_wrong_argument_is_told_when_the_guard_is_made(given: Any, told: str) -> None:
    """Not as a problem of every later request."""
    with pytest.raises(ValueError, match=told):
        Guard(**given)


@pytest.mark.parametrize("id", ["", None, 5, "toolu_1", "ABCDEF012345"])
def test_the_users_word_is_about_an_id(id: Any) -> None:
    """What is no id is refused, and nothing is stored."""
    guarded: Guard = guard()
    for say in (guarded.pin, guarded.unpin, guarded.restore):
        with pytest.raises(ValueError, match="is no id of an output"):
            say(id)
    assert guarded.store.status().passes == 0


def test_a_body_that_holds_its_messages_as_a_tuple_is_guarded() -> None:
    guarded, list_ = guard(), conversation()
    guarded.settle_sync(list_)
    assert list(guarded.project_request({"messages": tuple(list_)})["messages"]) == guarded.project(list_)
