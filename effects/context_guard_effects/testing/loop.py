"""A hand-written loop as a host for `assert_guard_invariants`: the smallest one there is, and a pattern for others."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from msgspec import Struct

from context_guard.formats.codec import Provider
from context_guard_effects.kit import Guard
from context_guard_effects.testing.conversation import answer, call, messages, prompt, result
from context_guard_effects.testing.hosts import SEARCH, Conversation, Recall, Say, Search, Turn, noted_id

JsonObject = dict[str, Any]


class LoopHost(Struct, frozen=True):
    provider: Provider

    def open(self, guard: Guard) -> Conversation:
        return Loop(self.provider, guard, [])


class Loop:
    """Keeps the raw list, sends what the guard makes of it."""

    def __init__(self, provider: Provider, guard: Guard, stored: list[JsonObject]) -> None:
        self._provider = provider
        self._guard = guard
        self._messages = stored
        self._requests: list[list[JsonObject]] = []

    def run(self, prompt_text: str, turns: Sequence[Turn]) -> None:
        self._messages += messages(self._provider, prompt(prompt_text))
        for turn in turns:
            request = deepcopy(self._guard.project(self._messages))
            self._requests.append(request)
            self._messages += self._turn(turn, request)
        self._guard.settle_sync(self._messages)

    def requests(self) -> list[list[JsonObject]]:
        return self._requests

    def history(self) -> list[JsonObject]:
        return deepcopy(self._messages)

    def reopen(self, guard: Guard) -> Conversation:
        return Loop(self._provider, guard, json.loads(json.dumps(self._messages)))

    def fork(self) -> Conversation:
        return Loop(self._provider, self._guard, deepcopy(self._messages))

    def _turn(self, turn: Turn, request: list[JsonObject]) -> list[JsonObject]:
        match turn:
            case Say(text=text):
                return messages(self._provider, answer(text))
            case Search(output=output, call_id=call_id, query=query):
                return messages(self._provider, call(SEARCH, {"q": query}, id=call_id), result(output))
            case Recall(call_id=call_id):
                tool = self._guard.recall_tool()
                arguments = {"entryId": noted_id(request, self._provider)}
                asked = messages(self._provider, call(tool.name, arguments, id=call_id), result(""))[:1]
                given = tool.result(call_id, arguments)
                return asked + ([{"role": "user", "content": given}] if self._provider == "anthropic" else given)
