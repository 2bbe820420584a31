"""The embedded judge on labelled outputs, through the real stages: what it keeps, loses and costs.

    python benchmarks/judge_bed.py [BED]

BED is a folder with the labelled cases and their scorer, `../shared/bed` by default; they are for validation alone.
Printed are the scorer's tables (line recall, kept share, dead ends removed, needed outputs emptied, whole ones left
whole, AUC within an output, calibration), then the time a judgement takes.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "pipeline")]

from benchmarks.given import bed_folder  # noqa: E402
from benchmarks.quality.chain import cut_case  # noqa: E402
from msgspec import Struct  # noqa: E402

from context_guard.answers import Answers, Unanswered  # noqa: E402
from context_guard.config import Config  # noqa: E402
from context_guard.local_judge import JUDGE, judge_locally  # noqa: E402
from context_guard.requests import Request  # noqa: E402

BED = ROOT.parent / "shared" / "bed"
CONFIG = Config()


class Judged(Struct, frozen=True):
    prediction: dict[str, Any]
    """As the scorer reads it."""
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
    lines: Any = "whole" if cutting.lines is None else [[line + 1, line + 1] for line in cutting.lines]
    chunks = [[first + 1, stop, chance] for first, stop, chance, _ in cutting.chunks]
    prediction = {"id": case["id"], "kept_lines": lines, "chunks": chunks}
    return Judged(prediction, len(case["output"]), seconds)


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
    given = ask.parse_args(arguments)
    scorer = load_scorer(given.bed)
    sets = scorer.load()
    judged = {case["id"]: judge_case(case) for cases in sets.values() for case in cases}
    scorer.report(JUDGE, sets, {name: each.prediction for name, each in judged.items()})
    rates = sorted(1_000 * each.seconds / each.chars * 2_000 for each in judged.values())
    total = 1_000 * sum(each.seconds for each in judged.values()) / sum(each.chars for each in judged.values())
    slowest = max(judged.values(), key=lambda each: each.seconds)
    print(
        f"\nCPU time: {2_000 * total:.2f} ms per 2,000 characters, {50_000 * total:.0f} ms per 50,000 "
        f"(worst output {rates[-1]:.2f} ms per 2,000; slowest {1_000 * slowest.seconds:.0f} ms for {slowest.chars})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
