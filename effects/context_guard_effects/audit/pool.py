"""Units over processes: a few at a time, so that memory stays flat however many there are."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from context_guard.cost.audit import Terms
from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.audit.work import Outcome, audit_unit

WAITING = 2
"""Units handed out ahead, for each process."""

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
    left = deque(in_turn(list(units), jobs))
    if jobs <= 1 or len(left) <= 1:
        for unit in left:
            yield audit_unit(unit, terms)
        return
    while left:
        suspects: list[Unit] = []
        yield from _shared(left, terms, jobs, suspects)
        for unit in suspects:
            yield _alone(unit, terms)


def _shared(left: deque[Unit], terms: Terms, jobs: int, suspects: list[Unit]) -> Iterator[Outcome]:
    """Until all are done or a process dies; `suspects` then holds what was being worked on."""
    executor = _executor(jobs)
    running: dict[Future[Outcome], Unit] = {}
    try:
        while left or running:
            while left and len(running) < jobs * WAITING:
                running[executor.submit(audit_unit, left[0], terms)] = left[0]
                left.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                del running[future]
                yield outcome
    except BrokenProcessPool:
        suspects += running.values()
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()  # nobody waits for their answers any more
        raise
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _alone(unit: Unit, terms: Terms) -> Outcome:
    with _executor(1) as executor:
        try:
            return executor.submit(audit_unit, unit, terms).result()
        except BrokenProcessPool:
            return Outcome(
                unit, problem=Problem(unit.path, "Its process was killed: most likely it needs more memory.")
            )


def _executor(jobs: int) -> ProcessPoolExecutor:
    """Started afresh: a fork would copy the threads' locks of a program that draws a progress bar."""
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    """To the parent, which says what was done so far."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
