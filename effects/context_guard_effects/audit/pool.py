"""Units over processes: a few at a time, so that memory stays flat however many there are."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from itertools import chain, islice

from context_guard.cost.audit import Terms
from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.audit.work import Outcome, audit_unit
from context_guard_effects.fleet.engine import Batch, Done, Engine, Item, run_batch

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
        for _, outcomes in finished:
            yield from outcomes


def audit_over(
    engine: Engine, batches: Iterable[Batch[Unit]], terms: Terms
) -> Generator[tuple[Batch[Unit], tuple[Outcome, ...]]]:
    """Every batch with its outcomes, in the order in which they get done."""
    return engine.map(partial(audit_unit, terms=terms), batches, killed)


def killed(unit: Unit) -> Outcome:
    return Outcome(unit, problem=Problem(unit.path, "Its process was killed: most likely it needs more memory."))


class LocalEngine:
    """Processes of this machine; with one job this process itself."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(
        self, work: Callable[[Item], Done], batches: Iterable[Batch[Item]], died: Callable[[Item], Done]
    ) -> Generator[tuple[Batch[Item], tuple[Done, ...]]]:
        if self._jobs <= 1:
            for batch in batches:
                yield batch, run_batch(work, batch)
            return
        left = iter(batches)
        first = next(left, None)
        while first is not None:
            suspects: list[Batch[Item]] = []
            yield from _shared(chain([first], left), work, self._jobs, suspects)
            for batch in suspects:
                yield batch, _alone(batch, work, died)
            first = next(left, None)


def _shared(
    left: Iterator[Batch[Item]], work: Callable[[Item], Done], jobs: int, suspects: list[Batch[Item]]
) -> Iterator[tuple[Batch[Item], tuple[Done, ...]]]:
    """Until all are done or a process dies; `suspects` then holds what was being worked on."""
    executor = _executor(jobs)
    running: dict[Future[tuple[Done, ...]], Batch[Item]] = {}
    try:
        _fill(executor, running, left, work, jobs, suspects)
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                outcomes = future.result()
                yield running.pop(future), outcomes
            _fill(executor, running, left, work, jobs, suspects)
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
    running: dict[Future[tuple[Done, ...]], Batch[Item]],
    left: Iterator[Batch[Item]],
    work: Callable[[Item], Done],
    jobs: int,
    suspects: list[Batch[Item]],
) -> None:
    for batch in islice(left, jobs * WAITING - len(running)):
        try:
            running[executor.submit(run_batch, work, batch)] = batch
        except BrokenProcessPool:
            suspects.append(batch)
            raise


def _alone(batch: Batch[Item], work: Callable[[Item], Done], died: Callable[[Item], Done]) -> tuple[Done, ...]:
    """Once more as a whole, then item by item: only those that a process dies of are lost."""
    with _executor(1) as executor:
        try:
            return executor.submit(run_batch, work, batch).result()
        except BrokenProcessPool:
            if len(batch) == 1:
                return (died(batch[0]),)
    return tuple(_one_by_one(batch, work, died))


def _one_by_one(batch: Batch[Item], work: Callable[[Item], Done], died: Callable[[Item], Done]) -> Iterator[Done]:
    executor = _executor(1)
    try:
        for item in batch:
            try:
                yield executor.submit(work, item).result()
            except BrokenProcessPool:
                yield died(item)
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
