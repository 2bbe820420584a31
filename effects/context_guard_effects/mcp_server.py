"""The store's way back as an MCP server: `recall` for the model, and what a user would ask or say about an output.

The same store and the same texts as the shell commands. Every error is an answer that the model reads; nothing here
writes to stdout, which belongs to the protocol.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types as types
import trio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from msgspec import Struct

from context_guard.edit_log import RawImage
from context_guard.recall import unknown
from context_guard.text import RECALL
from context_guard_effects import word_log
from context_guard_effects.mcp_name import NAME
from context_guard_effects.recall_tool import DESCRIPTION, PARAMETERS, JsonObject, Page, RecallTool
from context_guard_effects.store import LateStore, Place, Store, StoreError
from context_guard_effects.store_text import session_line, status_text
from context_guard_effects.version import installed_version
from context_guard_effects.word_log import UnknownOutput

LATEST = 5
"""Conversations that `status` lists."""

MOST_CHARS = 100_000
"""Of one answer: a page of recall is smaller in bytes, so that no host spills it into a file."""

_ID: JsonObject = {
    "type": "object",
    "properties": {"entryId": PARAMETERS["properties"]["entryId"]},
    "required": ["entryId"],
}
_NOTHING: JsonObject = {"type": "object", "properties": {}}


class _Tool(Struct, frozen=True):
    description: str
    parameters: JsonObject
    answer: Callable[[Store, JsonObject], Page]
    only_reads: bool = True


def _about(word: Callable[[Store, str], str], store: Store, arguments: JsonObject) -> Page:
    id = arguments.get("entryId")
    if not isinstance(id, str):
        return Page("Give entryId: the id of a [context-guard] note.", is_error=True)
    try:
        return Page(word(store, id))
    except UnknownOutput:
        return Page(unknown(id).message, is_error=True)


def _recall(store: Store, arguments: JsonObject) -> Page:
    return RecallTool(store, "mcp").page(arguments)


def _status(store: Store, _: JsonObject) -> Page:
    return Page("".join([status_text(store.status()), *map(session_line, store.sessions()[:LATEST])]).rstrip("\n"))


TOOLS = {
    RECALL: _Tool(DESCRIPTION, PARAMETERS, _recall),
    "status": _Tool("What the store of originals holds, and the latest conversations.", _NOTHING, _status),
    "why": _Tool("Why an output was shortened or kept, pass by pass.", _ID, partial(_about, word_log.why)),
    "pin": _Tool(
        "Shows an output in full from the next request on, and keeps it so. For what the user wants to stay.",
        _ID,
        partial(_about, word_log.pin),
        only_reads=False,
    ),
    "restore": _Tool(
        "Shows an output in full from the next request on, until a later pass judges it anew.",
        _ID,
        partial(_about, word_log.restore),
        only_reads=False,
    ),
}


def make_server(place: Place | None = None) -> Server[Any]:
    """A server of the store at the place, by default the user's own."""
    opened = LateStore(place)

    async def list_tools(_: ServerRequestContext[Any], __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_defined(name, tool) for name, tool in TOOLS.items()])

    async def call_tool(_: ServerRequestContext[Any], asked: types.CallToolRequestParams) -> types.CallToolResult:
        page = await trio.to_thread.run_sync(_answer, opened, asked.name, asked.arguments or {})
        text = types.TextContent(type="text", text=page.text)
        return types.CallToolResult(content=[text, *map(_picture, page.images)], is_error=page.is_error)

    return Server(NAME, version=installed_version(), on_list_tools=list_tools, on_call_tool=call_tool)


def _answer(opened: LateStore, name: str, arguments: JsonObject) -> Page:
    """Blocks on the store."""
    tool = TOOLS.get(name)
    if tool is None:
        return Page(f"There is no tool {name}; there are {', '.join(TOOLS)}.", is_error=True)
    try:
        return tool.answer(opened.get(), arguments)
    except StoreError as error:
        return Page(error.message, is_error=True)


def _defined(name: str, tool: _Tool) -> types.Tool:
    """Claude Code defers the tools of a server behind a search unless they ask to be loaded at once: only recall, which
    the notes name, is worth its place in every request."""
    meta: JsonObject = {"anthropic/maxResultSizeChars": MOST_CHARS}
    if name == RECALL:
        meta["anthropic/alwaysLoad"] = True
    return types.Tool(
        name=name,
        description=tool.description,
        input_schema=tool.parameters,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        _meta=meta,
    )


def _picture(image: RawImage) -> types.TextContent | types.ImageContent:
    """MCP has no pictures by address: that one is told as text."""
    if image.kind == "url":
        return types.TextContent(type="text", text=f"[picture: {image.data}]")
    return types.ImageContent(type="image", data=image.data, mime_type=image.media_type)
