"""`context-guard uninstall TARGET`: take out of an agent what `install` put there, and nothing else."""

import click

from context_guard_effects.cli import installing, options
from context_guard_effects.cli.installing import PROXY, TARGETS, Asked
from context_guard_effects.cli.nearest import NearestChoice


@click.command()
@click.argument("target", type=NearestChoice(tuple(TARGETS)))
@options.dry_run
@options.yes
def command(target: str, dry_run: bool, yes: bool) -> None:
    """Take the guard out of an agent.

    A file that has not changed since is as it was before, to the byte; from one that has, only the guard's own keys
    go. Sessions, their edits and the store stay.
    """
    installing.uninstall(target, Asked(dry_run, yes, PROXY))
