"""What the proxy remembers of requests: what was opened, and which places of it are in the provider's cache."""

import json
from typing import Any

import trio

from context_guard.cache.marks import read_marks
from context_guard.edit_log import LoggedPass, RawOutput, Replaced
from context_guard.formats.message_list import edits_in_force, fit
from context_guard.formats.opened import Opened
from context_guard.formats.pinned import Edited
from context_guard.proxy_routes import Guarded
from context_guard.validate import validate_anthropic
from context_guard_effects.proxy.applied import AppliedLog
from context_guard_effects.proxy.pins import Pins
from context_guard_effects.proxy.recent import AT_HAND, NEW, RECENT, Recent
from context_guard_effects.proxy.rewrite import Rewriter
from context_guard_effects.store import memory_store
from context_guard_effects.testing import answer, call, messages, prompt, result

Json = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}
NOW = 1_790_000_000_000
SHORT = ("[context-guard] short",)


def opened(recent: Recent, given: list[Json]) -> Opened:
    """As an agent sends it: marked at the end of the system prompt and of the messages."""
    *before, last = given
    parts = last["content"] if isinstance(last["content"], list) else [{"type": "text", "text": last["content"]}]
    marked = [*before, {**last, "content": [*parts[:-1], {**parts[-1], **MARK}]}]
    body = {"model": "m", "system": [{"type": "text", "text": "Be brief.", **MARK}], "messages": marked}
    found = recent.open("anthropic", json.dumps(body).encode())
    assert isinstance(found, Opened)
    return found


def run(number: int) -> list[Any]:
    return [
        prompt(f"Question {number}?"),
        call("search", {"q": str(number)}, id=f"call_{number}"),
        result(f"output {number}\n" * 50),
        answer(f"Answer {number}."),
    ]


def placed(pins: Pins, request: Opened, *log: LoggedPass) -> tuple[list[int], list[Json]]:
    """The messages that carry a mark, and what is sent."""
    changes = fit(request.read, request.ids, edits_in_force(request.ids, log))
    edited = Edited(request, log, changes, request.codec.write(request.messages, request.read, changes))
    sent = pins.place(edited).messages
    marks = [mark.path for mark in read_marks({**request.body, "messages": sent})]
    return [int(path[1]) for path in marks if path[0] == "messages"], sent


def test_a_late_edit_is_read_up_to_as_one_in_time_is() -> None:
    """Its pass ended when the next run had begun. The place in front of it that an earlier request marked is marked."""
    recent, pins = Recent(), Pins(lambda: NOW)
    both = messages("anthropic", *run(1), *run(2))
    for length in (1, 3, 5):  # as far as each request goes: nothing is edited yet
        placed(pins, opened(recent, both[:length]))
    request = opened(recent, both[:7])
    outputs = [id for id, it in zip(request.ids, request.read, strict=True) if it.role == "tool"]
    witness = [id for id, it in zip(request.ids, request.read, strict=True) if it.role == "assistant"][1]
    late = LoggedPass(witness=witness, edits=(Replaced(outputs[0], SHORT),))
    marked, _ = placed(pins, request, late)
    assert 0 in marked
    again, _ = placed(pins, opened(recent, both[:7]), late)
    assert 0 not in again


def test_no_mark_stands_where_none_may() -> None:
    """A prompt that ends in a blank text is marked in front of it, and what is sent is as valid as what came."""
    recent, pins = Recent(), Pins(lambda: NOW)
    given = messages("anthropic", *run(1), *run(2))
    given[0] = {"role": "user", "content": [{"type": "text", "text": "Where?"}, {"type": "text", "text": " \n"}]}
    for length in (3, 5):
        placed(pins, opened(recent, given[:length]))
    request = opened(recent, given[:7])
    output = next(id for id, it in zip(request.ids, request.read, strict=True) if it.role == "tool")
    witness = [id for id, it in zip(request.ids, request.read, strict=True) if it.role == "assistant"][1]
    _, sent = placed(pins, request, LoggedPass(witness=witness, edits=(Replaced(output, SHORT),)))
    assert sent[2] != request.messages[2]
    assert () == validate_anthropic(request.messages) == validate_anthropic(sent)


def test_what_is_remembered_has_an_end() -> None:
    """Also where thousands of small conversations come; the latest stay."""
    recent = Recent()
    for number in range(3 * RECENT):
        last = opened(recent, messages("anthropic", prompt(f"Question {number}?")))
    assert RECENT == len(recent.known)
    assert recent.known[0] is last


def test_only_what_is_nearly_known_is_opened_at_once() -> None:
    """A request that goes on from one before by a little; not a stranger's, one of another API or what is no text."""
    recent = Recent()
    mine, other = ([*run(number), *run(number), *run(number)] for number in (1, 2))
    opened(recent, messages("anthropic", *mine[:9]))
    top = {"model": "m", "system": [{"type": "text", "text": "Be brief.", **MARK}]}
    goes_on, strange = (json.dumps({**top, "messages": messages("anthropic", *it)}).encode() for it in (mine, other))
    assert recent.is_at_hand("anthropic", goes_on)
    for not_known in (b"", b"\xff", strange, goes_on.ljust(NEW + 20_000), goes_on.ljust(AT_HAND + 1)):
        assert not recent.is_at_hand("anthropic", not_known)
    assert not recent.is_at_hand("openai-chat", goes_on)


def test_conversations_with_the_same_beginning_keep_their_own() -> None:
    """Parallel sub-agents of one task: each goes on from itself, and takes the place of its own last request."""
    recent = Recent()
    begun = [prompt("Question?"), call("search", {"q": "a"}, id="c"), result("out")]
    before: dict[str, list[Json]] = {"one": [], "other": []}
    for turns in range(2, 9):
        for name in before:
            parts = [part for turn in range(turns) for part in (answer(f"{name} says {turn}"), prompt(f"On, {name}"))]
            request = opened(recent, messages("anthropic", *begun, *parts))
            own = sum(one is same for one, same in zip(request.messages, before[name], strict=False))
            assert own == max(0, len(before[name]) - 1)
            before[name] = request.messages
    assert 2 == len(recent.known)


def test_what_the_form_of_the_json_takes_is_not_counted_as_kept_out() -> None:
    """Two results in one message, of which the smaller is edited; the client escapes every character of the other."""
    store = memory_store()
    calls = [{"type": "tool_use", "id": f"t{at}", "name": "read", "input": {"p": at}} for at in range(2)]
    texts = ["x" * 2_000, "漢字" * 5_000]
    results = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": text} for at, text in enumerate(texts)]
    given: list[Json] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And then?"},
    ]
    request = opened(Recent(), given)
    outputs = [id for id, it in zip(request.ids, request.read, strict=True) if it.role == "tool"]
    edits = (Replaced(outputs[0], SHORT),)
    store.keep(LoggedPass(witness=request.ids[-2], edits=edits), (RawOutput(id=outputs[0], text=texts[0]),))
    rewriter = Rewriter(AppliedLog(store, print), print, None)
    found = trio.run(rewriter.rewrite, Guarded("anthropic"), json.dumps(request.body).encode())
    assert (1, 2_000 - len(SHORT[0])) == (found.edits, found.kept_out)
