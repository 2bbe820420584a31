"""What was probably meant by a word that names nothing: a command, a stage, a setting, an entry."""

from collections.abc import Iterable
from typing import Any

import click

MOST_ALIKE = 0.6
"""Share of two words that has to agree; below it a guess is more often wrong than right."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the one that was meant, with a space in front; empty when none is close. Case does not count."""
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in known}
    begun = [name for name in lowered if len(word) > 2 and name.startswith(word.lower())]
    found = begun if len(begun) == 1 else get_close_matches(word.lower(), lowered, n=1, cutoff=MOST_ALIKE)
    return f" Did you mean {lowered[found[0]]}?" if found else ""


class NearestGroup(click.Group):
    """Commands; an unknown one is told with the one that was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            hint = nearest(args[0], known) or f" The commands are {', '.join(known)}."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


class NearestChoice(click.Choice[str]):
    """One of some words; another one is told with the one that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = tuple(map(str, self.choices))
        if value not in known:
            hint = nearest(str(value), known)
            raise click.BadParameter(f"{str(value)!r} is not one of {', '.join(known)}.{hint}", ctx, param)
        return str(super().convert(value, param, ctx))
