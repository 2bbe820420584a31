"""A comparison in lines, for people and patches: what was changed, then each item that came out otherwise."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from context_guard.comparison import Change, Comparison, Recall, Side
from context_guard.needs import count_lines
from context_guard.printable import visible_line
from context_guard.text import format_chars, plural, shorten

LINE_CHARS = 160
"""Of a line of an output."""


class Named(Struct, frozen=True):
    """The comparison of one session."""

    name: str
    comparison: Comparison


class Totals(Struct, frozen=True):
    """All sessions together."""

    sessions: int
    items: int
    changed: int
    gained: int
    lost: int
    before_chars: int
    old_chars: int
    new_chars: int
    recall: Recall | None

    @property
    def old_share(self) -> float:
        """Of the characters of all items, those that the model sees."""
        return self.old_chars / self.before_chars if self.before_chars else 1.0

    @property
    def new_share(self) -> float:
        return self.new_chars / self.before_chars if self.before_chars else 1.0


def add_up(named: tuple[Named, ...]) -> Totals:
    all_ = [each.comparison for each in named]
    changes = [change for each in all_ for change in each.changes]
    recalls = [each.recall for each in all_ if each.recall is not None]
    return Totals(
        sessions=len(all_),
        items=sum(each.items for each in all_),
        changed=len(changes),
        gained=sum(count_lines(change.gained) for change in changes),
        lost=sum(count_lines(change.lost) for change in changes),
        before_chars=sum(each.before_chars for each in all_),
        old_chars=sum(each.old_chars for each in all_),
        new_chars=sum(each.new_chars for each in all_),
        recall=Recall(*(sum(values) for values in zip(*map(_counts, recalls), strict=True))) if recalls else None,
    )


def comparison_lines(named: tuple[Named, ...], most: int) -> Iterator[str]:
    """The report. `most`: lines shown of one item's diff; what is left out is counted, but where none is shown."""
    heads = [*_heads(named)]
    yield from heads
    changed = [each for each in named if each.comparison.changes]
    for at, each in enumerate(changed):
        yield from [""] if heads or at else []
        count = f"{len(each.comparison.changes)} of {plural(each.comparison.items, 'item')} changed"
        yield f"{visible_line(each.name)}: {count}"
        for change in each.comparison.changes:
            yield from _change(change, most)
    yield from [""] if heads or changed else []
    yield from total_lines(add_up(named))


def what_changed(comparison: Comparison) -> Iterator[str]:
    """What the two passes were told to do otherwise."""
    yield from (f"{key}: {visible_line(old)} → {visible_line(new)}" for key, old, new in comparison.settings)
    old, new = comparison.judges
    if old != new:
        yield f"judge: {visible_line(old)} → {visible_line(new)}"


def headline(change: Change) -> str:
    """What became of an item, on one line."""
    lines = ""
    if change.total_lines:
        old, new = count_lines(change.old.lines), count_lines(change.new.lines)
        lines = f", {old:,} → {new:,} of {plural(change.total_lines, 'line')}"
        lines += f" (+{count_lines(change.gained):,} -{count_lines(change.lost):,})"
    chars = f"{format_chars(change.old.chars)} → {format_chars(change.new.chars)} characters"
    return f"{_side(change.old)} → {_side(change.new)}{lines}, {chars}"


def total_lines(totals: Totals) -> Iterator[str]:
    if totals.items:
        changed = f"{totals.changed:,} of {plural(totals.items, 'item')} changed"
        where = f" in {plural(totals.sessions, 'session')}" if totals.sessions != 1 else ""
        lines = "line" if totals.gained == 1 else "lines"
        yield f"{changed}{where}: {totals.gained:,} {lines} gained, {totals.lost:,} lost."
        yield f"Kept: {totals.old_share:.1%} → {totals.new_share:.1%} of {totals.before_chars:,} characters."
    else:
        yield "Neither side judged anything, so nothing changed."
    if totals.recall is not None:
        old, new, needed = totals.recall.old, totals.recall.new, totals.recall.needed
        shares = f" ({old / needed:.1%} → {new / needed:.1%})" if needed else ""
        yield f"Labelled lines still shown: {old:,} → {new:,} of {needed:,}{shares}."


def _heads(named: tuple[Named, ...]) -> Iterator[str]:
    """Once for all sessions, as far as they agree."""
    yield from dict.fromkeys(line for each in named for line in what_changed(each.comparison))
    for each in named:
        if each.comparison.unknown:
            yield f"labelled, but not in {each.name}: {', '.join(map(visible_line, each.comparison.unknown))}"


def _change(change: Change, most: int) -> Iterator[str]:
    yield f"  {visible_line(change.entry_id)} {visible_line(change.label)}"
    yield f"    {headline(change)}"
    if change.old.traces != change.new.traces:
        yield from (f"    judge - {visible_line(trace)}" for trace in _without(change.old.traces, change.new.traces))
        yield from (f"    judge + {visible_line(trace)}" for trace in _without(change.new.traces, change.old.traces))
    yield from (f"      {visible_line(shorten(line, LINE_CHARS))}" for line in change.diff[:most])
    if len(change.diff) > most > 0:
        yield f"      … {plural(len(change.diff) - most, 'more line')}"


def _side(side: Side) -> str:
    return f"{side.outcome} ({visible_line(side.reason)})"


def _without(traces: tuple[str, ...], others: Iterable[str]) -> Iterator[str]:
    known = {*others}
    yield from (trace for trace in dict.fromkeys(traces) if trace not in known)


def _counts(recall: Recall) -> tuple[int, int, int]:
    return recall.needed, recall.old, recall.new
