"""`context-guard why`: what the store's log says about one output."""

from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write

if TYPE_CHECKING:
    from context_guard_effects.store import Place


@click.command()
@options.stored
@options.store
def command(id: str, store: "Place | None") -> None:
    """Say why the output ID was kept or dropped, pass by pass, and what the user said about it."""
    from context_guard.text import shell_word
    from context_guard_effects import word_log
    from context_guard_effects.cli.stores import reading

    instead = f" Of an output in a session file: context-guard explain SESSION {shell_word(id)}."
    with reading(store, instead) as opened:
        write(f"{word_log.why(opened, id)}\n")
