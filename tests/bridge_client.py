"""The extension's side of the pipe, for tests: messages in, replies and news out, no process and no Pi."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from context_guard_effects.pi_bridge.server import Bridge

Json = dict[str, Any]
NOW = 1_796_100_000_000


class Client:
    def __init__(self, lines: trio.MemorySendChannel[bytes]) -> None:
        self.news: list[Json] = []
        self._lines = lines
        self._replies: dict[int | None, Json] = {}
        self._arrived = trio.Event()
        self._next = 0

    def write(self, line: bytes) -> None:
        """What the bridge sends."""
        assert line.endswith(b"\n")
        assert line.isascii()
        message = json.loads(line)
        if "event" in message:
            self.news.append(message)
        else:
            self._replies[message["id"]] = message
        self._arrived.set()
        self._arrived = trio.Event()

    async def send(self, line: bytes) -> None:
        await self._lines.send(line)

    async def start(self, type: str, **fields: Any) -> int:
        """Sends a message and gives its number."""
        self._next += 1
        await self.send(json.dumps({"id": self._next, "type": type, **fields}).encode() + b"\n")
        return self._next

    async def reply(self, number: int | None) -> Json:
        while number not in self._replies:
            await self._arrived.wait()
        return self._replies[number]

    async def call(self, type: str, **fields: Any) -> Json:
        return await self.reply(await self.start(type, **fields))


@asynccontextmanager
async def bridge(environment: Mapping[str, str], now: int = NOW) -> AsyncIterator[Client]:
    """A bridge that serves as long as the block runs; then its input ends, and it has to."""
    sending, receiving = trio.open_memory_channel[bytes](100)
    client = Client(sending)

    async def read_line() -> bytes:
        try:
            return await receiving.receive()
        except trio.EndOfChannel:
            return b""

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Bridge(client.write, environment, lambda: now).serve, read_line)
        yield client
        await sending.aclose()


def agent_environment(folder: Path, **settings: Any) -> dict[str, str]:
    """Of a Pi whose folder is this, with these settings."""
    if settings:
        (folder / "context-guard.json").write_text(json.dumps(settings))
    return {"PI_CODING_AGENT_DIR": str(folder)}
