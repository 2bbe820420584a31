"""`context-guard why`: what the store's log says about one output."""

from pathlib import Path

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write


@click.command()
@options.stored
@options.store
def command(id: str, store: Path | None) -> None:
    """Say why the output ID was kept or dropped, pass by pass, and what the user said about it."""
    from context_guard_effects import word_log
    from context_guard_effects.cli.stores import reading

    with reading(store) as opened:
        write(f"{word_log.why(opened, id)}\n")
