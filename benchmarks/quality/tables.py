"""What was measured, as Markdown."""

from collections.abc import Iterator, Sequence

from benchmarks.quality.curve import at_size
from benchmarks.quality.own import Row
from benchmarks.quality.scores import Figures
from benchmarks.quality.sessions import SETTINGS, Reached, Scored

OWN_HEAD = (
    "method",
    "line recall",
    "chunk recall",
    "kept",
    "changed text",
    "zero loss",
    "this judge at that size",
    "AUC",
    "calibration error",
    "dead ends removed",
    "needed ones emptied",
    "whole ones left whole",
    "vague answers",
)
SESSIONS_HEAD = (
    "method",
    "kept",
    "mean kept",
    "changed text",
    "evidence",
    "need recall",
    "zero loss",
    "this judge at that size",
    "net lines",
    "net steps",
    "quote loss",
)
CLOSE = 0.0005
"""Less than this is no difference: it does not show in the table."""


def own_table(rows: Sequence[Row], count: int) -> str:
    points = [_reached(row.figures) for row in rows if row.is_curve]
    body = [(row.name, *_own_cells(row, points)) for row in rows]
    peers = [(row.name, _reached(row.figures), _ours(row, points)) for row in rows if row.changed is not None]
    return (
        f"### Own labelled outputs\n\n{count} made-up cases over files that nothing is learnt from "
        f"(`benchmarks/quality/own.py`); baselines with a budget of 30 %.\n\n{table(OWN_HEAD, body)}\n"
        f"{_ahead(peers)}{_errors(rows)}"
    )


def sessions_table(found: Sequence[Scored], is_cross_validated: bool, every: int) -> str:
    how = "cross-validated by session" if is_cross_validated else "IN SAMPLE: the judge has seen these sessions"
    text = (
        f"\n### Real sessions, {how}\n\nIn brackets: points above the frontier of all cheap methods at the same kept "
        "share.\n"
    )
    for setting in SETTINGS:
        here = [each for each in found if each.setting == setting]
        peers = [each for each in here if each.changed is not None]
        body = [(each.name, *_session_cells(each)) for each in here if each not in peers]
        text += f"\n#### {setting}\n\n{table(SESSIONS_HEAD, body)}\n"
        if peers:
            sample = "all items" if every == 1 else f"every {every}th item"
            sample += f" ({peers[0].items} with needs)"
            text += f"\nPeers, on {sample}:\n\n{table(SESSIONS_HEAD, [(p.name, *_session_cells(p)) for p in peers])}\n"
            told = [(peer.name, _reached_later(peer), peer.ours or (0.0, 0.0)) for peer in peers]
            text += _ahead(told) + _errors(peers)
    return text


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _own_cells(row: Row, points: Sequence[Reached]) -> Iterator[str]:
    own = row.figures
    yield from map(_percent, (own.line_recall, own.chunk_recall, own.kept, row.changed, own.zero_loss))
    yield _pair(_ours(row, points) if row.way is None else None)
    yield from ("–" if value is None else f"{value:.3f}" for value in (own.auc, own.ece))
    yield from map(_percent, (own.dead_ends, own.emptied, own.whole, own.vague_recall))


def _session_cells(each: Scored) -> Iterator[str]:
    row = each.row
    yield from map(_percent, (row["kept_pooled"], row["kept"], each.changed))
    yield _percent(row["evidence"]) if each.setting == "run-end" else "–"
    yield from (_with_margin(each, key) for key in ("recall", "zero_loss"))
    yield _pair(each.ours)
    yield from (_with_margin(each, key) for key in ("net_lines", "net_steps"))
    yield _percent(row["quote_loss"])


def _with_margin(each: Scored, key: str) -> str:
    return _percent(each.row[key]) + (f" ({100 * each.margins[key]:+.1f})" if key in each.margins else "")


def _reached(own: Figures) -> Reached:
    return (own.kept or 0.0, own.line_recall or 0.0, own.zero_loss or 0.0)


def _reached_later(each: Scored) -> Reached:
    return (each.row["kept_pooled"], each.row["recall"], each.row["zero_loss"])


def _ours(row: Row, points: Sequence[Reached]) -> tuple[float, float]:
    kept = row.figures.kept or 0.0
    recall, zero_loss = (at_size([(point[0], point[at]) for point in points], kept) for at in (1, 2))
    return recall, zero_loss


def _pair(ours: tuple[float, float] | None) -> str:
    return "–" if ours is None else " / ".join(map(_percent, ours))


def _ahead(peers: Sequence[tuple[str, Reached, tuple[float, float]]]) -> str:
    """Where a peer is ahead at its own size, by name."""
    ahead = [
        f"{name} ({what} {100 * (theirs - ours):+.1f} at {_percent(kept)} kept)"
        for name, (kept, *reached), there in peers
        for what, theirs, ours in zip(("recall", "zero loss"), reached, there, strict=True)
        if theirs - ours > CLOSE
    ]
    told = "; ".join(ahead) if ahead else "none"
    return f"\nPeers ahead of this judge at their own size, of {len(peers)} rows: {told}.\n" if peers else ""


def _errors(rows: Sequence[Row] | Sequence[Scored]) -> str:
    failed = [f"{row.name} ({row.errors})" for row in rows if row.errors]
    return (
        f"\nInputs on which a peer raised an error, which count as left whole: {', '.join(failed)}.\n" if failed else ""
    )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
