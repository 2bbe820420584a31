"""`context-guard proxy`: guards any agent that honours a base URL."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNREADABLE, Stop, missing

if TYPE_CHECKING:
    from context_guard_effects.store import Place

LISTEN = "127.0.0.1:8484"
UPSTREAMS = ("anthropic=https://api.anthropic.com", "openai=https://api.openai.com")
TOKEN = "CONTEXT_GUARD_PROXY_TOKEN"


@click.command()
@click.option("--listen", default=LISTEN, show_default=True, metavar="HOST:PORT", help="Port 0 takes a free one.")
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="NAME=URL",
    help="A provider. Requests to /NAME/… go to URL/…; with a single one /NAME may be left out. Repeatable. "
    f"[default: {' and '.join(UPSTREAMS)}]",
)
@options.store
@options.judge
@options.config_file
@options.settings
@click.option(
    "--token",
    envvar=TOKEN,
    metavar="TOKEN",
    help=f"What every request has to bring in x-context-guard-token; better in ${TOKEN}. Needed to listen on any "
    "address but this machine's own.",
)
@click.option(
    "--max-body",
    type=click.IntRange(1, 1_000),
    default=64,
    show_default=True,
    metavar="MB",
    help="Largest request with a message list.",
)
@click.option("--http2", is_flag=True, help="Speak HTTP/2 with upstreams that offer it.")
@click.option("--quiet", is_flag=True, help="Log warnings only.")
def command(
    listen: str,
    upstreams: tuple[str, ...],
    store: "Place | None",
    judge: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    token: str | None,
    max_body: int,
    http2: bool,
    quiet: bool,
) -> None:
    """Stand between an agent and its provider, and guard what the agent sends.

    Point the agent's base URL at it. Requests carry the edits that hold; a run that ended is judged in the background,
    and its edits hold from a later request on. Prints its address when it listens, then logs to stderr.
    """
    from context_guard_effects.proxy import missing_packages

    if packages := missing_packages():
        raise missing(" and ".join(packages), "proxy")
    from context_guard_effects.cli.judging import choose_judge
    from context_guard_effects.cli.settings import read_settings
    from context_guard_effects.proxy.app import Settings
    from context_guard_effects.proxy.checks import Access
    from context_guard_effects.proxy.command import Start, run
    from context_guard_effects.proxy.upstream import read_upstream
    from context_guard_effects.store import StoreError, default_place, open_store

    config = read_settings(config_file, settings)
    choose_judge(judge, config)  # says now what is wrong with it; who judges makes its own
    try:
        named = tuple(map(read_upstream, upstreams or UPSTREAMS))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if len({upstream.name for upstream in named}) < len(named):
        raise click.UsageError("Two upstreams have the same name.")
    host, port = _address(listen)
    token = _token(token, host)
    place = store or default_place()
    try:
        open_store(place).close()
    except StoreError as error:
        raise Stop(error.message, UNREADABLE) from error
    run(
        Start(
            host=host,
            port=port,
            store=place,
            judge=judge or config.model,
            settings=Settings(named, config, Access(token), max_body * 1_000_000),
            http2=http2,
            level="warning" if quiet else "info",
        )
    )


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise click.UsageError(f"--listen {listen!r} is not HOST:PORT, as in {LISTEN}.")
    return host, int(port)


def _token(token: str | None, host: str) -> str:
    from context_guard_effects.proxy.checks import is_loopback

    token = (token or "").strip()
    if token and not (token.isascii() and token.isprintable()):
        raise click.UsageError("The token holds a character that no header has.")
    if not token and not is_loopback(host):
        raise click.UsageError(f"{host} can be reached from other machines: give a --token, or listen on {LISTEN}.")
    return token
