"""What sessions cost with the guard and without, by each provider's cache rules.

    python -m benchmarks.cost               every session, printed
    python -m benchmarks.cost --write       … and written into docs/benchmark.md
    python -m benchmarks.cost --quick       sessions of fewer than 60 requests, with the recorded times alone
    python -m benchmarks.cost FILE …        these Pi sessions

Sessions: `benchmarks/cost/sessions`, `../shared/pi` and `../shared/golden/sessions`, as far as they are there. Exit
code 1 when a session costs more than 1 % more with the guard.
"""

import argparse
import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from multiprocessing import Pool
from pathlib import Path

from benchmarks.cost.judges import fixed_judge, local_judge
from benchmarks.cost.providers import PROVIDERS
from benchmarks.given import existing_file
from msgspec import Struct
from msgspec.structs import replace
from returns.primitives.exceptions import UnwrapFailedError

from context_guard.config import Config
from context_guard.cost.provider import Provider
from context_guard.cost.recording import Recording, record
from context_guard.cost.replay import Replayed, replay
from context_guard.cost.timing import prompts_apart, warm
from context_guard.cost.tokens import fit_tokens
from context_guard.formats import pi

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
PAGE = ROOT / "docs" / "benchmark.md"
BEGIN, END = "<!-- cost:begin -->", "<!-- cost:end -->"

LONG = 60
MOST_MORE = 0.01
GAPS: dict[str, Callable[[Recording], Recording]] = {
    "as recorded": lambda recording: recording,
    "always warm": warm,
    "10 min": partial(prompts_apart, minutes=10),
}
HEAD = (
    "session",
    "requests",
    "times",
    "rules",
    "without $",
    "with $",
    "change",
    "with extra steps",
    "with a remote judge",
    "peak context",
    "context at end",
    "edits (passes)",
    "deferred",
    "refused",
    "not due",
)


class Row(Struct, frozen=True):
    recording: str
    requests: int
    gaps: str
    provider: str
    off: Replayed
    on: Replayed
    fixed: Replayed | None
    """With the judge that always removes 70 %."""

    @property
    def is_long(self) -> bool:
        return self.requests >= LONG

    @property
    def change(self) -> float:
        return _change(self.on.dollars, self.off)

    def cells(self) -> tuple[str, ...]:
        on, off = self.on, self.off
        return (
            self.recording,
            str(self.requests),
            self.gaps,
            self.provider,
            f"{off.dollars:.4f}",
            f"{on.dollars:.4f}",
            _percent(self.change),
            _percent(_change(on.dollars + on.rerun_dollars, off)),
            _percent(_change(on.dollars + on.judge_dollars, off)),
            f"{off.peak / 1e3:.1f}k → {on.peak / 1e3:.1f}k",
            f"{off.end / 1e3:.1f}k → {on.end / 1e3:.1f}k",
            f"{on.edits} ({on.editing})",
            str(on.deferring),
            str(on.refused),
            str(on.not_due),
        )


def main(arguments: list[str]) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.cost", description="What a guard costs, session by session."
    )
    ask.add_argument("--quick", action="store_true", help="only short sessions, with their own pauses")
    ask.add_argument("--write", action="store_true", help="put the table into docs/benchmark.md")
    ask.add_argument("files", type=existing_file, nargs="*", help="sessions of Pi; all that are at hand without any")
    given = ask.parse_args(arguments)
    quick, write = given.quick, given.write
    recordings = [_load(path) for path in given.files or session_files()]
    if quick:
        recordings = [recording for recording in recordings if recording.requests < LONG]
    if not recordings:
        print(f"Nothing to replay: no session of fewer than {LONG} requests is at hand; --quick skips longer ones.")
        return 0
    gaps = ["as recorded"] if quick else list(GAPS)
    jobs = [(recording, provider, name) for recording in recordings for provider in PROVIDERS for name in gaps]
    with Pool() as pool:
        rows = list(pool.imap(row_of, jobs, chunksize=1))
    text = report(recordings, rows)
    print(text)
    if write:
        write_section(text)
    return 1 if any(row.change > MOST_MORE for row in rows) else 0


