"""`context-guard install TARGET`: put the guard into an agent; `uninstall` is its counterpart."""

import re

import click

from context_guard_effects.cli import installing, options
from context_guard_effects.cli.installing import PROXY, TARGETS, Asked
from context_guard_effects.cli.nearest import NearestChoice


def read_proxy(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not re.fullmatch(r"https?://[^/\s?#@]+", value.rstrip("/")):
        raise click.BadParameter(f"{value!r} is not http://HOST:PORT.", ctx, param)
    return value.rstrip("/")


@click.command(epilog="\b\nTargets:\n" + "\n".join(f"  {name:12} {target.told}" for name, target in TARGETS.items()))
@click.argument("target", type=NearestChoice(tuple(TARGETS)))
@options.dry_run
@options.yes
@click.option(
    "--proxy",
    default=PROXY,
    show_default=True,
    metavar="URL",
    callback=read_proxy,
    help="Where the proxy listens. Not for Pi, whose extension needs none.",
)
@click.option(
    "--provider",
    "providers",
    multiple=True,
    type=NearestChoice(("anthropic", "openai")),
    help="OpenCode: a provider that goes through the proxy. Repeatable. [default: those that its file names]",
)
def command(target: str, dry_run: bool, yes: bool, proxy: str, providers: tuple[str, ...]) -> None:
    """Put the guard into an agent, so that its next prompt is guarded.

    Shows what would be written and asks first. Run again, it brings the files up to date. No key is read or written.
    """
    installing.install(target, Asked(dry_run, yes, proxy, providers))
