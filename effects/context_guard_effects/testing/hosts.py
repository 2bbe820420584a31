"""What a guarded host has to hold to, as one function for its tests: `assert_guard_invariants(host)`.

The host is driven through a small protocol: it opens a conversation that is guarded, lets a scripted model take its
turns, and shows what that model was sent and what it has stored. Both in the words of one provider, so that a host with
its own message types converts them.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from context_guard.config import Config
from context_guard.formats.codec import CODECS, Provider
from context_guard.text import MARKER
from context_guard.transcript import ToolResult, calls_of, text_of
from context_guard_effects.kit import Guard
from context_guard_effects.store import Store
from context_guard_effects.testing.judges import KeepJudge, SilentJudge

JsonObject = dict[str, Any]

NEEDLE = "NEEDLE"
AT_ANY_COST = Config(run_end_break_even=False, mid_run_break_even=False, exchange_break_even=False)
"""The conversations here are too short for an edit to earn back the cache that it costs."""
SEARCH = "search"
"""Name of the tool whose output is large. It takes {"q": string} and gives back `Search.output`."""


class Search(Struct, frozen=True):
    """The model calls the tool `search`, whose output is this."""

    output: str
    call_id: str
    query: str = "needle"


class Recall(Struct, frozen=True):
    """The model calls the guard's recall tool with the id of the newest note that it was sent (`noted_id`)."""

    call_id: str


class Say(Struct, frozen=True):
    """The model ends the run with these words."""

    text: str


Turn = Search | Recall | Say


class Conversation(Protocol):
    def run(self, prompt: str, turns: Sequence[Turn]) -> None:
        """One run from the prompt to its end, the guard's work at its end included."""
        ...

    def requests(self) -> list[list[JsonObject]]:
        """The messages that the model was sent, one list a request, since this object was made."""
        ...

    def history(self) -> list[JsonObject]:
        """The messages as the host has stored them."""
        ...

    def reopen(self, guard: Guard) -> "Conversation":
        """The same conversation, from what is stored, as another process would take it up."""
        ...

    def fork(self) -> "Conversation":
        """Another conversation that goes on from here, beside this one."""
        ...


class Host(Protocol):
    @property
    def provider(self) -> Provider:
        """Whose words `requests` and `history` are in."""
        ...

    def open(self, guard: Guard) -> Conversation:
        """A new conversation with the tool `search` and the recall tool of this guard."""
        ...


_NAMED = re.compile(r'(?:"entryId":"|context-guard recall )(\w+)')
"""The id in a note, whichever way of recall the note names."""


def assert_guard_invariants(host: Host, store: Store) -> None:
    """Raw history, sticky edits, kept call ids, exact recall, forks of their own; errors keep everything.

    `store` is empty; a host that reopens in a real process of its own gives a file.
    """
    first = host.open(_guard(host, store, KeepJudge(NEEDLE)))
    raw = made_output("one")
    first.run("Where is the needle?", [Search(raw, "call_1"), Say(f"Line 142 holds the {NEEDLE}.")])
    _check_first_run(host, first, raw)
    fork = first.fork()
    edited = _check_second_run(host, first, raw)
    _check_reopened(host, first, store, edited)
    _check_fork(host, fork, first, edited)
    _check_silence(host, store)


def made_output(word: str, lines: int = 300) -> str:
    """A large output with one line that the work needs."""
    made = (f"src/{word}/part_{number}.py:{number}: nothing of interest here" for number in range(1, lines + 1))
    return "\n".join(line.replace("nothing", NEEDLE) if at == 141 else line for at, line in enumerate(made))


def noted_id(messages: list[JsonObject], provider: Provider) -> str:
    """The id in the newest note of the guard in a request, for scripted models that recall."""
    texts = [text for text in _results(messages, provider).values() if text.startswith(MARKER)]
    assert texts, "the model was sent no note of the guard that it could recall by"
    named = _NAMED.search(texts[-1])
    assert named, "the note names no id"
    return named[1]


def _guard(host: Host, store: Store, judge: KeepJudge | SilentJudge) -> Guard:
    return Guard(store=store, judge=judge, config=AT_ANY_COST, provider=host.provider)


def _check_first_run(host: Host, first: Conversation, raw: str) -> None:
    requests = first.requests()
    assert len(requests) == 2, f"the first run takes two requests, not {len(requests)}"
    assert _results(requests[1], host.provider)["call_1"] == raw, "during its run an output is sent raw"
    _check_valid(host, requests)


