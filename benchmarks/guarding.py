"""What guarding costs a live host: projections of a 2 MB history, and recalls from a store on disk.

PYTHONPATH=pipeline:effects python benchmarks/guarding.py [--rounds 1000] [--recalls 10000]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from context_guard.formats.codec import CODECS, Provider
from context_guard.text import MARKER
from context_guard_effects.kit import Guard
from context_guard_effects.store import open_store
from context_guard_effects.testing import KeepJudge, answer, call, made_output, messages, prompt, result
from context_guard_effects.testing.hosts import AT_ANY_COST

CONFIG = structs.replace(AT_ANY_COST, prune_exchanges=False)
RUNS = 40
OUTPUT_LINES = 1_000
"""About 50 kB; the runs together are 2 MB."""


def history(provider: Provider) -> list[dict[str, Any]]:
    entries = []
    for run in range(RUNS):
        entries += [
            prompt(f"Question {run}?"),
            call("search", {"q": f"needle {run}"}, id=f"call_{run}"),
            result(made_output(f"part{run}", OUTPUT_LINES)),
            answer(f"Answer {run}: NEEDLE."),
        ]
    return messages(provider, *entries)


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each round."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1_000)
    return found


def edited_history(provider: Provider, guard: Guard) -> list[dict[str, Any]]:
    """The last quarter of the runs is distilled, each at its end."""
    found = history(provider)
    size = len(found) // RUNS
    for run in range(RUNS * 3 // 4, RUNS):
        guard.settle_sync(found[: (run + 1) * size])
    return found


def check_prefix(raw: list[Any], sent: list[Any]) -> int:
    """Characters of the request up to the first edit; they have to be those of the raw list."""
    first = next(place for place, (ours, theirs) in enumerate(zip(sent, raw, strict=True)) if ours is not theirs)
    before = json.dumps(raw[:first])[:-1]
    assert json.dumps(sent).startswith(before)
    assert MARKER in json.dumps(sent[first])
    return len(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--recalls", type=int, default=10_000)
    options = parser.parse_args()
    for provider in CODECS:
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
            guard = Guard(store=store, judge=KeepJudge("NEEDLE"), config=CONFIG, provider=provider)
            print(f"{provider}: {measured(guard, provider, options.rounds, options.recalls)}")


def measured(guard: Guard, provider: Provider, rounds: int, recalls: int) -> str:
    raw = edited_history(provider, guard)
    size = len(json.dumps(raw)) / 1_000_000
    sent = guard.project(raw)
    prefix = check_prefix(raw, sent)
    projected = timed(partial(guard.project, raw), rounds)
    assert json.dumps(guard.project(raw)) == json.dumps(sent)
    plain = timed(partial(json.dumps, raw), max(2, rounds // 10))
    edits = [output for output in guard.outputs(raw) if output.is_edited]
    recall = partial(guard.recall_tool().page, {"entryId": edits[-1].id})
    recalled = timed(recall, recalls)
    assert not guard.status().problems
    return (
        f"{size:.2f} MB, {len(edits)} edits, the first {prefix:,} characters unchanged; "
        f"projection {statistics.median(projected) / size:.2f} ms/MB, best {min(projected) / size:.2f} "
        f"(json.dumps {statistics.median(plain) / size:.2f}, best {min(plain) / size:.2f}); "
        f"recall of {len(recall().text):,} characters {statistics.median(recalled):.2f} ms, best {min(recalled):.2f}"
    )


if __name__ == "__main__":
    main()
