"""Real sessions: every way of cutting by the scorer that comes with the labels, beside the scorer's own baselines."""

import importlib.util
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.quality.chain import Judge, cut_output
from benchmarks.quality.curve import at_size
from benchmarks.quality.later_use import Item, load_items, read_outputs
from benchmarks.quality.peers.adapters import Peer
from benchmarks.quality.peers.run import Run, run_peers
from benchmarks.quality.peers.task import task_of_item
from benchmarks.quality.ways import ORIGINAL_NAME, Way
from benchmarks.train_local_judge.rows import fold_of

from context_guard.local_judge import Settings, judge_with
from context_guard.local_judge.odds import Logistic
from context_guard.local_judge.rates import Rates
from context_guard.local_judge.weights import WEIGHTS, Weights

SETTINGS = ("run-end", "mid-run")
SHOWN = ("keep all", "drop all (stubs)", "head+tail 30%", "mask older than 5 turns", "random blocks 30%",
         "BM25 lines 30%", "BM25 blocks 30%", "newest outputs whole 30%")  # fmt: skip

Kept = dict[str, list[int] | None]
Reached = tuple[float, float, float]
"""Kept share, recall, zero loss."""


class Scored(msgspec.Struct, frozen=True):
    setting: str
    name: str
    row: dict[str, Any]
    margins: dict[str, float] = {}
    """Ours minus the frontier of the scorer's cheap methods at the same pooled kept share."""
    way: Way | None = None
    """None for what is not ours."""
    changed: float | None = None
    """Characters that a peer wrote itself, as a share of the outputs."""
    errors: int = 0
    """Items on which a peer raised an error."""
    ours: tuple[float, float] | None = None
    """Recall and zero loss of this judge at the same size on the same items, for what is not ours."""
    items: int = 0
    """Items with needs that a peer was measured on."""

    @property
    def is_curve(self) -> bool:
        return self.way is not None and self.way.name != ORIGINAL_NAME


def score_sessions(
    folder: Path, folds: Path | None, ways: Sequence[Way], peers: Sequence[Peer], every: int
) -> list[Scored]:
    """Peers are slow: they get every so many-th item, and are compared with what this judge reaches on just those."""
    scorer = _load_scorer(folder)
    items, gold = load_items(folder)
    weights = _read_folds(folds)
    with ProcessPoolExecutor(2) as pool:
        cut = pool.map(partial(_cut_item, weights, tuple(ways)), items, chunksize=8)
        kept = {item["id"]: found for item, found in zip(items, cut, strict=True)}
    some = items[::every]
    runs = {
        item["id"]: found
        for item, found in zip(some, run_peers(peers, [task_of_item(item) for item in some]), strict=True)
    }
    found: list[Scored] = []
    for setting in SETTINGS:
        here = [item for item in items if item["setting"] == setting]
        base = [(name, scorer.aggregate(rows)) for name, rows in scorer.results(here, gold).items()]
        front = scorer.frontier(base)
        curve = _curve(scorer, here, gold, ways, kept)
        found += [Scored(setting, name, row, ours=_ours(curve, row)) for name, row in base if name in SHOWN]
        for at, way in enumerate(ways):
            row = scorer.aggregate(scorer.run(here, gold, lambda item, at=at: kept[item["id"]][at]))
            margins = {key: scorer.margin(row, front, key) for key in ("recall", "zero_loss", "net_lines", "net_steps")}
            found.append(Scored(setting, way.name, row, margins, way))
        few = [item for item in some if item["setting"] == setting]
        if few and peers:
            curve = _curve(scorer, few, gold, ways, kept)
        for name in (name for peer in peers for name in peer.rows if few):
            row = scorer.aggregate(scorer.run(few, gold, lambda item, name=name: _lines_of(runs[item["id"]][name])))
            changed = _changed(few, [runs[item["id"]][name] for item in few])
            errors = sum(bool(runs[item["id"]][name].error) for item in few)
            count = sum(bool(gold[item["id"]]["needs"]) for item in few)
            ours = _ours(curve, row)
            found.append(Scored(setting, name, row, changed=changed, errors=errors, items=count, ours=ours))
    return found


def _curve(
    scorer: Any, items: Sequence[Item], gold: dict[str, Item], ways: Sequence[Way], kept: dict[str, list[Kept]]
) -> list[Reached]:
    """This judge at its settings; nothing is smaller than an emptied run, since what an output leaves behind counts."""
    found: list[dict[str, Kept]] = [
        {item["id"]: {e["id"]: [] for e in item["entries"] if e.get("candidate")} for item in items}
    ]
    found += [
        {item["id"]: kept[item["id"]][at] for item in items} for at, way in enumerate(ways) if way.name != ORIGINAL_NAME
    ]
    rows = (scorer.aggregate(scorer.run(items, gold, lambda item, lines=lines: lines[item["id"]])) for lines in found)
    return [(row["kept_pooled"], row["recall"], row["zero_loss"]) for row in rows]


def _ours(curve: Sequence[Reached], row: dict[str, Any]) -> tuple[float, float]:
    recall, zero_loss = (at_size([(point[0], point[at]) for point in curve], row["kept_pooled"]) for at in (1, 2))
    return recall, zero_loss


def _lines_of(run: Run) -> Kept:
    return {entry: None if left.lines is None else list(left.lines) for entry, left in run.outputs.items()}


def _changed(items: Sequence[Item], runs: Sequence[Run]) -> float:
    size = sum(len(entry["text"]) for item in items for entry in item["entries"] if entry.get("candidate"))
    return sum(left.changed for run in runs for left in run.outputs.values()) / size


def _cut_item(weights: tuple[Weights, ...], ways: tuple[Way, ...], item: Item) -> list[Kept]:
    own = weights[fold_of(item) % len(weights)]
    found: list[Kept] = []
    for way in ways:
        judge: Judge = partial(judge_with, own, settings=Settings(keep_share=way.share))
        kept: Kept = {}
        for output in read_outputs(item, way.config):
            lines = cut_output(output, way.config, judge).lines
            kept[output.candidate.entry_id] = None if lines is None else list(lines)
        found.append(kept)
    return found


def _read_folds(path: Path | None) -> tuple[Weights, ...]:
    """The models that each leave out a fifth of the sessions; without them the shipped one, which knows them all."""
    if path is None:
        return (WEIGHTS,)
    return tuple(
        msgspec.structs.replace(
            WEIGHTS,
            **{
                name: msgspec.convert(each, Logistic if name in ("part", "none") else Rates)
                for name, each in fold.items()
            },
        )
        for fold in json.loads(path.read_text(encoding="utf-8"))
    )


def _load_scorer(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("lateruse", folder.resolve().parent / "lateruse.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no scorer beside {folder}")
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return scorer
