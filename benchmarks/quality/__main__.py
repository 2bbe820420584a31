"""The quality benchmark: own labelled outputs and real sessions, beside baselines and other people's packages.

    python -m benchmarks.quality                                      the own outputs, printed
    python -m benchmarks.quality --bench FOLDER --folds FILE          … and real sessions
    python -m benchmarks.quality --bench FOLDER --folds FILE --write  … all of it into docs/benchmark.md, with the plot
    python -m benchmarks.quality --cases 20 --no-peers                in seconds

FOLDER has `items.jsonl.gz` and `gold.jsonl.gz`, and their scorer `lateruse.py` beside it. FILE is what
`python -m benchmarks.train_local_judge --folds` wrote; without it the judge has seen the sessions. Baselines and peers
that are not installed are named and left out; `scripts/install_peers.sh` installs them.
"""

import argparse
import re
import sys
from pathlib import Path

from benchmarks.given import existing_file, file_to_write, needed_package, scored_folder
from benchmarks.quality.own import own_cases, own_rows
from benchmarks.quality.peers.run import installed, told
from benchmarks.quality.plot import plot
from benchmarks.quality.sessions import score_sessions
from benchmarks.quality.tables import own_table, sessions_table
from benchmarks.quality.ways import WAYS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmark.md"
PLOT = PAGE.parent / "quality.png"
BEGIN, END = "<!-- quality:begin -->", "<!-- quality:end -->"
CASES = 180


def main(arguments: list[str]) -> int:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.quality", description="Measures what is kept and lost.")
    ask.add_argument("--cases", type=_count, default=CASES, help="own outputs in which something is needed")
    ask.add_argument("--bench", type=scored_folder, help="folder with real sessions; their scorer lies beside it")
    ask.add_argument("--folds", type=existing_file, help="cross-validated models")
    ask.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="other people's packages")
    ask.add_argument("--peers-every", type=_count, default=1, help="give peers every so many-th real session's item")
    ask.add_argument("--write", action="store_true", help="put tables and plot into docs/")
    ask.add_argument("--plot", type=file_to_write, help="write the plot to this file (.png)")
    given = ask.parse_args(arguments)
    picture = given.plot or (PLOT if given.write else None)
    if picture:
        needed_package("matplotlib")  # before the work, not behind it
    peers = installed() if given.peers else ()
    if given.peers:
        print("\n".join(told()), file=sys.stderr)
    cases = own_cases(given.cases)
    rows = tuple(own_rows(cases, WAYS, peers))
    found = score_sessions(given.bench, given.folds, WAYS, peers, given.peers_every) if given.bench else []
    text = "## Quality\n\n" + own_table(rows, len(cases))
    if found:
        text += sessions_table(found, given.folds is not None, given.peers_every)
    if picture:
        plot(rows, found, picture)
    if given.write:
        peers_told = f"\nPeers: {'; '.join(told())}.\n" if given.peers else ""
        write_section(f"{text}{peers_told}\n![recall against kept share]({(picture or PLOT).name})\n")
    print(text)
    return 0


def write_section(text: str) -> None:
    """Between the markers; what stands outside of them stays."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL), encoding="utf-8"
    )


def _count(given: str) -> int:
    if not given.isdigit() or int(given) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on, not {given}")
    return int(given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
