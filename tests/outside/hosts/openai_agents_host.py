"""OpenAI Agents SDK with its own scripted model and SQLite session."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from context_guard.formats.codec import Provider
from context_guard_effects.hosts.openai_agents import ContextGuard
from context_guard_effects.kit import Guard
from context_guard_effects.testing import Conversation, Recall, Say, Search, Turn, noted_id
from outside.hosts.processes import UNANSWERED, main

JsonObject = dict[str, Any]
SESSIONS = count(1)


class OpenAIAgents:
    provider: Provider = "openai-responses"

    def __init__(self, database: Path) -> None:
        self._database = database

    def open(self, guard: Guard) -> "Thread":
        return Thread(guard, self._database, f"session-{next(SESSIONS)}")

    def load(self, guard: Guard, saved: Any) -> Conversation:
        return Thread(guard, self._database, saved)


class Thread:
    """Between runs there is nothing but the session's database."""

    def __init__(self, guard: Guard, database: Path, session: str) -> None:
        self._guard = guard
        self._database = database
        self._session = session
        self._requests: list[list[JsonObject]] = []

    def run(self, prompt: str, turns: Sequence[Turn]) -> None:
        asyncio.run(self._run(prompt, turns))

    def requests(self) -> list[list[JsonObject]]:
        return self._requests

    def history(self) -> list[JsonObject]:
        items: list[Any] = asyncio.run(self._opened().get_items())
        return items

    def save(self) -> Any:
        """All else is in the database."""
        return self._session

    def reopen(self, guard: Guard) -> Conversation:
        return Thread(guard, self._database, self._session)

    def fork(self) -> Conversation:
        forked = Thread(self._guard, self._database, f"session-{next(SESSIONS)}")
        items: list[Any] = self.history()
        asyncio.run(forked._opened().add_items(items))
        return forked

    def _opened(self) -> SQLiteSession:
        return SQLiteSession(self._session, self._database)

    async def _run(self, prompt: str, turns: Sequence[Turn]) -> None:
        outputs = {turn.query: turn.output for turn in turns if isinstance(turn, Search)}

        @function_tool
        def search(q: str) -> str:
            """Searches."""
            return outputs[q]

        guard = ContextGuard(self._guard.store, self._guard.judge, self._guard.config)
        session = self._opened()
        stored: list[Any] = guard.guard.project(await session.get_items())
        recalled = {turn.call_id for turn in turns if isinstance(turn, Recall)}
        noted = noted_id(stored, "openai-responses") if recalled else ""
        model = ScriptedModel([[said(turn, noted)] for turn in turns])
        agent = Agent(name="agent", model=model, tools=[search, guard.tool])
        settings = RunConfig(call_model_input_filter=guard.filter)
        result = await Runner.run(agent, prompt, session=session, run_config=settings)
        await guard.settle(result, session)
        self._requests += [list(sent.input) for sent in model.calls]
        assert all(UNANSWERED in it for it in guard.guard.status().problems)


def said(turn: Turn, noted: str) -> Any:
    match turn:
        case Say(text=text):
            return assistant_message(text, item_id="msg_1")
        case Search(call_id=call_id, query=query):
            return function_call("search", {"q": query}, call_id=call_id, item_id=f"fc_{call_id}")
        case Recall(call_id=call_id):
            return function_call("recall", {"entryId": noted}, call_id=call_id, item_id=f"fc_{call_id}")


if __name__ == "__main__":
    set_tracing_disabled(True)
    main(OpenAIAgents(Path(sys.argv[1]).with_name("sessions.db")))
