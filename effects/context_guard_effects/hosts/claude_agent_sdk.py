"""Claude Agent SDK: a session store that gives a resumed session its edits, and the recall tool as an MCP server.

    guard = ContextGuard(sessions, store=open_store())
    options = ClaudeAgentOptions(
        session_store=guard.sessions, mcp_servers={"guard": guard.server}, allowed_tools=[guard.tool, …], resume=…
    )
    async for message in query(prompt=…, options=options):
        if isinstance(message, ResultMessage):
            session_id = message.session_id
    await guard.settle(session_id)

The store that was given keeps the raw lines. Edits reach the model when the session is resumed, never within a living
client. Give the SDK's own helpers (forking, listing) the store itself, not `guard.sessions`. Trio and asyncio.
"""

from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import (
    McpSdkServerConfig,
    SessionKey,
    SessionStore,
    SessionStoreEntry,
    create_sdk_mcp_server,
    project_key_for_directory,
    tool,
)
from msgspec import structs

from context_guard.config import Config
from context_guard.edit_log import RawImage
from context_guard.formats.claude_code import seen_lines
from context_guard.text import RECALL
from context_guard_effects.hosts.claude_code_entries import CODEC
from context_guard_effects.judges.port import Judge
from context_guard_effects.kit import DEFAULTS, Guard
from context_guard_effects.moment import Moment
from context_guard_effects.settling import Settled
from context_guard_effects.store import Store

SERVER = "guard"
TOOL = f"mcp__{SERVER}__{RECALL}"
"""The recall tool's name as Claude Code shows it."""


class GuardedSessions:
    """The session store as it is, but for what a resumed session is loaded with."""

    def __init__(self, sessions: SessionStore, guard: Guard) -> None:
        self._sessions = sessions
        self._guard = guard

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        entries = await self._sessions.load(key)
        return None if entries is None else self._guard.project(entries)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the store's; what it lacks, this lacks."""
        return getattr(self._sessions, name)


class ContextGuard:
    def __init__(
        self,
        sessions: SessionStore,
        store: Store | None = None,
        judge: Judge | str | None = None,
        config: Config = DEFAULTS,
    ) -> None:
        """`sessions` keeps the raw sessions; the rest as for `Guard`."""
        # the lines of a session are a chain, out of which nothing may go
        if config.recall_with == DEFAULTS.recall_with:
            config = structs.replace(config, recall_with=TOOL)
        config = structs.replace(config, prune_exchanges=False)
        self.guard = Guard(store=store, judge=judge, config=config, provider=CODEC)
        self.sessions = cast(SessionStore, GuardedSessions(sessions, self.guard))
        self._raw = sessions

    @property
    def server(self) -> McpSdkServerConfig:
        """For `mcp_servers`, under the name `guard`. Always loaded: a deferred tool would have to be searched first."""
        recall = self.guard.recall_tool()
        made = tool(recall.name, recall.description, recall.parameters)(self._recall)
        return cast(McpSdkServerConfig, {**create_sdk_mcp_server(SERVER, "1.0.0", [made]), "alwaysLoad": True})

    @property
    def tool(self) -> str:
        """The tool's name in Claude Code, for `allowed_tools`."""
        return TOOL

    async def settle(self, session_id: str, directory: str | Path | None = None) -> Settled:
        """Judges the run that has ended. `directory` is the one that the session works in."""
        key: SessionKey = {"project_key": project_key_for_directory(directory), "session_id": session_id}
        entries = await self._raw.load(key)
        if entries is None:
            missing = f"the session store has no session {session_id} of {key['project_key']}."
            self.guard.refuse(missing)
            return Settled(problem=missing)
        return await self.guard.settle(entries, Moment(model=_model(entries), session=session_id))

    async def _recall(self, arguments: dict[str, Any]) -> dict[str, Any]:
        page = self.guard.recall_tool().page(arguments)
        content = [{"type": "text", "text": page.text}, *map(_picture, page.images)]
        return {"content": content, **({"is_error": True} if page.is_error else {})}


def _model(entries: list[SessionStoreEntry]) -> str | None:
    lines: list[Any] = list(entries)
    named = (lines[at]["message"].get("model") for at in reversed(seen_lines(lines)))
    name = next((name for name in named if isinstance(name, str)), None)
    return f"anthropic/{name}" if name else None


def _picture(image: RawImage) -> dict[str, str]:
    """MCP has no pictures by address: that one is told as text."""
    if image.kind == "url":
        return {"type": "text", "text": f"[picture: {image.data}]"}
    return {"type": "image", "data": image.data, "mimeType": image.media_type}
