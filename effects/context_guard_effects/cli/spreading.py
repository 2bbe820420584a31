"""Work that is spread: the engine that was asked for, the sessions it works through, and where its rows go."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli.exits import UNREACHABLE, UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.fleet.engine import Engine, FleetError, Unlisted, Unreachable
from context_guard_effects.fleet.urls import is_url

if TYPE_CHECKING:
    from context_guard_effects.audit.units import Problem, Unit


@contextmanager
def open_engine(name: str, scheduler: str | None, jobs: int) -> Iterator[Engine]:
    if scheduler is not None and name != "dask":
        raise click.UsageError("--scheduler is a cluster of Dask: give --engine dask with it.")
    if name == "dask":
        from context_guard_effects.fleet.dask_engine import open_dask

        with open_dask(scheduler, jobs) as engine:
            yield engine
    else:
        from context_guard_effects.audit.pool import LocalEngine

        yield LocalEngine(jobs)


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """What the fleet cannot do, as the end of the command."""
    try:
        yield
    except Unreachable as error:
        raise Stop(error.message, UNREACHABLE) from error
    except Unlisted as error:
        raise Stop(error.message, UNREADABLE) from error
    except FleetError as error:
        raise Stop(error.message, UNWRITABLE) from error


def find_all(places: list[str]) -> "tuple[list[Unit], list[Problem]]":
    """Of paths and URLs, in the order of their names: the same files give the same batches."""
    from context_guard_effects.audit.units import Problem, find_units
    from context_guard_effects.fleet.objects import find_objects

    found = list(find_units([Path(it) for it in places if not is_url(it)]))
    for place in dict.fromkeys(filter(is_url, places)):
        found += find_objects(place)
    units = {(it.path, it.session): it for it in found if not isinstance(it, Problem)}
    return [units[key] for key in sorted(units)], [it for it in found if isinstance(it, Problem)]


def absolute(place: str) -> str:
    """The same place for a worker that runs elsewhere."""
    return place if is_url(place) else str(Path(place).absolute())
