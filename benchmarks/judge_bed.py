"""The embedded judge on labelled outputs, through the real stages: what it keeps, loses and costs.

    python benchmarks/judge_bed.py [BED]

BED is a folder with the labelled cases and their scorer, `../shared/bed` by default; they are for validation alone.
Printed are the scorer's tables (line recall, kept share, dead ends removed, needed outputs emptied, whole ones left
whole, AUC within an output, calibration), then the time a judgement takes.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard import Answers, Candidate, Config, Cut, Request, Span, cut_chunks, decide_keep_set, decide_output
from context_guard.history import Exchange, History
from context_guard.holds import add_holds, find_holds
from context_guard.local_judge import JUDGE, judge_locally
from context_guard.requests import build_request, chunk_id
from context_guard.segments import pack_segments
from context_guard.text import clip
from context_guard.trims import find_trims

ROOT = Path(__file__).resolve().parent.parent
BED = ROOT.parent / "shared" / "bed"
CONFIG = Config()


class Judged(Struct, frozen=True):
    prediction: dict[str, Any]
    """As the scorer reads it."""
    reasons: tuple[str, ...]
    chars: int
    seconds: float
    """CPU time of the judge alone."""


def judge_case(case: dict[str, Any], config: Config = CONFIG) -> Judged:
    span, candidate = to_span(case), to_candidate(case)
    cut = cut_chunks(candidate, config)
    keep_sets = []
    chances: list[list[float]] = []
    seconds = 0.0
    for segment in pack_segments(cut, config):
        outcome = None
        if not segment.oversize:
            request = build_request(span, candidate, cut, segment, "run-end")
            began = time.process_time()
            outcome = judge_locally(request)
            seconds += time.process_time() - began
            chances += _chances(request, outcome, cut)
        keep_sets.append(decide_keep_set(segment, outcome, config))
    holds = find_holds(candidate, cut, span, config)
    decision = decide_output(candidate, cut, tuple(keep_sets), case["answer"], config, "run-end", holds)
    kept = add_holds(sorted({index for keep_set in keep_sets for index in keep_set.kept}), cut, holds)
    lines: Any = "whole"
    if decision.outcome == "removed":
        lines = []
    elif decision.outcome == "distilled":
        trims = find_trims(cut, kept, case["answer"]) if config.trim_lines else {}
        gone = {line for found in trims.values() for trim in found for line in range(trim.start, trim.end)}
        shown = {line for index in kept for line in range(cut.chunks[index].start, cut.chunks[index].end)}
        lines = [[line + 1, line + 1] for line in sorted(shown - gone)]
    prediction = {"id": case["id"], "kept_lines": lines, "chunks": chances}
    return Judged(prediction, tuple(k.reason for k in keep_sets), len(candidate.text), seconds)


def to_span(case: dict[str, Any]) -> Span:
    exchanges = tuple(
        Exchange(user=clip(item["user"], 800), assistant=clip(item.get("assistant") or "", 1_200))
        for item in case["history"][-CONFIG.history_exchanges :]
    )
    return Span(
        start_id="prompt",
        start=0,
        end=1,
        question=case["question"],
        answer=case["answer"],
        latest=case["answer"],
        notes=case["notes"],
        history=History(exchanges=exchanges),
        turns=1,
        calls=(),
        results=(),
    )


def to_candidate(case: dict[str, Any]) -> Candidate:
    return Candidate(
        entry_id=case["id"],
        tool=case["tool"],
        args=json.dumps(case["args"], ensure_ascii=False, separators=(",", ":")),
        label=case["tool"],
        text=case["output"],
        is_error=case["is_error"],
        turn=0,
    )


def _chances(request: Request, outcome: object, cut: Cut) -> list[list[float]]:
    """First line, last line, raw probability of each chunk that was asked about."""
    raw = dict(outcome.raw) if isinstance(outcome, Answers) else {}
    names = {part.id for part in request.state.parts}
    chunks = [chunk for chunk in cut.chunks if chunk_id(chunk.index) in names]
    return [[chunk.start + 1, chunk.end, raw[chunk_id(chunk.index)]] for chunk in chunks]


def load_scorer(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("score", folder / "score.py")
    if spec is None or spec.loader is None:
        sys.exit(f"no scorer in {folder}")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer


def main(folder: Path) -> None:
    if not (folder / "score.py").is_file():
        sys.exit(f"{folder} holds no labelled outputs; give their folder as the argument")
    scorer = load_scorer(folder)
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


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BED)
