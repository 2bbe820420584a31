"""Claude Agent SDK with the Claude Code that it carries, against a scripted model on loopback."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio
from claude_agent_sdk import (
    ClaudeAgentOptions,
    InMemorySessionStore,
    ResultMessage,
    create_sdk_mcp_server,
    fork_session_via_store,
    project_key_for_directory,
    query,
    tool,
)

from context_guard.formats.claude_code import seen_lines
from context_guard.formats.codec import Provider
from context_guard_effects.hosts.claude_agent_sdk import ContextGuard
from context_guard_effects.kit import Guard
from context_guard_effects.testing import Conversation, Recall, Say, Search, Turn, noted_id
from outside import scripted_provider as scripted
from outside.hosts.processes import UNANSWERED, main

JsonObject = dict[str, Any]
MODEL = "claude-sonnet-5-5"


class ClaudeAgent:
    provider: Provider = "anthropic"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, guard: Guard) -> "Session":
        return Session(guard, self._folder, InMemorySessionStore(), None)

    def load(self, guard: Guard, saved: Any) -> Conversation:
        sessions = InMemorySessionStore()
        trio.run(sessions.append, saved["key"], saved["lines"])
        return Session(guard, self._folder, sessions, saved["key"]["session_id"])


class Session:
    """Between runs there is nothing but the session store: each run is a Claude Code of its own."""

    def __init__(self, guard: Guard, folder: Path, sessions: InMemorySessionStore, session_id: str | None) -> None:
        self._guard = guard
        self._folder = folder
        self._sessions = sessions
        self._session_id = session_id
        self._requests: list[list[JsonObject]] = []

    def run(self, prompt: str, turns: Sequence[Turn]) -> None:
        with scripted.ScriptedProvider([said(turn) for turn in turns]) as provider:
            trio.run(self._run, prompt, list(turns), provider.url)
            self._requests += [request.messages for request in provider.requests]
            assert provider.turns_left == 0

    def requests(self) -> list[list[JsonObject]]:
        return self._requests

    def history(self) -> list[JsonObject]:
        lines = self.save()["lines"]
        return [lines[at]["message"] for at in seen_lines(lines)]

    def save(self) -> Any:
        key: Any = {"project_key": project_key_for_directory(self._folder), "session_id": self._session_id}
        return {"key": key, "lines": trio.run(self._sessions.load, key)}

    def reopen(self, guard: Guard) -> Conversation:
        return Session(guard, self._folder, self._sessions, self._session_id)

    def fork(self) -> Conversation:
        assert self._session_id is not None
        work = partial(fork_session_via_store, self._sessions, self._session_id, str(self._folder))
        return Session(self._guard, self._folder, self._sessions, trio.run(work).session_id)

    async def _run(self, prompt: str, turns: list[Turn], url: str) -> None:
        outputs = {turn.query: turn.output for turn in turns if isinstance(turn, Search)}

        @tool("search", "Searches.", {"q": str})
        async def search(args: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": outputs[args["q"]]}]}

        guard = ContextGuard(self._sessions, self._guard.store, self._guard.judge, self._guard.config)
        tools = {**create_sdk_mcp_server("tools", "1.0.0", [search]), "alwaysLoad": True}
        options = ClaudeAgentOptions(
            model=MODEL,
            cwd=self._folder,
            env=environment(self._folder, url),
            setting_sources=[],
            mcp_servers={"guard": guard.server, "tools": tools},  # type: ignore[dict-item]  # alwaysLoad is not typed
            allowed_tools=[guard.tool, "mcp__tools__search"],
            session_store=guard.sessions,
            resume=self._session_id,
        )
        async for message in query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage):
                assert not message.is_error, message.result
                self._session_id = message.session_id
        assert self._session_id is not None
        await guard.settle(self._session_id, self._folder)
        assert all(UNANSWERED in it for it in guard.guard.status().problems)


def environment(folder: Path, url: str) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "PATH": os.defpath,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "no-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def said(turn: Turn) -> scripted.Script:
    match turn:
        case Say(text=text):
            return scripted.Turn(text)
        case Search(call_id=call_id, query=query_):
            return scripted.Turn(calls=[scripted.Call("mcp__tools__search", {"q": query_}, call_id)])
        case Recall(call_id=call_id):
            return partial(_recalls, call_id)


def _recalls(call_id: str, request: scripted.Request) -> scripted.Turn:
    arguments = {"entryId": noted_id(request.messages, "anthropic")}
    return scripted.Turn(calls=[scripted.Call("mcp__guard__recall", arguments, call_id)])


if __name__ == "__main__":
    home = Path(sys.argv[1]).resolve().with_name("home")
    home.mkdir(exist_ok=True)
    main(ClaudeAgent(home))
