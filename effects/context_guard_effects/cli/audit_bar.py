"""The progress of an audit on the terminal, with the figures of what is done so far."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from context_guard_effects.audit.summary import Gathered
from context_guard_effects.audit.units import Unit
from context_guard_effects.audit.work import Outcome
from context_guard_effects.cli.audit_table import running

Show = Callable[[Outcome, Gathered], None]


@contextmanager
def audit_bar(units: list[Unit]) -> Iterator[Show]:
    """It measures bytes, since sessions differ so much; it goes away when it is done."""
    if not units or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=sum(max(1, it.size) for it in units))
        yield lambda outcome, gathered: bar.update(
            task, advance=max(1, outcome.unit.size), description=running(gathered.total)
        )
