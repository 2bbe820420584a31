"""The store in a file and on PostgreSQL, in one run: calls a second, and their ratio.

    python benchmarks/stores.py [--passes 300] [--folder DIR]

Starts a server of its own with the default settings (`scripts/install_postgres.sh`), asked over TCP on loopback without
TLS. Both take the same made-up outputs, in turns of 50, so that both meet the same load of the machine. `--folder` is
where the file and the server's data lie.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects"), str(ROOT / "tests")]

from outside.postgres_server import durable_cluster  # noqa: E402
from outside.postgres_stores import Databases  # noqa: E402

from context_guard.edit_log import LoggedPass, RawOutput, Replaced  # noqa: E402
from context_guard_effects.store import Place, Store, open_store  # noqa: E402

TURN = 50
WRITERS = 4
CONVERSATION = 20
"""Ids that a request asks for."""
FEW = 200
"""Passes that a store keeps decoded."""
On = TypeVar("On")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--passes", type=int, default=300)
    arguments.add_argument("--folder", help="by default where temporary files are")
    given = arguments.parse_args()
    outputs = made_up(given.passes)
    size = sum(len(output.text) for output in outputs)
    print(f"{len(outputs)} outputs, {size / 1e6:.1f} MB; calls a second")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder, durable_cluster(given.folder) as cluster:
        places: tuple[Place, Place] = Path(folder) / "store.db", Databases(cluster).place("app")
        with open_store(places[0]) as file, open_store(places[1]) as server:
            stores = file, server
            compare("keep, one writer", stores, outputs, keep_each)
            compare(f"find {CONVERSATION} ids, one new", stores, outputs[:FEW], find_each)
            compare(f"find {CONVERSATION} ids, again", stores, outputs[:FEW], find_each)
            compare("raw", stores, outputs, raw_each)
        writers = [[open_store(place) for _ in range(WRITERS)] for place in places]
        compare(f"keep, {WRITERS} writers", writers, made_up(given.passes, "more-"), keep_together)
        for store in [store for group in writers for store in group]:
            store.close()


def compare(
    name: str, stores: Sequence[On], outputs: Sequence[RawOutput], work: Callable[[On, Sequence[RawOutput]], object]
) -> None:
    seconds = [0.0, 0.0]
    for start in range(0, len(outputs), TURN):
        for at, store in enumerate(stores):
            begin = time.perf_counter()
            work(store, outputs[start : start + TURN])
            seconds[at] += time.perf_counter() - begin
    file, server = (len(outputs) / it for it in seconds)
    print(f"{name:24} SQLite {file:7.0f}   PostgreSQL {server:7.0f}   {server / file:5.2f}")


def keep_each(store: Store, outputs: Sequence[RawOutput]) -> None:
    for output in outputs:
        keep(store, output)


def keep_together(stores: Sequence[Store], outputs: Sequence[RawOutput]) -> None:
    """Several writers, each with a connection of its own as processes have it."""
    with ThreadPoolExecutor(len(stores)) as threads:
        parts = [outputs[at :: len(stores)] for at in range(len(stores))]
        list(threads.map(keep_each, stores, parts))


def find_each(store: Store, outputs: Sequence[RawOutput]) -> None:
    for at in range(len(outputs)):
        some = outputs[max(0, at - CONVERSATION + 1) : at + 1]
        assert len(store.find([output.id for output in some])) == len(some)


def raw_each(store: Store, outputs: Sequence[RawOutput]) -> None:
    assert list(outputs) == [store.raw(output.id) for output in outputs]


def keep(store: Store, output: RawOutput) -> None:
    edit = Replaced(output.id, (f"[context-guard] {output.text[:1_000]}",))
    store.keep(LoggedPass(witness="w", edits=(edit,), session=output.session), (output,))


def made_up(count: int, prefix: str = "") -> list[RawOutput]:
    """Like a log: 1 to 40 KB, which compress to about a quarter."""
    dice = random.Random(1)
    lines = [f"{n:05} {dice.choice(('ok', 'failed', 'skipped'))} {dice.getrandbits(48):x}\n" for n in range(2_000)]
    return [
        RawOutput(id=f"{prefix}{n}", text="".join(dice.choices(lines, k=dice.randint(40, 1_600))), session="s")
        for n in range(count)
    ]


if __name__ == "__main__":
    main()
