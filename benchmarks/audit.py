"""How fast an audit goes on one core and on two: the same sessions, made up, in the files of three hosts.

    PYTHONPATH=pipeline:effects:tests python benchmarks/audit.py [--sessions 24] [--rounds 3]

Prints the best of the rounds, the ratio, and the load of the machine in front of each round: on one that is at work
with something else the ratio says little. The aim is 1.7. What hangs less on the load stands beside it: how much of the
processor time is the parent's, for which the others could wait; the ratio by processor time; and what this machine
gives to two processes that share nothing at all (each audits half by itself, alone and then beside the other).
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from context_guard.cost.audit import Terms
from context_guard_effects.audit.pool import audit_all
from context_guard_effects.audit.units import Unit, find_units
from context_guard_effects.audit.work import audit_unit


def write_sessions(folder: Path, count: int) -> None:
    """Each has 40 requests and 32 outputs of some 15 kB."""
    # here, since every process of the pool imports this module, and the command line's does not bring these along
    from recorded_sessions import LINE_HOSTS, Turn

    from context_guard_effects.testing import made_output

    for number in range(count):
        turns = tuple(
            Turn(
                f"Where is NEEDLE of part {run} made?",
                tuple((f"cat part-{run}-{call}", made_output(f"{number}-{run}-{call}", 300)) for call in range(4)),
                f"In part {run}: NEEDLE.",
            )
            for run in range(8)
        )
        name, make = list(LINE_HOSTS.items())[number % len(LINE_HOSTS)]
        (folder / f"{name}-{number}.jsonl").write_bytes(make(turns))


class Timed(NamedTuple):
    wall: float
    cpu: float
    """Seconds of processor time over all processes."""
    parent: float
    """Of that, this process's."""


def timed(units: list[Unit], jobs: int) -> Timed:
    began, before, own = time.perf_counter(), cpu_seconds(), time.process_time()
    outcomes = list(audit_all(units, Terms(), jobs))
    took, parent = time.perf_counter() - began, time.process_time() - own
    for child in multiprocessing.active_children():
        child.join()
    assert all(len(it.sessions) == 1 for it in outcomes), outcomes
    return Timed(took, cpu_seconds() - before, parent)


def alone(units: list[Unit]) -> float:
    """Seconds of processor time of the audits themselves, without a process's start."""
    began = time.process_time()
    for unit in units:
        audit_unit(unit, Terms())
    return time.process_time() - began


def independent(units: list[Unit]) -> float:
    """How many times as fast two processes are that share nothing: twice the processor time that half of the work
    takes alone, by that which it takes while the other half is worked on beside it."""
    halves = [units[::2], units[1::2]]
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        pool.map(alone, [units[:1]])
        by_itself = sum(pool.map(alone, halves))
    with context.Pool(2) as pool:
        pool.map(alone, [units[:1], units[:1]], chunksize=1)
        together = sum(pool.map(alone, halves, chunksize=1))
    return 2 * by_itself / together


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(it.ru_utime + it.ru_stime for it in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_sessions(Path(folder), given.sessions)
        units = [it for it in find_units([Path(folder)]) if isinstance(it, Unit)]
        size = sum(it.size for it in units) / 1e6
        print(f"{len(units)} sessions, {size:.1f} MB, {given.rounds} rounds")
        best: dict[int, float] = {}
        took: dict[int, Timed] = {}
        for _ in range(given.rounds):
            for jobs in (1, 2):
                load = os.getloadavg()[0]
                found = timed(units, jobs)
                best[jobs] = min(found.wall, best.get(jobs, found.wall))
                name = f"{jobs} process{'es' if jobs > 1 else ''}"
                own = f", {found.parent:.2f} s of it the parent's" if jobs > 1 else ""
                print(f"  {name}: {found.wall:.2f} s, {found.cpu:.2f} s of CPU{own} (load before {load:.1f})")
                took[jobs] = found
            by_cpu = took[1].cpu / (took[2].parent + (took[2].cpu - took[2].parent) / 2)
            print(f"  by processor time two are {by_cpu:.2f} times as fast, if both get a core of their own")
            print(f"  two that share nothing: {independent(units):.2f} times as fast by processor time")
        print(f"best {best[1]:.2f} s and {best[2]:.2f} s: {best[1] / best[2]:.2f} times as fast")
        parent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
        print(f"largest memory: {parent:.0f} MB here, {child:.0f} MB in a child process")


if __name__ == "__main__":
    main()
