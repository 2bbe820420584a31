"""Recall against kept share: own outputs and both sorts of real sessions, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.given import needed_package
from benchmarks.quality.own import Row
from benchmarks.quality.sessions import SETTINGS, Scored
from msgspec import Struct


class Point(Struct, frozen=True):
    name: str
    kept: float
    recall: float
    zero_loss: float
    is_curve: bool
    is_peer: bool


def plot(rows: Sequence[Row], found: Sequence[Scored], path: Path) -> None:
    needed_package("matplotlib").use("Agg")
    panels = {"own labelled outputs": [_of_own(row) for row in rows]}
    if found:
        panels |= {name: [_of_session(each) for each in found if each.setting == name] for name in SETTINGS}
    plots: Any = needed_package("matplotlib.pyplot")
    figure, axes = plots.subplots(1, len(panels), figsize=(6 * len(panels), 5), squeeze=False)
    for axis, (title, points) in zip(axes[0], panels.items(), strict=True):
        _draw(axis, title, points)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _draw(axis: Any, title: str, points: Sequence[Point]) -> None:
    colours = needed_package("matplotlib").colormaps["tab20"].colors
    axis.set_prop_cycle(color=colours)
    for group in sorted({_group(point) for point in points if point.is_peer}):
        here = sorted((100 * p.kept, 100 * p.recall) for p in points if p.is_peer and _group(p) == group)
        axis.plot([x for x, _ in here], [y for _, y in here], ".:", linewidth=1, label=group)
    for point in points:
        if not point.is_curve and not point.is_peer:
            place = (100 * point.kept, 100 * point.recall)
            axis.plot(*place, "x", color="grey")
            axis.annotate(point.name, place, fontsize=6)
    ours = sorted((100 * p.kept, 100 * p.recall, 100 * p.zero_loss) for p in points if p.is_curve)
    axis.plot([x for x, _, _ in ours], [y for _, y, _ in ours], "o-", color="black", label="this judge, recall")
    axis.plot([x for x, _, _ in ours], [z for _, _, z in ours], "s--", color="black", label="this judge, zero loss")
    axis.set(title=title, xlabel="kept, % of characters", ylabel="recall, %", xlim=(0, 104), ylim=(0, 104))
    axis.legend(fontsize=6, loc="lower right")


def _group(point: Point) -> str:
    """The settings of one peer are one line: what stands before the budget."""
    return point.name.rsplit(" ", 2)[0] if point.name.endswith(" %") else point.name


def _of_own(row: Row) -> Point:
    own = row.figures
    return Point(
        name=row.name,
        kept=own.kept or 0.0,
        recall=own.line_recall or 0.0,
        zero_loss=own.zero_loss or 0.0,
        is_curve=row.is_curve,
        is_peer=row.changed is not None,
    )


def _of_session(each: Scored) -> Point:
    row = each.row
    return Point(
        name=each.name,
        kept=row["kept_pooled"],
        recall=row["recall"],
        zero_loss=row["zero_loss"],
        is_curve=each.is_curve,
        is_peer=each.changed is not None,
    )
