"""The provider's prompt cache behind the proxy: a recorded session, request by request, against a simulated one."""

import gzip
import json
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from proxy_world import Answer, Asked, plain, running

from context_guard.cache.marks import read_marks
from context_guard.cache.prices import prices_for
from context_guard.config import Config
from context_guard.cost.prompt import Prompt
from context_guard.cost.recording import record
from context_guard.cost.simulated import Cache, MarkedCache, PrefixCache
from context_guard.formats import pi
from context_guard.formats.codec import Provider as Api
from context_guard.formats.wire import to_anthropic, to_openai_chat
from context_guard.text import MARKER
from context_guard.transcript import Entry, Model, Transcript, Usage
from context_guard_effects.judges.local import LocalJudge

Json = dict[str, Any]
SESSION = Path(__file__).resolve().parents[1] / "benchmarks" / "cost" / "sessions" / "errands.jsonl.gz"
REQUESTS = 60
MARK = {"cache_control": {"type": "ephemeral"}}
SYSTEM = [{"type": "text", "text": "You are an agent. " * 300, **MARK}]
STEP = 10_000
"""Milliseconds between requests: the cache stays warm."""
FIVE_MINUTES = 29
"""In requests: what was written before is not counted on."""


def conversation(api: Api) -> list[list[Json]]:
    """What an agent would send, request after request, and at the end all of it."""
    recording = record("errands", pi.read(gzip.decompress(SESSION.read_bytes())).unwrap())
    entries: list[Entry] = []
    lists: list[list[Json]] = []
    for entry in recording.entries:
        if entry.role == "assistant":
            lists.append(wire(api, entries))
        entries.append(entry)
        if len(lists) > REQUESTS:
            break
    return lists


def wire(api: Api, entries: list[Entry]) -> list[Json]:
    branch = Transcript("pi", "s", tuple(entries), entries[-1].id, tuple(range(len(entries))))
    return to_anthropic(branch) if api == "anthropic" else to_openai_chat(branch)


def body(api: Api, messages: list[Json]) -> Json:
    if api != "anthropic":
        return {"model": "gpt-5.1", "messages": messages}
    (*before, last) = messages
    parts = last["content"]
    if isinstance(parts, str):
        parts = [{"type": "text", "text": parts}]
    marked = {**last, "content": [*parts[:-1], {**parts[-1], **MARK}]}
    return {"model": "claude-sonnet-4-5", "system": SYSTEM, "messages": [*before, marked]}


def blocks(body: Json) -> Iterator[tuple[tuple[int, int, int], str, str]]:
    """Place, kind and content of each block as a cache tells it from another: without its mark."""
    for section, key in enumerate(("tools", "system")):
        for at, part in enumerate(body.get(key, ())):
            yield (section, at, 0), key, json.dumps({**part, "cache_control": None})
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for number, part in enumerate(parts):
            bare = {**part, "cache_control": None}
            rest = {key: message[key] for key in message if key != "content"}
            yield (2, at, number), str(part.get("type")), json.dumps([rest, bare])


def prompt_of(body: Json) -> Prompt:
    found = list(blocks(body))
    kinds = [kind for _, kind, _ in found]
    fresh = [at == 0 or kind != kinds[at - 1] or kind != "tool_result" for at, kind in enumerate(kinds)]
    return Prompt(
        prefixes=tuple(accumulate((content for *_, content in found), lambda a, b: hash((a, b)), initial=0))[1:],
        tokens=tuple(accumulate(len(content) / 4 for *_, content in found)),
        positions=tuple(accumulate(map(int, fresh))),
        orders={place: at for at, (place, _, _) in enumerate(found)},
        body=body,
    )


def question_of(body: Json) -> tuple[int, int, int]:
    """Place of the last text of the user's before the last message: the proxy marks it."""
    texts = [place for place, kind, _ in blocks({"messages": body["messages"][:-1]}) if kind == "text"]
    asked = [place for place in texts if body["messages"][place[1]]["role"] == "user"]
    return asked[-1] if asked else (1, 0, 0)


