"""Speed of cutting, packing and rendering, as a ratio to `str.split` on the same text in the same run.

    python benchmarks/throughput.py [--megabytes 1 10 50]

Prints MB/s (10^6 characters) of the best of a few rounds for each kind of text and size, the ratio to `str.split("\\n")`, and how the
time for the largest size compares with linear growth from the smallest (1.00 = linear).
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

from context_guard import Candidate, Config, cut_chunks, pack_segments
from context_guard.labels import tool_label
from context_guard.render import render

WORDS = "alpha beta gamma delta retry handler request index query cache token value error state config parse".split()


def prose(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        line = " ".join(rng.choices(WORDS, k=rng.randint(0, 14)))
        chars -= len(line) + 1
        yield line


def search(chars: int, rng: random.Random) -> Iterator[str]:
    """`rg -C 2` over 5,000 files."""
    files = [f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{number}-{number % 7}.py" for number in range(5_000)]
    while chars > 0:
        for name in files:
            first = rng.randint(1, 900)
            for at in range(5):
                line = f"{name}{':' if at == 2 else '-'}{first + at}{':' if at == 2 else '-'}    {' '.join(rng.choices(WORDS, k=6))}"
                chars -= len(line) + 1
                yield line
            chars -= 3
            yield "--"
            if chars <= 0:
                return


def log(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
        line = f"2026-11-30 {clock} INFO worker-{rng.randint(1, 9)} {' '.join(rng.choices(WORDS, k=8))}"
        chars -= len(line) + 1
        yield line


def one_line(chars: int, rng: random.Random) -> Iterator[str]:
    yield ";".join(rng.choices(WORDS, k=chars // 7))


KINDS: dict[str, Callable[[int, random.Random], Iterator[str]]] = {
    "prose": prose,
    "search": search,
    "log": log,
    "one line": one_line,
}


def best(run: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return max(min(times), 1e-9)


def distil(text: str, args: str) -> None:
    config = Config()
    candidate = Candidate("e", "bash", args, tool_label("bash", args), text, is_error=False, turn=0)
    cut = cut_chunks(candidate, config)
    pack_segments(cut, config)
    render(candidate, cut, tuple(range(0, len(cut.chunks), 3)), config, "run-end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 10, 50])
    options = parser.parse_args()
    print(f"{'kind':<10}{'MB':>6}{'MB/s':>9}{'x str.split':>13}{'growth':>9}")
    for kind, make in KINDS.items():
        first: tuple[float, float] | None = None
        for size in options.megabytes:
            text = "\n".join(make(int(size * 1e6), random.Random(0)))
            rounds = 5 if size <= 1 else 2
            seconds = best(partial(distil, text, '{"command":"rg -C 2 x"}'), rounds)
            split = best(partial(text.split, "\n"), rounds)
            first = first or (size, seconds)
            growth = (seconds / first[1]) / (size / first[0])
            print(
                f"{kind:<10}{size:>6g}{len(text) / 1e6 / seconds:>9.1f}{seconds / split:>13.1f}{growth:>9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
