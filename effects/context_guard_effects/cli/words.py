"""`context-guard pin`, `unpin`, `restore`: the user's word about one output, put into the store's log."""

from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write

if TYPE_CHECKING:
    from context_guard_effects.store import Place


@click.command()
@options.stored
@options.store
def pin(id: str, store: "Place | None") -> None:
    """Have the model see the output ID in full, and keep every pass off it."""
    from context_guard_effects import word_log
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        write(f"{word_log.pin(opened, id)}\n")


@click.command()
@options.stored
@options.store
def unpin(id: str, store: "Place | None") -> None:
    """Take back a pin: passes may judge the output ID again."""
    from context_guard_effects import word_log
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        write(f"{word_log.unpin(opened, id)}\n")


@click.command()
@options.stored
@options.store
def restore(id: str, store: "Place | None") -> None:
    """Have the model see the original of the output or exchange ID again, where an edit hides it."""
    from context_guard_effects import word_log
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        write(f"{word_log.restore(opened, id)}\n")