def _check_second_run(host: Host, first: Conversation, raw: str) -> str:
    stored = first.history()
    first.run("What does the file say?", [Recall("call_2"), Say("It says so.")])
    third, fourth = first.requests()[2:]
    edited = _results(third, host.provider)["call_1"]
    assert edited.startswith(MARKER), "after its run the model sees a note in place of the output"
    assert raw.split("\n")[141] in edited.split("\n"), "what the judge kept is there word for word"
    assert len(edited) < len(raw) / 2, "what the judge did not keep is gone"
    assert _plain(third) == _plain(fourth)[: len(third)], "a request begins with the bytes of the one before"
    assert _same_before(third, first.requests()[1], "call_1"), "all before the first edit is sent as it was"
    assert _results(fourth, host.provider)["call_2"] == raw, "recall gives back the output, byte for byte"
    history = _results(first.history(), host.provider)
    assert history["call_1"] == history["call_2"] == raw, "what the host stores stays raw"
    assert _plain(stored) == _plain(first.history())[: len(stored)], "what the host has stored is never rewritten"
    _check_valid(host, first.requests())
    return edited


def _check_reopened(host: Host, first: Conversation, store: Store, edited: str) -> None:
    again = first.reopen(_guard(host, store, KeepJudge(NEEDLE)))
    again.run("Thank you.", [Say("You are welcome.")])
    (request,) = again.requests()
    assert _results(request, host.provider)["call_1"] == edited, "another process goes on with the same edits"
    before = first.requests()[3]
    assert _plain(before) == _plain(request)[: len(before)], "and with the same bytes, those of the last run too"


def _check_fork(host: Host, fork: Conversation, first: Conversation, edited: str) -> None:
    fork.run("And another one?", [Search(made_output("two"), "call_9"), Say("There too.")])
    fork.run("Thank you.", [Say("You are welcome.")])
    *_, last = fork.requests()
    results = _results(last, host.provider)
    assert results["call_1"] == edited, "a fork keeps the edits from before it"
    assert results["call_9"].startswith(MARKER), "a fork gets edits of its own"
    first.run("Anything else?", [Say("No.")])
    assert "call_9" not in _results(first.requests()[-1], host.provider), "which the other branch never sees"


def _check_silence(host: Host, store: Store) -> None:
    silent = host.open(_guard(host, store, SilentJudge()))
    raw = made_output("three")
    silent.run("Where is it?", [Search(raw, "call_1"), Say("I do not know.")])
    silent.run("Still not?", [Say("No.")])
    assert _results(silent.requests()[-1], host.provider)["call_1"] == raw, "without an answer everything is kept"


def _check_valid(host: Host, requests: list[list[JsonObject]]) -> None:
    for place, request in enumerate(requests):
        problems = CODECS[host.provider].validate(request)
        assert not problems, f"the provider would refuse request {place}: {problems[0].where}: {problems[0].message}"


def _results(messages: list[JsonObject], provider: Provider) -> dict[str, str]:
    """Call id → text of its result; every call has one."""
    found: dict[str, str] = {}
    called: set[str] = set()
    for message in CODECS[provider].read(messages).unwrap():
        called |= {call.id for call in calls_of(message.blocks)}
        for block in message.blocks:
            if isinstance(block, ToolResult):
                found[block.call_id] = text_of((block,))
    assert set(found) <= called, f"a result without its call: {set(found) - called}"
    return found


def _plain(messages: list[JsonObject]) -> list[str]:
    """Each message as a prompt cache tells it from another: without the marks that hosts move along, and without the
    form that a text needs to carry one."""
    return [json.dumps(_without_marks(message), sort_keys=True) for message in messages]


def _without_marks(value: Any) -> Any:
    match value:
        case {"role": _, "content": str(text)}:
            return _without_marks({**value, "content": [{"type": "text", "text": text}]})
        case dict():
            return {name: _without_marks(item) for name, item in value.items() if name != "cache_control"}
        case list():
            return [_without_marks(item) for item in value]
        case _:
            return value


def _same_before(edited: list[JsonObject], raw: list[JsonObject], call_id: str) -> bool:
    """Whether the two lists agree up to the message that holds the result of the call."""
    for ours, theirs in zip(edited, raw, strict=False):
        if _plain([ours]) != _plain([theirs]):
            return call_id in json.dumps(ours)
    return False
