"""`diff` and `replay` over many files: the engine maps, and the rows or the report are told."""

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli.exits import INTERRUPTED, UNJUDGED, UNREADABLE, Stop
from context_guard_effects.cli.output import warn, write

if TYPE_CHECKING:
    from context_guard.comparison_lines import Named
    from context_guard_effects.audit.units import Problem, Unit
    from context_guard_effects.fleet.comparing import Compared, How
    from context_guard_effects.fleet.engine import Engine
    from context_guard_effects.fleet.run import Task


class Spread:
    """How the work is spread, as `options.spread` has it."""

    def __init__(self, engine: str, scheduler: str | None, out: str | None, jobs: int | None) -> None:
        self.engine, self.scheduler, self.out, self.jobs = engine, scheduler, out, jobs

    def is_wanted(self, place: str) -> bool:
        from context_guard_effects.fleet.urls import is_url

        return self.engine != "local" or self.out is not None or self.scheduler is not None or is_url(place)


def check_embedded(*judges: str) -> None:
    """Which other machines would need the keys of is nobody's guess."""
    if any(it != "local" for it in judges):
        raise click.UsageError("--engine dask, --out and URLs go with the embedded judge alone: use --judge local.")


def compare_all(
    command: str, place: str, how: "How", told: Mapping[str, object], spread: Spread
) -> "tuple[Named, ...] | bool":
    """What there is to print; with a table its figures are printed here, and whether anything changed is told."""
    from context_guard_effects.audit.pool import usable_cores
    from context_guard_effects.cli.spreading import find_all, open_engine, told_in_a_line
    from context_guard_effects.fleet.comparing import compare_task
    from context_guard_effects.fleet.run import own_version

    task = compare_task(command, how, {"version": own_version(), "inputs": [place], **told})
    with told_in_a_line():
        units, problems = find_all([place])
        for problem in problems:
            if problem.path == place:
                raise Stop(f"{problem.path}: {problem.reason}", UNREADABLE)
            warn(f"left out: {problem.path}: {problem.reason}")
        with open_engine(spread.engine, spread.scheduler, spread.jobs or usable_cores()) as engine:
            if spread.out is not None:
                return _into(spread.out, task, units, problems, engine)
            return _gathered(task, units, engine)


def _gathered(task: "Task[Compared]", units: "list[Unit]", engine: "Engine") -> "tuple[Named, ...]":
    from context_guard_effects.fleet.engine import cut_batches, unpacked

    found: list[Compared] = []
    with closing(engine.map(task.mapped(unpacked), cut_batches(units))) as finished:
        for _, outcomes, _ in finished:
            found += outcomes
    found.sort(key=lambda it: (it.unit.path, it.unit.session))
    problems: list[Problem] = [it.problem for it in found if it.problem is not None]
    if len(problems) == 1 == len(found):
        raise Stop(f"{problems[0].path}: {problems[0].reason}", UNREADABLE)
    for problem in problems:
        warn(f"left out: {problem.path}: {problem.reason}")
    named = tuple(named for each in found for named in each.named)
    if not named:
        raise Stop("nothing here could be compared", UNREADABLE)
    counts = [it for each in found for it in each.found]
    _tell_unanswered(sum(it.unanswered for it in counts), sum(it.requests for it in counts))
    return named


def _into(out: str, task: "Task[Compared]", units: "list[Unit]", problems: "list[Problem]", engine: "Engine") -> bool:
    from context_guard.comparison_lines import total_lines
    from context_guard_effects.fleet.comparing import sum_rows, totals_of
    from context_guard_effects.fleet.engine import cut_batches
    from context_guard_effects.fleet.folders import open_folder
    from context_guard_effects.fleet.run import Run

    run = Run(open_folder(out), task, list(cut_batches(units)))
    with closing(run.work(engine)) as finished:
        try:
            for _ in finished:
                pass  # its rows are written
        except KeyboardInterrupt:
            warn("the same command goes on from here")
            raise click.exceptions.Exit(INTERRUPTED) from None
    warn(f"wrote {run.finish(problems)}")
    sums = sum_rows(run.rows())
    totals = totals_of(sums)
    if sums["unreadable"]:
        warn(f"{sums['unreadable']} of the files could not be read: the table has the reasons")
    if not totals.sessions:
        raise Stop("nothing here could be compared", UNREADABLE)
    write("".join(f"{line}\n" for line in total_lines(totals)))
    _tell_unanswered(sums["unanswered"], sums["requests"])
    return totals.changed > 0


def _tell_unanswered(unanswered: int, requests: int) -> None:
    if not unanswered:
        return
    said = f"{unanswered} of {requests} requests have no recorded answer any more: --judge local asks them"
    if unanswered == requests:
        raise Stop(said, UNJUDGED)
    warn(f"{said}; what they ask about is kept")
