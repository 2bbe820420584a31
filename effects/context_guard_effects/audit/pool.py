"""Units over processes: a few at a time, so that memory stays flat however many there are."""

import multiprocessing
import os
import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from itertools import chain, islice

from context_guard.cost.audit import Terms
from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.audit.work import Outcome, audit_unit
from context_guard_effects.fleet.engine import Batch, Done, Engine, Finished, Item, Mapped, Packed, run_batch, unpacked

WAITING = 2
"""Batches handed out ahead, for each process."""

LARGE = 0.1
"""Share of the work of one process from which on a unit is handed out early: that much they end apart at most, as far
as size tells how long a unit takes."""


def usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def in_turn(units: list[Unit], jobs: int) -> list[Unit]:
    """As given, but ahead of all the units that are large beside what a process has to do, the largest first.

    One of them that came last would keep a single process at work while the others wait for it.
    """
    if jobs <= 1:
        return units
    large = sum(unit.size for unit in units) / jobs * LARGE
    ahead = sorted((unit for unit in units if unit.size > large), key=lambda unit: -unit.size)
    return ahead + [unit for unit in units if unit.size <= large]


def audit_all(units: Iterable[Unit], terms: Terms, jobs: int) -> Generator[Outcome]:
    """In the order in which they get done. A unit whose process dies is tried once more by itself."""
    left = in_turn(list(units), jobs)
    engine = LocalEngine(jobs if len(left) > 1 else 1)
    with closing(audit_over(engine, ((unit,) for unit in left), terms)) as finished:
        for _, outcomes, _ in finished:
            yield from outcomes


def audit_over(engine: Engine, batches: Iterable[Batch[Unit]], terms: Terms) -> Finished[Unit, Outcome, None]:
    """Every batch with its outcomes, in the order in which they get done."""
    return engine.map(Mapped(partial(audit_unit, terms=terms), killed, unpacked), batches)


def killed(unit: Unit) -> Outcome:
    return Outcome(unit, problem=Problem(unit.path, "Its process was killed: most likely it needs more memory."))


class LocalEngine:
    """Processes of this machine; with one job this process itself."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(self, task: Mapped[Item, Done, Packed], batches: Iterable[Batch[Item]]) -> Finished[Item, Done, Packed]:
        if self._jobs <= 1:
            for batch in batches:
                yield batch, *run_batch(task, batch)
            return
        left = iter(batches)
        first = next(left, None)
        while first is not None:
            suspects: list[Batch[Item]] = []
            yield from _shared(chain([first], left), task, self._jobs, suspects)
            for batch in suspects:
                yield batch, *_alone(batch, task)
            first = next(left, None)


def _shared(
    left: Iterator[Batch[Item]], task: Mapped[Item, Done, Packed], jobs: int, suspects: list[Batch[Item]]
) -> Iterator[tuple[Batch[Item], tuple[Done, ...], Packed]]:
    """Until all are done or a process dies; `suspects` then holds what was being worked on."""
    executor = _executor(jobs)
    running: dict[Future[tuple[tuple[Done, ...], Packed]], Batch[Item]] = {}
    try:
        _fill(executor, running, left, task, jobs, suspects)
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                outcomes, packed = future.result()
                yield running.pop(future), outcomes, packed
            _fill(executor, running, left, task, jobs, suspects)
    except BrokenProcessPool:
        suspects += running.values()
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()  # nobody waits for their answers any more
        raise
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _fill(
    executor: ProcessPoolExecutor,
    running: dict[Future[tuple[tuple[Done, ...], Packed]], Batch[Item]],
    left: Iterator[Batch[Item]],
    task: Mapped[Item, Done, Packed],
    jobs: int,
    suspects: list[Batch[Item]],
) -> None:
    for batch in islice(left, jobs * WAITING - len(running)):
        try:
            running[executor.submit(run_batch, task, batch)] = batch
        except BrokenProcessPool:
            suspects.append(batch)
            raise


def _alone(batch: Batch[Item], task: Mapped[Item, Done, Packed]) -> tuple[tuple[Done, ...], Packed]:
    """Once more as a whole, then item by item: only those that a process dies of are lost."""
    with _executor(1) as executor:
        try:
            return executor.submit(run_batch, task, batch).result()
        except BrokenProcessPool:
            outcomes = (task.died(batch[0]),) if len(batch) == 1 else tuple(_one_by_one(batch, task))
    return outcomes, task.pack(outcomes)


def _one_by_one(batch: Batch[Item], task: Mapped[Item, Done, Packed]) -> Iterator[Done]:
    executor = _executor(1)
    try:
        for item in batch:
            try:
                yield executor.submit(task.work, item).result()
            except BrokenProcessPool:
                yield task.died(item)
                executor.shutdown()
                executor = _executor(1)
    finally:
        executor.shutdown()


def _executor(jobs: int) -> ProcessPoolExecutor:
    """Started afresh: a fork would copy the threads' locks of a program that draws a progress bar."""
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    """To the parent, which says what was done so far."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
