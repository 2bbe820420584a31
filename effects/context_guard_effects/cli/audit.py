"""`context-guard audit`: what a guard would have done in the sessions that are already on this disk."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import EXIT_CODES, INTERRUPTED, UNREADABLE, Stop
from context_guard_effects.cli.output import warn, write, write_json

if TYPE_CHECKING:
    from context_guard.cost.audit import Terms
    from context_guard_effects.audit.summary import Summary
    from context_guard_effects.audit.units import Problem, Unit
    from context_guard_effects.fleet.engine import Engine

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
@click.argument("paths", type=options.place, nargs=-1, metavar="[PATH]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs, with every session.")
@click.option(
    "--top", type=click.IntRange(0), default=DEFAULT_TOP, show_default=True, help="Sessions shown; 0 for all."
)
@options.jobs
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
@options.spread
def command(
    paths: tuple[str, ...],
    as_json: bool,
    top: int,
    jobs: int | None,
    prices: tuple[tuple[str, float], ...],
    config_file: Path | None,
    settings: tuple[str, ...],
    engine: str,
    scheduler: str | None,
    out: str | None,
) -> None:
    """Say what a guard would have saved in the sessions of coding agents on this disk.

    PATH is a session or a folder with some, or the URL of one in an object store. Without one: where Claude Code,
    Codex, Pi, OpenCode and Cline keep theirs. Each session is replayed with the embedded judge. Nothing is changed and
    nothing leaves the machine, but to a cluster that you name.
    """
    from context_guard.cost.audit import Terms
    from context_guard_effects.audit.pool import usable_cores
    from context_guard_effects.audit.summary import as_json_value
    from context_guard_effects.audit.units import usual_places
    from context_guard_effects.cli.audit_table import as_text, looked_in
    from context_guard_effects.cli.settings import read_settings
    from context_guard_effects.cli.spreading import absolute, open_engine, told_in_a_line

    terms = Terms(read_settings(config_file, settings), prices)
    jobs = jobs or usable_cores()
    is_spread = engine != "local" or out is not None
    places = [absolute(it) for it in paths] if is_spread else list(paths)
    with told_in_a_line():
        units, problems = _find(places)
        with open_engine(engine, scheduler, jobs) as spread:
            if out is not None:
                most = None if as_json or not top else top
                summary = _audited_into(out, places, units, problems, terms, spread, most)
            else:
                summary = _audited(units, problems, terms, spread if is_spread else jobs)
    if as_json:
        write_json(as_json_value(summary))
    else:
        write(as_text(summary, top))
        if not (paths or summary.sessions):
            write(f"{looked_in(usual_places(os.environ))}\n")
    if summary.is_interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    named = {str(place) for place in places}
    if failed := [it for it in summary.problems if it.path in named]:
        raise Stop(f"{failed[0].path}: {failed[0].reason}", UNREADABLE)


def _find(places: list[str]) -> "tuple[list[Unit], list[Problem]]":
    from context_guard_effects.audit.units import known_places
    from context_guard_effects.cli.spreading import find_all

    return find_all(places or [str(it) for it in known_places(os.environ)])


def _audited(units: "list[Unit]", problems: "list[Problem]", terms: "Terms", by: "Engine | int") -> "Summary":
    """All of them, or what was done when the user had enough. The newest first: what people ask about, and the figures
    while the rest is still running. `by`: an engine, which gets them in batches, or a number of processes."""
    from context_guard_effects.audit.pool import audit_all, audit_over
    from context_guard_effects.audit.summary import Gathered
    from context_guard_effects.cli.audit_bar import audit_bar
    from context_guard_effects.fleet.engine import cut_batches

    newest = sorted(units, key=lambda it: (-it.changed, it.path, it.session))
    gathered = Gathered(problems)
    finished = (
        audit_all(newest, terms, by)
        if isinstance(by, int)
        else (it for _, outcomes, _ in audit_over(by, cut_batches(newest), terms) for it in outcomes)
    )
    with audit_bar(units) as show, closing(finished) as outcomes:
        try:
            for outcome in outcomes:
                gathered.add(outcome)
                show(outcome, gathered)
        except KeyboardInterrupt:
            gathered.is_interrupted = True
    return gathered.summary()


def _audited_into(
    out: str,
    places: list[str],
    units: "list[Unit]",
    problems: "list[Problem]",
    terms: "Terms",
    engine: "Engine",
    most: int | None,
) -> "Summary":
    """A table of all of them in that folder, and the figures of the table."""
    from msgspec.structs import replace

    from context_guard_effects.audit.summary import Gathered, summarize
    from context_guard_effects.cli.audit_bar import audit_bar
    from context_guard_effects.fleet.auditing import audit_task, read_outcomes
    from context_guard_effects.fleet.engine import cut_batches
    from context_guard_effects.fleet.folders import open_folder
    from context_guard_effects.fleet.run import Run, own_version

    task = audit_task(terms, {"version": own_version(), "inputs": places})
    run = Run(open_folder(out), task, list(cut_batches(units)))
    so_far = Gathered([])
    is_interrupted = False
    with audit_bar([unit for batch in run.left for unit in batch]) as show, closing(run.work(engine)) as finished:
        try:
            for outcomes in finished:
                for outcome in outcomes:
                    so_far.count(outcome)
                    show(outcome, so_far)
        except KeyboardInterrupt:
            is_interrupted = True
    if is_interrupted:
        warn("the same command goes on from here")
    else:
        warn(f"wrote {run.finish(problems)}")
    summary = summarize(read_outcomes(run.rows()), problems, most)
    return replace(summary, judge_seconds=so_far.judge_seconds, is_interrupted=is_interrupted)
