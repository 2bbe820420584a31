"""An audit of many sessions on a Dask cluster of this machine: one worker and two, memory, and a run that is killed.

    PYTHONPATH=pipeline:effects:. python benchmarks/fleet.py [--count 100000 | --quick] [--seed 1]

The sessions are made of those in ../shared. Prints wall time, the rate between the first and the last batch, CPU time
over all processes, the load of the machine before each run, and the memory of the command and of its largest worker
after a quarter of the batches and at their peak. The aim is 1.7 times the rate with two workers, on an idle machine.
Then a run is killed with all its processes at a random point and started again: its table is compared byte for byte.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from benchmarks.fleet_sessions import Missing, write_sessions

QUICK = 5_000
TICK = 0.25
"""Seconds between two looks at the memory."""


class Measured:
    """One command while it runs."""

    def __init__(self, sessions: Path, out: Path, *more: str) -> None:
        self._parts = out / "parts"
        self._cpu = _cpu()
        self._began = time.perf_counter()
        self.load = os.getloadavg()[0]
        command = [sys.executable, "-m", "context_guard_effects", "audit", str(sessions), "--out", str(out), *more]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        self.memory: list[tuple[int, int, int]] = []
        """Batches that are done, bytes of the command, bytes of its largest worker."""

    def done(self) -> int:
        return sum(1 for it in self._parts.glob("*.parquet")) if self._parts.is_dir() else 0

    def look(self) -> None:
        own = psutil.Process(self.process.pid)
        try:
            children = [it.memory_info().rss for it in own.children(recursive=True)]
            self.memory.append((self.done(), own.memory_info().rss, max(children, default=0)))
        except psutil.Error:
            return  # it ended just now

    def finish(self) -> None:
        while self.process.poll() is None:
            self.look()
            time.sleep(TICK)
        self.wall = time.perf_counter() - self._began
        self.cpu = _cpu() - self._cpu
        if self.process.returncode:
            sys.exit(f"the audit ended with {self.process.returncode}")

    def rate(self) -> float:
        """Batches a second between the first and the last: without the start of the cluster."""
        times = sorted(it.stat().st_mtime for it in self._parts.glob("*.parquet"))
        return (len(times) - 1) / max(1e-9, times[-1] - times[0])

    def tell(self, name: str, count: int) -> None:
        batches = self.done()
        quarter = next((it for it in self.memory if it[0] >= batches / 4), self.memory[-1])
        own, worker = max(it[1] for it in self.memory), max(it[2] for it in self.memory)
        print(
            f"{name}: {self.wall:.1f} s, {self.rate():.2f} batches a second, {self.cpu:.1f} s of CPU "
            f"({1_000 * self.cpu / count:.1f} ms a session), load before {self.load:.1f}\n"
            f"  memory of the command {_mb(quarter[1])} after a quarter, {_mb(own)} at most; "
            f"of a worker {_mb(quarter[2])} after a quarter, {_mb(worker)} at most",
            flush=True,
        )


def killed_and_resumed(sessions: Path, out: Path, batches: int, seed: int) -> None:
    at = random.Random(seed).randrange(1, batches)
    first = Measured(sessions, out, "--engine", "dask", "--jobs", "2")
    while first.done() < at and first.process.poll() is None:
        time.sleep(0.01)
    os.killpg(first.process.pid, signal.SIGKILL)
    first.process.wait()
    print(f"killed after {first.done()} of {batches} batches", flush=True)
    again = Measured(sessions, out, "--engine", "dask", "--jobs", "2")
    again.finish()
    print(f"  went on and ended after {again.wall:.1f} s")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _mb(count: int) -> str:
    return f"{count / 1e6:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} sessions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="runs to measure")
    parser.add_argument("--no-kill", action="store_true", help="leave out the run that is killed")
    given = parser.parse_args()
    count = QUICK if given.quick else given.count
    with tempfile.TemporaryDirectory() as folder:
        sessions = Path(folder) / "sessions"
        try:
            write_sessions(sessions, count)
        except Missing as error:
            sys.exit(str(error))
        size = sum(it.stat().st_size for it in sessions.rglob("*") if it.is_file()) / 1e6
        print(f"{count:,} sessions, {size:,.0f} MB", flush=True)
        runs: dict[int, Measured] = {}
        for jobs in given.workers:
            run = Measured(sessions, Path(folder) / f"out-{jobs}", "--engine", "dask", "--jobs", str(jobs))
            run.finish()
            run.tell(f"{jobs} worker{'s' if jobs > 1 else ''}", count)
            runs[jobs] = run
        if {1, 2} <= runs.keys():
            wall, rate = runs[1].wall / runs[2].wall, runs[2].rate() / runs[1].rate()
            print(f"two workers: {rate:.2f} times the rate, {wall:.2f} times as fast with start and end")
        last = given.workers[-1]
        if not given.no_kill:
            killed_and_resumed(sessions, Path(folder) / "out-killed", runs[last].done(), given.seed)
            tables = [Path(folder) / name / "audit.parquet" for name in (f"out-{last}", "out-killed")]
            is_same = tables[0].read_bytes() == tables[1].read_bytes()
            print(f"the two tables are {'the same, byte for byte' if is_same else 'DIFFERENT'}")
            sys.exit(0 if is_same else 1)


if __name__ == "__main__":
    main()
