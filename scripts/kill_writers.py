#!/usr/bin/env python3
"""Writers of a store killed at random points, more often than in the test suite.

    scripts/kill_writers.py [--kills 200] [--seed 1]

Prints what was found again. On a loss it shows the check that failed and exits with 1.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects"), str(ROOT / "tests")]

from kill_writers import kill_writers  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = kill_writers(Path(folder), options.kills, options.seed)
    print(
        f"{tally.kills} kills in {time.monotonic() - begin:.0f} s, {tally.stores} stores: "
        f"{tally.passes} passes noted as kept, all found; {tally.unnoted} more found whole; "
        f"{tally.undone} undone without a trace; {tally.outputs} outputs equal by SHA-256"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