def _load(path: Path) -> Recording:
    """A Pi session file, gzipped or not: the branch from which Pi would go on."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        transcript = pi.read(data).unwrap()
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        return replace(record(name, transcript), tokens=fit_tokens(transcript))
    except (OSError, EOFError, zlib.error) as error:
        sys.exit(f"{path}: {error}")
    except UnwrapFailedError as error:
        sys.exit(f"{path}: {error.halted_container.failure().message}")


def session_files() -> list[Path]:
    return [
        *sorted((Path(__file__).parent / "sessions").glob("*.jsonl.gz")),
        *sorted((SHARED / "golden" / "sessions").glob("*.jsonl.gz")),
        *sorted((SHARED / "pi").glob("*.jsonl")),
    ]


def row_of(job: tuple[Recording, Provider, str]) -> Row:
    recording, provider, gaps = job
    timed = GAPS[gaps](recording)
    is_long = recording.requests >= LONG
    return Row(
        recording=recording.name,
        requests=recording.requests,
        gaps=gaps,
        provider=provider.name,
        off=replay(timed, provider, None),
        on=replay(timed, provider, Config(), local_judge),
        fixed=replay(timed, provider, Config(), fixed_judge) if is_long and gaps == "always warm" else None,
    )


def report(recordings: list[Recording], rows: list[Row]) -> str:
    return "\n".join(_report(recordings, rows))


def _report(recordings: list[Recording], rows: list[Row]) -> Iterator[str]:
    long = [row for row in rows if row.is_long]
    if long:
        yield f"### Sessions of {LONG} requests or more\n"
        yield from table(HEAD, (row.cells() for row in long))
        yield ""
    yield "### All sessions, each at its worst over all rules and times\n"
    head = ("session", "requests", "tokens", "worst", "where", "best", "rows with edits", "peak context there")
    yield from table(head, _worst(recordings, rows))
    yield ""
    if fixed := [row for row in rows if row.fixed is not None]:
        yield "### A judge that always removes 70 %, for comparison (always warm)\n"
        columns = ("session", "rules", "embedded judge", "removes 70 %", "peak without / embedded / 70 %")
        yield from table(columns, (_fixed_cells(row) for row in fixed))
        yield ""
    dearer = [row for row in rows if row.change > MOST_MORE]
    cheaper = [row for row in long if row.change < 0]
    untouched = [row for row in long if row.on.edits == 0]
    lower = [row for row in long if row.on.peak < row.off.peak]
    worst = _percent(max(row.change for row in rows))
    yield f"- More than 1 % dearer: {len(dearer)} of {len(rows)} rows. The worst is {worst}."
    yield f"- Long sessions: {len(cheaper)} of {len(long)} rows cheaper, {len(untouched)} without any edit."
    yield f"- Peak context falls in {len(lower)} of {len(long)} of them."


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _worst(recordings: list[Recording], rows: list[Row]) -> Iterator[tuple[str, ...]]:
    by_name = {recording.name: recording for recording in recordings}
    for name, found in groupby(rows, key=lambda row: row.recording):
        own = list(found)
        worst, best = max(own, key=lambda row: row.change), min(own, key=lambda row: row.change)
        recording = by_name[name]
        yield (
            name,
            str(worst.requests),
            f"{recording.tokens.chars_per_token:.1f} ch, {'fitted' if recording.tokens.is_fitted else 'assumed'}",
            _percent(worst.change),
            f"{worst.provider}, {worst.gaps}",
            _percent(best.change),
            f"{sum(1 for row in own if row.on.edits)} of {len(own)}",
            f"{worst.off.peak / 1e3:.1f}k → {worst.on.peak / 1e3:.1f}k",
        )


def _fixed_cells(row: Row) -> tuple[str, ...]:
    assert row.fixed is not None
    return (
        row.recording,
        row.provider,
        _percent(row.change),
        _percent(_change(row.fixed.dollars, row.off)),
        f"{row.off.peak / 1e3:.0f}k / {row.on.peak / 1e3:.0f}k / {row.fixed.peak / 1e3:.0f}k",
    )


def write_section(text: str) -> None:
    """Between the markers; what stands outside of them stays."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    if BEGIN not in page:
        page = f"{page.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{INTRODUCTION}\n{text}\n{END}{after}", encoding="utf-8")


def _change(dollars: float, off: Replayed) -> float:
    return dollars / off.dollars - 1 if off.dollars else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:+.2f} %".replace("-", "−")


INTRODUCTION = """\
## What a session costs

    python -m benchmarks.cost --write

A replay of recorded sessions, request by request, once without the guard and once with it at its default settings. The
guard is called as a live host calls it: behind every turn, where a run has settled, and once more when a user has been
away for so long that the cache has expired. It knows only what came before. Requests go through a simulation of the
provider's cache by the figures in `pipeline/context_guard/cache/prices.py`; Anthropic's marks are placed by
`cache/breakpoints.py` itself. The recorded trajectory stays the same, so this shows what edits cost and save, not
whether the agent would have acted otherwise.

- **Sessions**: recorded ones of real agents, synthetic ones, and three made for this (`bug-hunt`, `research` and
  `errands`: real Pi and real tools, a scripted model, times by script; `make_sessions.py`). A guard's edits that a
  session already held are taken out first.
- **Tokens**: characters per token and the size of system prompt and tools are fitted to a session's recorded usage,
  else 4 and 1,600 are assumed; the table of all sessions says which. Usage of a scripted provider is 4 by its making.
- **Times**: as recorded; always warm (no gap above a minute); every prompt ten minutes after the answer before it.
- **Dollars**: the input side. What the model writes costs the same on both sides and is left out, so shares of a whole
  bill are smaller. Prices for a million tokens: 3.00 and 2.00 (Anthropic), 0.10 (Codex), 1.25 assumed (the others).
- **With extra steps** adds what the setting `rerunStepsPer1KTokens` (0.05) *assumes*: so many more agent steps for
  every 1,000 tokens removed, each of which reads the context once. Nobody has measured that figure for this guard.
- **With a remote judge** adds $0.042 for a million input tokens of 2.3 characters each. The embedded judge is free.
- **Codex**: after an edit nothing is read from the cache, the worse of the two measured cases.
- **Deferred**: passes in which the sum held edits back; **refused**: checkpoints with enough to judge whose sum said
  no beforehand; **not due**: those with too little.

Why no session gets much dearer: an edit costs at once and earns over requests that may never come. So a pass edits only
if the sum pays over as many requests as there were so far, *and* if it loses no more than `riskOfBill` (0.75 %) of the
bill so far, plus half of what earlier edits have earned (`riskOfEarnings`), should the session end after few more:
mid-run a fifth of the requests so far (`sureShare`), at run end one, or a fifth of the prompts so far times the
shortest run. Once the cache is cold, edits are free.
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
