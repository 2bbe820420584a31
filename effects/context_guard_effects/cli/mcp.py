"""`context-guard mcp`: recall for agents that speak MCP, on stdio or over HTTP on this machine."""

from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNWRITABLE, Stop, missing
from context_guard_effects.cli.output import warn

if TYPE_CHECKING:
    from context_guard_effects.store import Place

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command()
@click.option("--http", "address", metavar="HOST:PORT", help="Serve http://HOST:PORT/mcp, on loopback only.")
@options.store
def command(address: str | None, store: "Place | None") -> None:
    """Serve the store to an agent over MCP: recall, status, why, pin and restore.

    On stdin and stdout until stdin ends: the agent starts it (see `install`). In Claude Code its tool is called
    mcp__context-guard__recall, in OpenCode context-guard_recall.
    """
    host, port = _split(address) if address is not None else ("", 0)
    try:
        from context_guard_effects.mcp_transports import serve_http, serve_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "hypercorn"):
            raise
        raise missing(error.name or "mcp", "mcp") from error
    try:
        if address is None:
            serve_stdio(store)
        else:
            serve_http(store, host, port, lambda url: warn(f"MCP at {url}; end it with Ctrl+C"))
    except* OSError as group:
        first = _first(group)
        said = (first.strerror or str(first)).lower()
        raise Stop(f"cannot serve {address or 'stdio'}: {said}", UNWRITABLE) from first


def _split(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise click.UsageError(f"--http takes HOST:PORT, as 127.0.0.1:8378, not {address!r}.")
    if host.strip("[]") not in LOOPBACK:
        raise click.UsageError(f"--http serves this machine alone: give 127.0.0.1:{port}.")
    return host.strip("[]"), int(port)


def _first(group: BaseExceptionGroup[OSError]) -> OSError:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
