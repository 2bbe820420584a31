#!/usr/bin/env python3
"""Writers of a store killed at random points, more often than in the test suite.

    scripts/kill_writers.py [--kills 200] [--seed 1] [--postgres]

With --postgres the stores are on a server that it starts (see install_postgres.sh), else in files.
Prints what was found again. On a loss it shows the check that failed and exits with 1.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects"), str(ROOT / "tests")]

from kill_writers import Stores, kill_writers  # noqa: E402


@contextmanager
def on_server() -> Iterator[Stores]:
    from outside.postgres_server import running_cluster
    from outside.postgres_stores import Databases

    with running_cluster() as cluster:
        databases = Databases(cluster)
        yield Stores(lambda _: databases.place(), databases.wait, pause=0.6)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, on_server() if options.postgres else nullcontext() as stores:
        tally = kill_writers(Path(folder), options.kills, options.seed, stores)
    print(
        f"{tally.kills} kills in {time.monotonic() - begin:.0f} s, {tally.stores} stores: "
        f"{tally.passes} passes noted as kept, all found; {tally.unnoted} more found whole; "
        f"{tally.undone} undone without a trace; {tally.outputs} outputs equal by SHA-256"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
