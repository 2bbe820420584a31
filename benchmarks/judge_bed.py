"""The embedded judge on labelled outputs, through the real stages: what it keeps, loses and costs.

    python benchmarks/judge_bed.py [BED] [--peers]

BED is a folder with the labelled cases and their scorer, `../shared/bed` by default; they are for validation alone.
Printed are the scorer's tables (line recall, kept share, dead ends removed, needed outputs emptied, whole ones left
whole, AUC within an output, calibration), then the time a judgement takes. `--peers` adds a table of the other people's
packages that are installed, on the outputs that are needed in part.
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "pipeline")]

from benchmarks.given import bed_folder  # noqa: E402
from benchmarks.quality.chain import Cutting, cut_case  # noqa: E402
from benchmarks.quality.curve import at_size  # noqa: E402
from benchmarks.quality.peers.run import installed, run_peers  # noqa: E402
from benchmarks.quality.peers.task import task_of_case  # noqa: E402
from benchmarks.quality.tables import table  # noqa: E402
from benchmarks.quality.ways import ORIGINAL_NAME, WAYS  # noqa: E402
from msgspec import Struct  # noqa: E402

from context_guard.answers import Answers, Unanswered  # noqa: E402
from context_guard.config import Config  # noqa: E402
from context_guard.local_judge import JUDGE, Settings, judge_locally, judge_with  # noqa: E402
from context_guard.local_judge.weights import WEIGHTS  # noqa: E402
from context_guard.requests import Request  # noqa: E402

BED = ROOT.parent / "shared" / "bed"
CONFIG = Config()


class Judged(Struct, frozen=True):
    prediction: dict[str, Any]
    """As the scorer reads it."""
    by_original_cuts: dict[str, Any]
    """The same lines, with the probabilities of the chunks that the original cuts."""
    chars: int
    seconds: float
    """CPU time of the judge alone."""


def judge_case(case: dict[str, Any], config: Config = CONFIG) -> Judged:
    seconds = 0.0

    def timed(request: Request) -> Answers | Unanswered:
        nonlocal seconds
        began = time.process_time()
        outcome = judge_locally(request)
        seconds += time.process_time() - began
        return outcome

    cutting = cut_case(case, config, timed)
    lines = _prediction(case, cutting)
    original = cut_case(case, Config.original(), judge_locally)
    return Judged(lines | _chances(cutting), lines | _chances(original), len(case["output"]), seconds)


def _chances(cutting: Cutting) -> dict[str, Any]:
    return {"chunks": [[first + 1, stop, chance] for first, stop, chance, _ in cutting.chunks]}


def _prediction(case: dict[str, Any], cutting: Cutting) -> dict[str, Any]:
    lines = "whole" if cutting.lines is None else [[line + 1, line + 1] for line in cutting.lines]
    return {"id": case["id"], "kept_lines": lines}


def peers_table(scorer: Any, cases: Sequence[dict[str, Any]]) -> str:
    """Each setting of each peer, and what this judge reaches at its kept share."""
    curve = []
    for way in WAYS:
        if way.name != ORIGINAL_NAME:
            judge = partial(judge_with, WEIGHTS, settings=Settings(keep_share=way.share))
            curve.append(_reached(scorer, cases, [cut_case(case, way.config, judge) for case in cases]))
    runs = run_peers(installed(), [task_of_case(case) for case in cases])
    head = ("peer", "line recall", "kept", "changed text", "all needed", "this judge at that size")
    size = sum(len(case["output"]) for case in cases)
    body = []
    for name in runs[0]:
        left = [run[name].outputs[case["id"]] for case, run in zip(cases, runs, strict=True)]
        kept, *reached = _reached(scorer, cases, [Cutting(each.lines) for each in left])
        ours = (at_size([(point[0], point[at]) for point in curve], kept) for at in (1, 2))
        changed = sum(each.changed for each in left) / size
        cells = [f"{100 * value:.1f}" for value in (reached[0], kept, changed, reached[1])]
        body.append((name, *cells, " / ".join(f"{100 * value:.1f}" for value in ours)))
    return table(head, body)


def _reached(scorer: Any, cases: Sequence[dict[str, Any]], cuttings: Sequence[Cutting]) -> tuple[float, float, float]:
    """Means of kept share, line recall, and whether nothing needed is lost."""
    pairs = zip(cases, cuttings, strict=True)
    rows = [scorer.score_case(case, _prediction(case, cutting)) for case, cutting in pairs]
    return (
        scorer.mean(row["share"] for row in rows),
        scorer.mean(row["recall"] for row in rows),
        scorer.mean(row["recall"] == 1 for row in rows),
    )


def load_scorer(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("score", folder / "score.py")
    if spec is None or spec.loader is None:
        sys.exit(f"no scorer in {folder}")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer


def main(arguments: list[str]) -> int:
    ask = argparse.ArgumentParser(description="The embedded judge on labelled outputs: what it keeps, loses and costs.")
    ask.add_argument("bed", type=bed_folder, nargs="?", default=str(BED), help="their folder (../shared/bed)")
    ask.add_argument("--peers", action="store_true", help="a table of other people's packages too")
    given = ask.parse_args(arguments)
    scorer = load_scorer(given.bed)
    sets = scorer.load()
    judged = {case["id"]: judge_case(case) for cases in sets.values() for case in cases}
    scorer.report(JUDGE, sets, {name: each.prediction for name, each in judged.items()})
    print("\nThe same lines, chunk figures on the cuts of the original:")
    scorer.report(JUDGE, sets, {name: each.by_original_cuts for name, each in judged.items()})
    rates = sorted(1_000 * each.seconds / each.chars * 2_000 for each in judged.values())
    total = 1_000 * sum(each.seconds for each in judged.values()) / sum(each.chars for each in judged.values())
    slowest = max(judged.values(), key=lambda each: each.seconds)
    print(
        f"\nCPU time: {2_000 * total:.2f} ms per 2,000 characters, {50_000 * total:.0f} ms per 50,000 "
        f"(worst output {rates[-1]:.2f} ms per 2,000; slowest {1_000 * slowest.seconds:.0f} ms for {slowest.chars})"
    )
    if given.peers:
        cases = [case for case in sets["cases"] if case["expect"] == "some"]
        print(f"\n{peers_table(scorer, cases) if installed() else 'No peer is installed: scripts/install_peers.sh'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
