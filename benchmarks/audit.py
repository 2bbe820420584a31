"""How fast an audit goes on one core and on two: the same sessions, made up, in the files of three hosts.

    PYTHONPATH=pipeline:effects:tests python benchmarks/audit.py [--sessions 24] [--rounds 3]

Prints the best of the rounds, the ratio, and the load of the machine in front of each round: on one that is at work
with something else the ratio says little. The aim is 1.7.
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

from recorded_sessions import LINE_HOSTS, Turn

from context_guard.cost.audit import Terms
from context_guard_effects.audit.pool import audit_all
from context_guard_effects.audit.units import Unit, find_units
from context_guard_effects.testing import made_output


def write_sessions(folder: Path, count: int) -> None:
    """Each has 40 requests and 32 outputs of some 15 kB."""
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


def timed(units: list[Unit], jobs: int) -> tuple[float, float]:
    """Seconds of wall time, and of CPU time over all processes."""
    began, before = time.perf_counter(), cpu_seconds()
    outcomes = list(audit_all(units, Terms(), jobs))
    took = time.perf_counter() - began
    for child in multiprocessing.active_children():
        child.join()
    assert all(len(it.sessions) == 1 for it in outcomes), outcomes
    return took, cpu_seconds() - before


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
        for _ in range(given.rounds):
            for jobs in (1, 2):
                load = os.getloadavg()[0]
                took, cpu = timed(units, jobs)
                best[jobs] = min(took, best.get(jobs, took))
                name = f"{jobs} process{'es' if jobs > 1 else ''}"
                print(f"  {name}: {took:.2f} s, {cpu:.2f} s of CPU (load before {load:.1f})")
        print(f"best {best[1]:.2f} s and {best[2]:.2f} s: {best[1] / best[2]:.2f} times as fast")
        parent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
        child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
        print(f"largest memory: {parent:.0f} MB here, {child:.0f} MB in a child process")


if __name__ == "__main__":
    main()
