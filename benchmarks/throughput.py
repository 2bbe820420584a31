"""Speed of cutting, packing and rendering, as a ratio to `str.split` on the same text in the same run.

    python benchmarks/throughput.py [--megabytes 1 10 50]

Prints, for each kind of text and size, the MB/s (10^6 characters) of cutting, the best of a few rounds; its time as a
multiple of that of `str.split("\\n")`; how it compares with linear growth from the smallest size (1.00 = linear); and
the multiple with packing and rendering.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from functools import partial

from context_guard import Candidate, Config, cut_chunks, pack_segments
from context_guard.labels import tool_label
from context_guard.render import render

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "retry",
    "handler",
    "request",
    "index",
    "query",
    "cache",
    "token",
    "value",
    "error",
    "state",
    "config",
    "parse",
]


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
                mark = ":" if at == 2 else "-"
                line = f"{name}{mark}{first + at}{mark}    {' '.join(rng.choices(WORDS, k=6))}"
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


def tests(chars: int, rng: random.Random) -> Iterator[str]:
    """`pytest -v`, one failure in 2,000 tests."""
    number = 0
    while chars > 0:
        number += 1
        found = [f"tests/test_{rng.choice(WORDS)}.py::test_{rng.choice(WORDS)}_{number} PASSED   [ {number % 100:2}%]"]
        if number % 2_000 == 0:
            found = [
                f"____ test_{number} ____",
                "",
                "    def test():",
                ">       assert 1 == 2",
                "E       assert 1 == 2",
                "",
            ]
        chars -= sum(len(line) + 1 for line in found)
        yield from found
    yield f"=== {number} passed in 9.00s ==="


def diff(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        name = f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}.py"
        found = [f"diff --git a/{name} b/{name}", "index 1..2 100644", f"--- a/{name}", f"+++ b/{name}"]
        for _ in range(rng.randint(1, 5)):
            found.append(f"@@ -{rng.randint(1, 900)},9 +1,9 @@ def {rng.choice(WORDS)}():")
            found += [f"{rng.choice(' -+')}    {' '.join(rng.choices(WORDS, k=6))}" for _ in range(9)]
        chars -= sum(len(line) + 1 for line in found)
        yield from found


def source(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        found = [f"class {rng.choice(WORDS).title()}:"]
        for _ in range(rng.randint(1, 5)):
            found += ["", f"    def {rng.choice(WORDS)}(self, {rng.choice(WORDS)}):"]
            found += [f"        {rng.choice(WORDS)} = {rng.choice(WORDS)}({rng.choice(WORDS)})" for _ in range(9)]
        chars -= sum(len(line) + 1 for line in found)
        yield from found


def printed_json(chars: int, rng: random.Random) -> Iterator[str]:
    yield "["
    while chars > 0:
        found = ["  {", f'    "id": {rng.randint(1, 9_999)},', '    "tags": [']
        found += [f'      "{rng.choice(WORDS)}",' for _ in range(5)]
        found += ["    ],", f'    "name": "{rng.choice(WORDS)}"', "  },"]
        chars -= sum(len(line) + 1 for line in found)
        yield from found
    yield '  {"id": 0}'
    yield "]"


def json_lines(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        text = " ".join(rng.choices(WORDS, k=9))
        line = f'{{"id": {rng.randint(1, 9_999)}, "name": "{rng.choice(WORDS)}", "text": "{text}"}}'
        chars -= len(line) + 1
        yield line


def messages(chars: int, rng: random.Random) -> Iterator[str]:
    """rustc's warnings."""
    while chars > 0:
        found = [
            f"warning: unused variable: `{rng.choice(WORDS)}`",
            f"  --> src/{rng.choice(WORDS)}.rs:{rng.randint(1, 900)}:9",
        ]
        found += [
            "   |",
            f"12 |     let {rng.choice(WORDS)} = {rng.choice(WORDS)}();",
            "   |         ^^^^^ help: remove it",
            "",
        ]
        chars -= sum(len(line) + 1 for line in found)
        yield from found


def listing(chars: int, rng: random.Random) -> Iterator[str]:
    yield "total 96"
    while chars > 0:
        name = f"{rng.choice(WORDS)}-{rng.randint(1, 999)}.txt"
        line = f"-rw-r--r-- 1 root root {rng.randint(1, 99_999):>6} Nov 30 20:00 {name}"
        chars -= len(line) + 1
        yield line


def markdown(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        found = [f"## {rng.choice(WORDS)}", "", *(f"- {' '.join(rng.choices(WORDS, k=9))}" for _ in range(6)), ""]
        chars -= sum(len(line) + 1 for line in found)
        yield from found


def one_json(chars: int, rng: random.Random) -> Iterator[str]:
    yield "[" + ",".join(f'{{"id":{n},"name":"{rng.choice(WORDS)}"}}' for n in range(chars // 28)) + "]"


def base64(chars: int, rng: random.Random) -> Iterator[str]:
    yield '{"image":"' + rng.randbytes(3).hex() * (chars // 6) + '"}'


def coloured(chars: int, rng: random.Random) -> Iterator[str]:
    while chars > 0:
        line = f"\x1b[32m{rng.choice(WORDS)}\x1b[0m {' '.join(rng.choices(WORDS, k=8))}"
        chars -= len(line) + 1
        yield line


KINDS: dict[str, Callable[[int, random.Random], Iterator[str]]] = {
    "prose": prose,
    "search": search,
    "log": log,
    "tests": tests,
    "diff": diff,
    "source": source,
    "json": printed_json,
    "json lines": json_lines,
    "diagnostics": messages,
    "listing": listing,
    "markdown": markdown,
    "coloured": coloured,
    "one line": one_line,
    "one-line json": one_json,
    "base64": base64,
}


def best(run: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return max(min(times), 1e-9)


CONFIG = Config()


def take(text: str) -> Candidate:
    args = '{"command":"run it"}'
    return Candidate("e", "bash", args, tool_label("bash", args), text, is_error=False, turn=0)


def cut_only(text: str) -> None:
    cut_chunks(take(text), CONFIG)


def distil(text: str) -> None:
    candidate = take(text)
    cut = cut_chunks(candidate, CONFIG)
    pack_segments(cut, CONFIG)
    render(candidate, cut, tuple(range(0, len(cut.chunks), 3)), CONFIG, "run-end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 10, 50])
    options = parser.parse_args()
    print(f"{'kind':<14}{'MB':>4}{'cutting MB/s':>14}{'x str.split':>13}{'growth':>8}{'with render':>13}")
    for kind, make in KINDS.items():
        first: tuple[float, float] | None = None
        for size in options.megabytes:
            text = "\n".join(make(int(size * 1e6), random.Random(0)))
            rounds = 5 if size <= 1 else 2
            seconds = best(partial(cut_only, text), rounds)
            whole = best(partial(distil, text), rounds)
            split = best(partial(text.split, "\n"), rounds)
            first = first or (size, seconds)
            growth = (seconds / first[1]) / (size / first[0])
            print(
                f"{kind:<14}{size:>4g}{len(text) / 1e6 / seconds:>14.1f}{seconds / split:>13.1f}{growth:>8.2f}"
                f"{whole / split:>13.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
