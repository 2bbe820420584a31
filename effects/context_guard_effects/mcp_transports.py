"""The MCP server on Trio: over stdin and stdout, or over HTTP for clients of this machine."""

import logging
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import trio
from mcp.server.stdio import stdio_server

from context_guard_effects.mcp_server import make_server
from context_guard_effects.store import Place


def serve_stdio(store: Place | None) -> None:
    """Until stdin ends."""
    trio.run(_stdio, store)


def serve_http(store: Place | None, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Until it is told to end. Port 0 takes a free one; `ready` is told the address. The SDK refuses requests that
    name another host or origin than this machine."""
    trio.run(_http, store, host, port, ready)


async def _stdio(store: Place | None) -> None:
    server = make_server(store)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _http(store: Place | None, host: str, port: int, ready: Callable[[str], None]) -> None:
    from hypercorn.config import Config
    from hypercorn.trio import serve

    config = Config()
    config.bind = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"]
    config.errorlog = logging.getLogger("hypercorn.error")
    config.include_server_header = False
    app: Any = make_server(store).streamable_http_app(host=host)  # Starlette's ASGI types are not hypercorn's
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            binds = await nursery.start(partial(serve, app, config))
            ready(f"{binds[0]}/mcp")
            async for _ in signals:
                break
            nursery.cancel_scope.cancel()
