#!/usr/bin/env python3
"""The property tests of the passes at length: random conversations beyond those of the test suite.

    scripts/random_passes.py --cases 100000 [--jobs 2] [--seed 1]

Prints the progress and, at the end, how much was exercised. On a failure it prints the smallest conversation that still
fails, as the tape that `check_passes` of tests/random_passes.py takes, and exits with 1.
"""

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "tests")]

try:
    from hypothesis import HealthCheck, Phase, given, seed, settings
except ModuleNotFoundError:
    sys.exit("This draws and shrinks its conversations with Hypothesis: pip install -e '.[test]'")
from random_passes import Seen, check_passes  # noqa: E402
from transcripts import tapes  # noqa: E402

BATCH = 1_000
"""Cases between two lines of progress; each batch has a seed of its own."""


def run_batch(number: int, cases: int) -> tuple[Seen, str]:
    """What the batch exercised, and the failure in it, if any."""
    seen = Seen()
    last = b""

    @seed(number)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(tapes)
    def check(tape: bytes) -> None:
        nonlocal last
        last = tape
        check_passes(tape, seen)

    try:
        check()
    except Exception:
        return seen, f"{traceback.format_exc()}\nbatch {number}, tape {last.rstrip(bytes(1))!r}"
    return seen, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seed", type=int, default=1, help="of the first batch; the others count on from it")
    options = parser.parse_args()
    sizes = [BATCH] * (options.cases // BATCH) + [options.cases % BATCH] * bool(options.cases % BATCH)
    batches = [(options.seed + number, size) for number, size in enumerate(sizes)]
    total = Seen()
    failures: list[str] = []
    begin = time.monotonic()
    with multiprocessing.Pool(options.jobs) as pool:
        pending = [pool.apply_async(run_batch, batch) for batch in batches]
        for number, batch in enumerate(pending, 1):
            seen, failure = batch.get()
            add(total, seen)
            if failure:
                failures.append(failure)
                print(failure, flush=True)
            print(f"{number}/{len(batches)} batches, {total.examples} cases, {len(failures)} failed", flush=True)
    print(f"{time.monotonic() - begin:.0f} s; {total.passes} passes; ids redeemed: {total.redeemed}")
    print(f"edited states that were valid for every provider before: {total.valid}")
    for kind, count in sorted(Counter(total.edits).items()):
        print(f"  {kind}: {count}")
    return 1 if failures else 0


def add(total: Seen, seen: Seen) -> None:
    total.examples += seen.examples
    total.passes += seen.passes
    total.edits += seen.edits
    total.redeemed += seen.redeemed
    total.valid += seen.valid


if __name__ == "__main__":
    sys.exit(main())
