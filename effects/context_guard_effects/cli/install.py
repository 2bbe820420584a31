"""`context-guard install TARGET`: put the guard into an agent; `uninstall` is its counterpart."""

import click

from context_guard_effects.cli.installing import TARGETS, choose_target


@click.command(epilog="\b\nTargets:\n" + "\n".join(f"  {name}  {target.told}" for name, target in TARGETS.items()))
@click.argument("target", type=click.Choice(tuple(TARGETS)))
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
def command(target: str, dry_run: bool) -> None:
    """Put the guard into an agent, so that its next prompt is guarded.

    Every file that is written is named. Run again, it brings the files up to date.
    """
    choose_target(target).install(dry_run)