class Simulated:
    """Counts what each request reads and writes, as the provider would, and says so in its replies."""

    def __init__(self, api: Api, cache: Cache) -> None:
        self._api = api
        self._cache = cache
        self._clock = 1_700_000_000_000
        self.sent: list[tuple[Prompt, tuple[int, ...], Usage]] = []
        self.says: Json = {}

    def now(self) -> int:
        return self._clock

    def answer(self, asked: Asked) -> Answer:
        self._clock += STEP
        prompt = prompt_of(asked.json)
        marks = tuple(sorted({prompt.orders[mark.order] for mark in read_marks(prompt.body)}))
        usage = self._cache.send(prompt, marks, self._clock)
        self.sent.append((prompt, marks, usage))
        return plain(json.dumps(self._reply(usage)).encode())

    def _reply(self, usage: Usage) -> Json:
        if self._api == "anthropic":
            calls = any(part["type"] == "tool_use" for part in self.says["content"])
            counts = {"cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write}
            told: Json = {"input_tokens": usage.input, "output_tokens": 9, **counts}
            stop = "tool_use" if calls else "end_turn"
            return {"type": "message", "content": self.says["content"], "stop_reason": stop, "usage": told}
        stop = "tool_calls" if self.says.get("tool_calls") else "stop"
        total = usage.input + usage.cache_read + usage.cache_write
        details = {"cached_tokens": usage.cache_read}
        told = {"prompt_tokens": total, "completion_tokens": 9, "prompt_tokens_details": details}
        return {"choices": [{"index": 0, "message": self.says, "finish_reason": stop}], "usage": told}


CACHES: dict[Api, Cache] = {
    "anthropic": MarkedCache(prices_for(Model("anthropic", "claude-sonnet-4-5", "anthropic-messages"))),
    "openai-chat": PrefixCache(prices_for(Model("openai", "gpt-5.1", "openai-completions")), 128),
}


@pytest.mark.parametrize("api", CACHES)
def test_what_stands_before_an_edit_is_read_and_not_written_again(api: Api) -> None:
    """In every later request: where the provider caches by itself all of it; else all that a mark of any request of the
    last five minutes had put into the cache, those of ours at the questions among them."""
    simulated = Simulated(api, CACHES[api])
    lists = conversation(api)
    with running(judge=LocalJudge(), config=Config(), now=simulated.now) as world:
        world.provider.script[:] = [simulated.answer]
        for messages, following in pairwise(lists):
            simulated.says = following[len(messages)]
            world.client.post(
                "/v1/messages" if api == "anthropic" else "/v1/chat/completions", json=body(api, messages)
            )
            world.settled()
    edited = 0
    cached: dict[int, int] = {}
    for number, ((before, marks, _), (prompt, _, usage)) in enumerate(pairwise(simulated.sent)):
        common = sum(1 for ours, theirs in zip(before.prefixes, prompt.prefixes, strict=False) if ours == theirs)
        edited += common < len(before.prefixes)
        if api == "anthropic":
            cached.update((before.prefixes[mark], number) for mark in marks)
            alive = (number - cached.get(prefix, -99) < FIVE_MINUTES for prefix in prompt.prefixes)
            assert prompt.tokens[max(at for at, is_alive in enumerate(alive) if is_alive)] <= usage.cache_read + 1
            assert question_of(before.body) in {mark.order for mark in read_marks(before.body)}
        else:
            assert prompt.tokens[common - 1] // 128 * 128 <= usage.cache_read + 1 or prompt.tokens[common - 1] < 1_024
    assert edited >= 2
    assert MARKER in json.dumps(simulated.sent[-1][0].body)


SECOND = {"type": "text", "text": "These are the rules. " * 300, **MARK}
TOOL = {"name": "run", "input_schema": {"type": "object"}, **MARK}


def with_marks(body: Json, in_tools: int, in_system: int, in_messages: int) -> Json:
    """As agents mark it: a tool, one or two blocks of the system prompt, the last message, the user's before it."""
    messages = list(body["messages"])
    earlier = [at for at, message in enumerate(messages[:-1]) if message["role"] == "user"]
    if in_messages == 2 and earlier:
        content = messages[earlier[-1]]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        messages[earlier[-1]] = {**messages[earlier[-1]], "content": [*parts[:-1], {**parts[-1], **MARK}]}
    tools = {"tools": [TOOL]} if in_tools else {}
    return {**body, **tools, "system": [*SYSTEM, SECOND][:in_system], "messages": messages}


AGENTS = {
    "one and one": (0, 1, 1, 0.07),
    "OpenCode's": (0, 1, 2, 0.05),
    "Claude Code's": (0, 2, 1, 0.07),
    "two and two": (0, 2, 2, 0.05),
    "Pi's": (1, 1, 1, 0.07),
    "Pi's behind a login": (1, 2, 1, 0.07),
}


@pytest.mark.parametrize(("in_tools", "in_system", "in_messages", "most"), AGENTS.values(), ids=AGENTS)
def test_how_far_the_bill_is_from_that_of_any_number_of_marks(
    in_tools: int, in_system: int, in_messages: int, most: float
) -> None:
    """The bound that no placing of four marks can pass: a cache that keeps every block."""
    prices = prices_for(Model("anthropic", "claude-sonnet-4-5", "anthropic-messages"))
    simulated = Simulated("anthropic", MarkedCache(prices))
    given: list[Json] = []
    with running(judge=LocalJudge(), config=Config(), now=simulated.now) as world:
        world.provider.script[:] = [simulated.answer]
        for messages, following in pairwise(conversation("anthropic")):
            simulated.says = following[len(messages)]
            given.append(with_marks(body("anthropic", messages), in_tools, in_system, in_messages))
            world.client.post("/v1/messages", json=given[-1])
            world.settled()
    for sent, (prompt, marks, _) in zip(given, simulated.sent, strict=True):
        assert len(marks) <= 4
        assert list(blocks({**sent, "messages": []})) == list(blocks({**prompt.body, "messages": []}))
    every, clock = PrefixCache(prices, 1), simulated.now()
    best = [every.send(prompt, (), clock) for prompt, *_ in simulated.sent]
    ours, bound = (
        sum(it.input + it.cache_write * prices.write + it.cache_read * prices.read for it in bills)
        for bills in ([usage for *_, usage in simulated.sent], best)
    )
    assert 0 <= ours / bound - 1 <= most
