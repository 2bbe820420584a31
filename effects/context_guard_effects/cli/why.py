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
    from context_guard.log_lines import log_lines
    from context_guard_effects.cli.stores import day, reading, unknown
    from context_guard_effects.store import Expired

    with reading(store) as opened:
        lines = list(log_lines(opened.find([id]), id))
        raw = opened.raw(id)
        if isinstance(raw, Expired):
            lines.append(f"The original was deleted on {day(raw.at)}, with the edits that hid it.")
        elif raw is None and not lines:
            raise unknown(id, opened)
    write("".join(f"{line}\n" for line in lines) or f"No pass says anything about {id}.\n")
