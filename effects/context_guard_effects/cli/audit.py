"""`context-guard audit`: what a guard would have done in the sessions that are already on this disk."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import EXIT_CODES, INTERRUPTED, UNREADABLE, Stop
from context_guard_effects.cli.output import write, write_json

if TYPE_CHECKING:
    from context_guard.cost.audit import Terms
    from context_guard_effects.audit.summary import Summary
    from context_guard_effects.audit.units import Problem, Unit

DEFAULT_TOP = 10


def read_prices(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = []
    for value in values:
        name, equals, price = value.rpartition("=")
        try:
            dollars = float(price)
        except ValueError:
            dollars = -1.0
        if not equals or not name or not 0 <= dollars < 1e6:
            raise click.BadParameter(f"{value!r} is no price: give MODEL=DOLLARS, such as claude-sonnet-5-5=2.")
        found.append((name, dollars))
    return tuple(found)


@click.command(epilog=EXIT_CODES)
@click.argument("paths", type=options.PATH, nargs=-1, metavar="[PATH]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs, with every session.")
@click.option(
    "--top", type=click.IntRange(0), default=DEFAULT_TOP, show_default=True, help="Sessions shown; 0 for all."
)
@click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: one for each core]")
@click.option(
    "--price",
    "prices",
    metavar="MODEL=DOLLARS",
    multiple=True,
    callback=read_prices,
    help="For a million tokens of plain input, of models whose name holds MODEL. Repeatable.",
)
@options.config_file
@options.settings
def command(
    paths: tuple[Path, ...],
    as_json: bool,
    top: int,
    jobs: int | None,
    prices: tuple[tuple[str, float], ...],
    config_file: Path | None,
    settings: tuple[str, ...],
) -> None:
    """Say what a guard would have saved in the sessions of coding agents on this disk.

    PATH is a session or a folder with some. Without one: where Claude Code, Codex, Pi, OpenCode and Cline keep
    theirs. Each session is replayed with the embedded judge. Nothing is changed and nothing leaves the machine.
    """
    from context_guard.cost.audit import Terms
    from context_guard_effects.audit.pool import usable_cores
    from context_guard_effects.audit.summary import as_json_value
    from context_guard_effects.audit.units import usual_places
    from context_guard_effects.cli.audit_table import as_text, looked_in
    from context_guard_effects.cli.settings import read_settings

    terms = Terms(read_settings(config_file, settings), prices)
    units, problems = _find(paths)
    summary = _audited(units, problems, terms, jobs or usable_cores())
    if as_json:
        write_json(as_json_value(summary))
    else:
        write(as_text(summary, top))
        if not (paths or summary.sessions):
            write(f"{looked_in(usual_places(os.environ))}\n")
    if summary.is_interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    named = {str(path) for path in paths}
    if failed := [it for it in summary.problems if it.path in named]:
        raise Stop(f"{failed[0].path}: {failed[0].reason}", UNREADABLE)


def _find(paths: tuple[Path, ...]) -> "tuple[list[Unit], list[Problem]]":
    """The newest first: what people ask about, and the figures while the rest is still running."""
    from context_guard_effects.audit.units import Problem, find_units, known_places

    found = list(find_units(list(paths) or known_places(os.environ)))
    units = [it for it in found if not isinstance(it, Problem)]
    return sorted(units, key=lambda it: (-it.changed, it.path, it.session)), [
        it for it in found if isinstance(it, Problem)
    ]


def _audited(units: "list[Unit]", problems: "list[Problem]", terms: "Terms", jobs: int) -> "Summary":
    """All of them, or what was done when the user had enough."""
    from context_guard_effects.audit.pool import audit_all
    from context_guard_effects.audit.summary import Gathered
    from context_guard_effects.cli.audit_bar import audit_bar

    gathered = Gathered(problems)
    with audit_bar(units) as show, closing(audit_all(units, terms, jobs)) as outcomes:
        try:
            for outcome in outcomes:
                gathered.add(outcome)
                show(outcome, gathered)
        except KeyboardInterrupt:
            gathered.is_interrupted = True
    return gathered.summary()
