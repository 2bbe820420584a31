"""Figures over labelled outputs: what of the needed is kept, at what size, and how well the probabilities hold."""

from collections.abc import Sequence
from statistics import fmean

from benchmarks.quality.chain import Cutting
from benchmarks.train_local_judge.material import Case
from msgspec import Struct

REMOVED = 0.05
"""A dead end counts as removed with at most this share of its characters left."""


class Figures(Struct, frozen=True):
    """A figure is None where there is no case of its sort; those of chunks, where a method has none of its own."""

    line_recall: float | None
    chunk_recall: float | None
    kept: float | None
    zero_loss: float | None
    """Outputs of which no needed line is lost."""
    auc: float | None
    ece: float | None
    dead_ends: float | None
    emptied: float | None
    whole: float | None
    vague_recall: float | None


def figures(cases: Sequence[Case], cuttings: Sequence[Cutting]) -> Figures:
    some, none, whole, vague, shares, areas, parts, chunks = [], [], [], [], [], [], [], []
    empty = 0
    for case, cutting in zip(cases, cuttings, strict=True):
        needed, either = lines_of(case, "needed"), lines_of(case, "maybe")
        kept = None if cutting.lines is None else set(cutting.lines)
        share = kept_share(case, kept)
        if case["expect"] == "none":
            none.append(share <= REMOVED)
            continue
        empty += kept is not None and not kept
        labelled = [
            (p, bool(own & needed), stays)
            for first, stop, p, stays in cutting.chunks
            if (own := set(range(first, stop))) & needed or not own & either
        ]
        chunks += labelled
        if case["expect"] == "whole":
            whole.append(kept is None)
            continue
        recall = 1.0 if kept is None else len(needed & kept) / len(needed)
        some.append(recall)
        shares.append(share)
        vague += [recall] if case["style"] == "vague" else []
        areas += [area] if (area := auc(labelled)) is not None else []
        hits = [stays for _, is_needed, stays in labelled if is_needed]
        parts += [fmean(hits)] if hits else []
    return Figures(
        line_recall=_mean(some),
        chunk_recall=_mean(parts),
        kept=_mean(shares),
        zero_loss=_mean([recall == 1 for recall in some]),
        auc=_mean(areas),
        ece=calibration_error([(p, is_needed) for p, is_needed, _ in chunks]) if chunks else None,
        dead_ends=_mean(none),
        emptied=empty / (len(some) + len(whole)) if some or whole else None,
        whole=_mean(whole),
        vague_recall=_mean(vague),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def lines_of(case: Case, key: str) -> set[int]:
    """Labelled lines that are not blank, from 0."""
    lines = case["output"].split("\n")
    named = {n - 1 for first, last in case[key] for n in range(first, last + 1)}
    return {at for at in named if at < len(lines) and lines[at].strip()}


def kept_share(case: Case, kept: set[int] | None) -> float:
    if kept is None:
        return 1.0
    lines = case["output"].split("\n")
    return sum(len(lines[at]) + 1 for at in kept) / (len(case["output"]) + 1)


def auc(parts: Sequence[tuple[float, bool, bool]]) -> float | None:
    """How often a needed part is likelier than another of its output; None where there is only one sort."""
    good, bad = ([p for p, is_needed, _ in parts if is_needed == side] for side in (True, False))
    if not good or not bad:
        return None
    return fmean((one > other) + (one == other) / 2 for one in good for other in bad)


def calibration_error(parts: Sequence[tuple[float, bool]], bins: int = 10) -> float:
    """Mean distance of probability and share over bins of probability, weighted by their size."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for p, is_needed in parts:
        groups[min(bins - 1, int(p * bins))].append((p, is_needed))
    return sum(
        len(group) / len(parts) * abs(fmean(p for p, _ in group) - fmean(is_needed for _, is_needed in group))
        for group in groups
        if group
    )
