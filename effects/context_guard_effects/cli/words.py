"""`context-guard pin`, `unpin`, `restore`: the user's word about one output, put into the store's log."""

from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write

if TYPE_CHECKING:
    from context_guard_effects.store import Place

HELP = {
    "pin": "Have the model see the output ID in full, and keep every pass off it.",
    "unpin": "Take back a pin: passes may judge the output ID again.",
    "restore": "Have the model see the original of the output or exchange ID again, where an edit hides it.",
}


def command(word: str) -> click.Command:
    """`word` is a key of HELP, and the function of `word_log` that it names."""

    @click.command(word, help=HELP[word])
    @options.stored
    @options.store
    def say(id: str, store: "Place | None") -> None:
        from context_guard_effects import word_log
        from context_guard_effects.cli.stores import writing

        with writing(store) as opened:
            write(f"{getattr(word_log, word)(opened, id)}\n")

    return say
