"""LangChain with a scripted chat model and a checkpointer, sync or async."""

import asyncio
import os
from collections.abc import Sequence
from itertools import count
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    convert_to_openai_messages,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from context_guard.formats.codec import Provider
from context_guard_effects.hosts.langchain import ContextGuard
from context_guard_effects.kit import Guard
from context_guard_effects.testing import Conversation, Recall, Say, Search, Turn, noted_id
from outside.hosts.processes import UNANSWERED, main

JsonObject = dict[str, Any]
THREADS = count(1)


class LangChain:
    provider: Provider = "openai-chat"

    def __init__(self, is_async: bool) -> None:
        self._is_async = is_async

    def open(self, guard: Guard) -> "Thread":
        return Thread(guard, self._is_async, InMemorySaver(), f"thread-{next(THREADS)}")

    def load(self, guard: Guard, saved: Any) -> Conversation:
        return self.open(guard).filled(messages_from_dict(saved))


class Scripted(BaseChatModel):
    turns: list[Any]
    requests: list[Any]
    names: set[str] = Field(default_factory=set)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        self.names.update(tool.name for tool in tools)
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        assert self.names == {"search", "recall"}
        request = as_chat(messages)
        self.requests.append(request)
        return ChatResult(generations=[ChatGeneration(message=said(self.turns.pop(0), request))])


class Thread:
    """Between runs there is nothing but the checkpointer."""

    def __init__(self, guard: Guard, is_async: bool, saver: InMemorySaver, thread: str) -> None:
        self._guard = guard
        self._is_async = is_async
        self._saver = saver
        self._config: Any = {"configurable": {"thread_id": thread}}
        self._requests: list[list[JsonObject]] = []

    def run(self, prompt: str, turns: Sequence[Turn]) -> None:
        middleware = ContextGuard(self._guard.store, self._guard.judge, self._guard.config)
        agent = self._agent(middleware, list(turns))
        sent: Any = {"messages": [HumanMessage(prompt)]}
        if self._is_async:
            asyncio.run(agent.ainvoke(sent, self._config))
        else:
            agent.invoke(sent, self._config)
        assert all(UNANSWERED in it for it in middleware.guard.status().problems)

    def requests(self) -> list[list[JsonObject]]:
        return self._requests

    def history(self) -> list[JsonObject]:
        return as_chat(self._stored())

    def save(self) -> Any:
        return messages_to_dict(self._stored())

    def reopen(self, guard: Guard) -> Conversation:
        return Thread(guard, self._is_async, self._saver, self._config["configurable"]["thread_id"])

    def fork(self) -> Conversation:
        """Another thread, with the state of this one."""
        return Thread(self._guard, self._is_async, self._saver, f"thread-{next(THREADS)}").filled(self._stored())

    def filled(self, messages: list[BaseMessage]) -> "Thread":
        self._agent(ContextGuard(), []).update_state(self._config, {"messages": messages}, as_node="model")
        return self

    def _stored(self) -> list[Any]:
        messages: list[Any] = self._agent(ContextGuard(), []).get_state(self._config).values["messages"]
        return messages

    def _agent(self, middleware: ContextGuard, turns: list[Turn]) -> Any:
        outputs = {turn.query: turn.output for turn in turns if isinstance(turn, Search)}

        @tool
        def search(q: str) -> str:
            """Searches."""
            return outputs[q]

        model = Scripted(turns=turns, requests=self._requests)
        model.requests = self._requests  # pydantic copies what it is given
        model.turns = turns
        return create_agent(model, [search], middleware=[middleware], checkpointer=self._saver)


def said(turn: Turn, request: list[JsonObject]) -> AIMessage:
    match turn:
        case Say(text=text):
            return AIMessage(text)
        case Search(call_id=call_id, query=query):
            return AIMessage("", tool_calls=[{"id": call_id, "name": "search", "args": {"q": query}}])
        case Recall(call_id=call_id):
            arguments = {"entryId": noted_id(request, "openai-chat")}
            return AIMessage("", tool_calls=[{"id": call_id, "name": "recall", "args": arguments}])


def as_chat(messages: Sequence[BaseMessage]) -> list[JsonObject]:
    return list(convert_to_openai_messages(messages))


if __name__ == "__main__":
    main(LangChain(is_async="LANGCHAIN_SYNC" not in os.environ))
