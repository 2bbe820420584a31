"""`context-guard uninstall TARGET`: take out of an agent what `install` put there, and nothing else."""

import click

from context_guard_effects.cli.installing import TARGETS, choose_target


@click.command()
@click.argument("target", type=click.Choice(tuple(TARGETS)))
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def command(target: str, dry_run: bool) -> None:
    """Take the guard out of an agent. Sessions, their edits and the settings file stay as they are."""
    choose_target(target).uninstall(dry_run)
