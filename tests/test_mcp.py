"""The MCP server: what an agent can ask of the store, over the three transports, in the words of the shell commands."""

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import mcp_types as types
import pytest
import trio
from build import lines
from command_line import complaint, guard
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from context_guard.edit_log import LoggedPass, Pinned, RawImage, RawOutput, Replaced, Restored
from context_guard_effects.mcp_server import make_server
from context_guard_effects.store import open_store

ROOT = Path(__file__).resolve().parents[1]
LOG = lines(2_500)
PNG = "iVBORw0KGgo="


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with open_store(path) as store:
        images = (RawImage("image/png", PNG), RawImage("image/jpeg", "https://a.example/b.jpg", kind="url"))
        raws = (RawOutput(id="big", text=LOG, tool="bash"), RawOutput(id="shot", text="two pictures", images=images))
        edits = tuple(Replaced(id, ("[context-guard] short",)) for id in ("big", "shot"))
        store.keep(LoggedPass(witness="w", edits=edits, session="mine", time=1), raws)
    return path


async def ask(client: Client, tool: str, **arguments: object) -> types.CallToolResult:
    answer = await client.call_tool(tool, arguments)
    assert isinstance(answer, types.CallToolResult)
    return answer


def text(answer: types.CallToolResult) -> str:
    first = answer.content[0]
    assert isinstance(first, types.TextContent)
    return first.text


async def test_the_server_says_which_version_runs(store: Path) -> None:
    async with Client(make_server(store)) as client:
        assert client.server_info is not None
        assert ("context-guard", version("context-guard")) == (client.server_info.name, client.server_info.version)


async def test_recall_gives_pages_matches_and_pictures(store: Path) -> None:
    """The page is the text, and nothing wraps it: no structured content."""
    async with Client(make_server(store)) as client:
        first = await ask(client, "recall", entryId="big")
        assert text(first).startswith("\n".join(LOG.split("\n")[:100]))
        assert text(first).splitlines()[-1].startswith("[Showing lines 1–")
        assert (None, False) == (first.structured_content, first.is_error)
        assert text(await ask(client, "recall", entryId="big", pattern="2499|2500", limit=1)).startswith("2499: ")
        assert LOG.split("\n")[6] == text(await ask(client, "recall", entryId="big", offset=7, limit=1)).split("\n")[0]
        shot = (await ask(client, "recall", entryId="shot")).content
        assert types.ImageContent(type="image", data=PNG, mime_type="image/png") == shot[1]
        assert types.TextContent(type="text", text="[picture: https://a.example/b.jpg]") == shot[2]


async def test_words_about_an_output_are_those_of_the_shell(store: Path) -> None:
    """And they stand in the same log."""
    async with Client(make_server(store)) as client:
        assert text(await ask(client, "why", entryId="big")) == guard("why", "big", "--store", store).stdout.rstrip()
        assert text(await ask(client, "pin", entryId="big")).startswith("Pinned: the model sees the original of big")
        assert text(await ask(client, "restore", entryId="shot")).startswith("Restored: ")
        status = text(await ask(client, "status"))
    told = guard("store", "status", "--store", store).stdout + guard("store", "sessions", "--store", store).stdout
    assert told.rstrip() == status
    with open_store(store) as opened:
        assert Pinned("big") == opened.find(["big"])[-1].edits[0]
        assert Restored("shot") == opened.find(["shot"])[-1].edits[0]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("recall", {"entryId": "none"}, "Use the id from a"),
        ("pin", {"entryId": "none"}, "Use the id from a"),
        ("recall", {"id": "big"}, "Give the entryId of"),
        ("why", {"entryId": 7}, "Give entryId"),
        ("recall", {"entryId": "big", "pattern": "("}, "missing )"),
        ("forget", {}, "there are recall, status, why, pin, restore"),
    ],
)
async def test_what_is_wrong_with_a_call_is_an_answer(
    tool: str, arguments: dict[str, object], told: str, store: Path
) -> None:
    """For the model to read, and no failure of the protocol."""
    async with Client(make_server(store)) as client:
        answer = await ask(client, tool, **arguments)
    assert answer.is_error
    assert told in text(answer)


async def test_a_store_that_cannot_be_opened_is_told_at_each_call(tmp_path: Path) -> None:
    """The server goes on, and opens the store as soon as that can be done."""
    path = tmp_path / "store.db"
    path.write_bytes(b"no database, " * 100)
    async with Client(make_server(path)) as client:
        broken = await ask(client, "recall", entryId="big")
        assert broken.is_error
        assert str(path) in text(broken)
        path.unlink()
        assert text(await ask(client, "status")).startswith(str(path))


async def test_hosts_load_recall_at_once_and_know_what_only_reads(store: Path) -> None:
    """Claude Code hides tools behind a search unless they ask not to be."""
    async with Client(make_server(store)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert ["recall", "status", "why", "pin", "restore"] == list(tools)
    meta = tools["recall"].meta
    assert meta is not None
    assert (True, 100_000) == (meta["anthropic/alwaysLoad"], meta["anthropic/maxResultSizeChars"])
    hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
    assert {"recall": True, "status": True, "why": True, "pin": False, "restore": False} == hints


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in ("pipeline", "effects"))}


async def first_line(transport: object) -> str:
    with trio.fail_after(60):
        return await _first_line(transport)


async def _first_line(transport: object) -> str:
    async with Client(transport) as client:  # type: ignore[arg-type]  # an address or a transport
        return text(await ask(client, "recall", entryId="shot"))


def test_the_command_serves_stdio(store: Path) -> None:
    """Nothing but the protocol goes to stdout."""
    words = ["-m", "context_guard_effects.cli", "mcp", "--store", str(store)]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment())
    assert "two pictures" == trio.run(first_line, stdio_client(server))


def test_the_command_serves_http(store: Path) -> None:
    """On this machine alone; its address goes to stderr."""
    command = [sys.executable, "-m", "context_guard_effects.cli", "mcp", "--http", "127.0.0.1:0", "--store", str(store)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            url = process.stderr.readline().split()[3].rstrip(";")
            assert "two pictures" == trio.run(first_line, url)
        finally:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert ("", "", 0) == (out, err, process.returncode)


@pytest.mark.parametrize(
    ("address", "told"),
    [("0.0.0.0:1", "serves this machine alone"), ("8378", "takes HOST:PORT"), ("127.0.0.1:99999", "takes HOST:PORT")],
)
def test_other_machines_are_not_served(address: str, told: str) -> None:
    run = guard("mcp", "--http", address)
    assert 2 == run.exit_code
    assert told in complaint(run)


def test_without_the_sdk_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("context_guard_effects.mcp_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    run = guard("mcp")
    assert 2 == run.exit_code
    assert "pip install 'context-guard[mcp]'" in complaint(run)
