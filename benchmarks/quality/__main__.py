"""The quality benchmark: one table for the own labelled outputs, one for real sessions, one plot, in docs/benchmark.md.

    python -m benchmarks.quality [--cases N] [--bench FOLDER [--folds FILE]] [--plot FILE.png]

`--folds` is what `python -m benchmarks.train_local_judge --folds` wrote; without it the judge has seen the sessions.
`bm25s` and `matplotlib` are used where they are installed.
"""

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.quality.baselines import methods
from benchmarks.quality.chain import Cutting, cut_case
from benchmarks.quality.own import own_cases
from benchmarks.quality.scores import Figures, figures
from benchmarks.quality.sessions import SETTINGS, Scored, Way, score_sessions

from context_guard.config import Config
from context_guard.local_judge import STRICT_SHARE, USUAL_SHARE, judge_locally

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmark.md"
BEGIN, END = "<!-- quality:begin -->", "<!-- quality:end -->"
_OWN_HEAD = (
    "method",
    "line recall",
    "chunk recall",
    "kept",
    "zero loss",
    "AUC",
    "calibration error",
    "dead ends removed",
    "needed ones emptied",
    "whole ones left whole",
    "vague answers",
)
_SESSIONS_HEAD = (
    "method",
    "kept",
    "mean kept",
    "evidence",
    "need recall",
    "zero loss",
    "net lines",
    "net steps",
    "quote loss",
)
SHARES = (STRICT_SHARE, 0.8, USUAL_SHARE, 0.95)
USUAL_NAME = "this judge"
ORIGINAL_NAME = "the original's rules, same judge"


def main() -> None:
    ask = argparse.ArgumentParser(description="Measures what is kept and what is lost.")
    ask.add_argument("--cases", type=int, default=180)
    ask.add_argument("--bench", type=Path, help="folder with real sessions; the scorer lies beside it")
    ask.add_argument("--folds", type=Path, help="cross-validated models")
    ask.add_argument("--plot", type=Path, default=PAGE.parent / "quality.png")
    given = ask.parse_args()
    text = _own_table(given.cases)
    if given.bench:
        ways = [(USUAL_NAME if share == USUAL_SHARE else f"keepShare {share}", Config(), share) for share in SHARES]
        ways.append((ORIGINAL_NAME, Config.original(), USUAL_SHARE))
        found = score_sessions(given.bench, given.folds, ways)
        text += _sessions_table(found, given.folds is not None)
        if find_spec("matplotlib"):
            _plot(found, ways, given.plot)
            text += f"\n![recall against kept share]({given.plot.name})\n"
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmark\n\n" + f"{BEGIN}\n{END}\n"
    if BEGIN not in page:
        page += f"\n{BEGIN}\n{END}\n"
    PAGE.write_text(
        re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.DOTALL), encoding="utf-8"
    )
    print(text)


def _own_table(count: int) -> str:
    cases = own_cases(count)
    rows = {name: figures(cases, [Cutting(method(case)) for case in cases]) for name, method in methods().items()}
    rows["the original's rules, same judge"] = figures(
        cases, [cut_case(c, Config.original(), judge_locally) for c in cases]
    )
    rows[USUAL_NAME] = figures(cases, [cut_case(case, Config(), judge_locally) for case in cases])
    head = _OWN_HEAD
    body = [(name, *_cells(row)) for name, row in rows.items()]
    return (
        f"## Quality\n\n### Own labelled outputs\n\n{len(cases)} made-up cases over files that nothing is learnt from "
        f"(`benchmarks/quality/own.py`); baselines with a budget of 30 %.\n\n{_table(head, body)}\n"
    )


def _cells(row: Figures) -> tuple[str, ...]:
    shares = [row.line_recall, row.chunk_recall, row.kept, row.zero_loss]
    rest = [row.dead_ends, row.emptied, row.whole, row.vague_recall]
    middle = ["–" if value is None else f"{value:.3f}" for value in (row.auc, row.ece)]
    return (*map(_percent, shares), *middle, *map(_percent, rest))


def _sessions_table(found: Sequence[Scored], is_cross_validated: bool) -> str:
    how = "cross-validated by session" if is_cross_validated else "IN SAMPLE: the judge has seen these sessions"
    told = "In brackets: points above the frontier of all cheap methods at the same kept share."
    text = f"\n### Real sessions, {how}\n\n{told}\n"
    head = _SESSIONS_HEAD
    for setting in SETTINGS:
        body = [(each.name, *_scored_cells(each)) for each in found if each.setting == setting]
        text += f"\n#### {setting}\n\n{_table(head, body)}\n"
    return text


def _scored_cells(each: Scored) -> tuple[str, ...]:
    row = each.row
    measured = [
        _percent(row[key]) + (f" ({100 * each.margins[key]:+.1f})" if key in each.margins else "")
        for key in ("recall", "zero_loss", "net_lines", "net_steps")
    ]
    evidence = _percent(row["evidence"]) if each.setting == "run-end" else "–"
    return (_percent(row["kept_pooled"]), _percent(row["kept"]), evidence, *measured, _percent(row["quote_loss"]))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _plot(found: Sequence[Scored], ways: Sequence[Way], path: Path) -> None:
    import_module("matplotlib").use("Agg")
    plots: Any = import_module("matplotlib.pyplot")
    figure, axes = plots.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    curve = [name for name, config, _ in ways if config == Config()]
    for axis, setting in zip(axes, SETTINGS, strict=True):
        here = [each for each in found if each.setting == setting]
        for each in here:
            if each.name not in curve:
                axis.plot(100 * each.row["kept_pooled"], 100 * each.row["recall"], "x", color="grey")
                axis.annotate(each.name, (100 * each.row["kept_pooled"], 100 * each.row["recall"]), fontsize=6)
        ours = sorted(
            (100 * e.row["kept_pooled"], 100 * e.row["recall"], 100 * e.row["zero_loss"])
            for e in here
            if e.name in curve
        )
        axis.plot([x for x, _, _ in ours], [y for _, y, _ in ours], "o-", label="this judge, need recall")
        axis.plot([x for x, _, _ in ours], [z for _, _, z in ours], "s--", label="this judge, zero loss")
        axis.set(title=setting, xlabel="kept, % of characters", ylabel="%")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
