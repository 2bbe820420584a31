"""pydantic-ai with its own function model."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from context_guard.formats.codec import Provider
from context_guard_effects.hosts.pydantic_ai import ContextGuard
from context_guard_effects.kit import Guard
from context_guard_effects.testing import Conversation, Recall, Say, Search, Turn, noted_id
from outside.hosts.processes import UNANSWERED, main

JsonObject = dict[str, Any]


class PydanticAI:
    provider: Provider = "openai-chat"

    def open(self, guard: Guard) -> "Session":
        return Session(guard, b"[]")

    def load(self, guard: Guard, saved: Any) -> Conversation:
        return Session(guard, json.dumps(saved).encode())


class Session:
    """Between runs there is nothing but the history as JSON."""

    def __init__(self, guard: Guard, stored: bytes) -> None:
        self._guard = guard
        self._stored = stored
        self._requests: list[list[JsonObject]] = []

    def run(self, prompt: str, turns: Sequence[Turn]) -> None:
        waiting = list(turns)
        outputs = {turn.query: turn.output for turn in turns if isinstance(turn, Search)}

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            assert {tool.name for tool in info.function_tools} == {"search", "recall"}
            request = as_chat(messages)
            self._requests.append(request)
            return ModelResponse(parts=[said(waiting.pop(0), request)])

        capability: ContextGuard[None] = ContextGuard(self._guard.store, self._guard.judge, self._guard.config)
        agent = Agent(FunctionModel(model), capabilities=[capability])

        @agent.tool_plain
        def search(q: str) -> str:
            return outputs[q]

        history = ModelMessagesTypeAdapter.validate_json(self._stored)
        done = asyncio.run(agent.run(prompt, message_history=history))
        self._stored = done.all_messages_json()
        assert all(UNANSWERED in it for it in capability.guard.status().problems)

    def requests(self) -> list[list[JsonObject]]:
        return self._requests

    def history(self) -> list[JsonObject]:
        return as_chat(ModelMessagesTypeAdapter.validate_json(self._stored))

    def save(self) -> Any:
        return json.loads(self._stored)

    def reopen(self, guard: Guard) -> Conversation:
        return Session(guard, self._stored)

    def fork(self) -> Conversation:
        return Session(self._guard, self._stored)


def said(turn: Turn, request: list[JsonObject]) -> TextPart | ToolCallPart:
    match turn:
        case Say(text=text):
            return TextPart(text)
        case Search(call_id=call_id, query=query):
            return ToolCallPart("search", {"q": query}, tool_call_id=call_id)
        case Recall(call_id=call_id):
            return ToolCallPart("recall", {"entryId": noted_id(request, "openai-chat")}, tool_call_id=call_id)


def as_chat(messages: Sequence[ModelMessage]) -> list[JsonObject]:
    """As a provider would be sent them."""
    return [sent for message in messages for part in message.parts for sent in _sent(message, part)]


def _sent(message: ModelMessage, part: Any) -> list[JsonObject]:
    match part:
        case UserPromptPart(content=str(content)):
            return [{"role": "user", "content": content}]
        case ToolReturnPart():
            return [{"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}]
        case TextPart():
            return [{"role": "assistant", "content": part.content}]
        case ToolCallPart():
            function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
            call = {"id": part.tool_call_id, "type": "function", "function": function}
            return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    raise AssertionError(f"{type(part)} in {type(message) is ModelRequest}")


if __name__ == "__main__":
    main(PydanticAI())
