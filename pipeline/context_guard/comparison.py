"""Two passes over the same material, one against the other: which decisions changed, and which lines the model sees
now that it did not see before, or sees no more."""

from collections.abc import Iterator
from difflib import unified_diff

import msgspec
from msgspec import Struct

from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.needs import Need, common, count_lines, without
from context_guard.records import Kind
from context_guard.render import LineRanges
from context_guard.saved_trace import Trace
from context_guard.text import compact_json
from context_guard.transcript import Transcript, text_of

CONTEXT = 2
"""Lines around a change, in a diff of texts."""


class Side(Struct, frozen=True):
    """What became of an item on one side."""

    outcome: str
    reason: str
    chars: int
    """What the model sees of it."""
    lines: LineRanges
    """The lines of the original that it sees something of."""
    traces: tuple[str, ...]


class Change(Struct, frozen=True):
    """An item about which the passes differ."""

    kind: Kind
    entry_id: str
    label: str
    old: Side
    new: Side
    total_lines: int
    gained: LineRanges
    lost: LineRanges
    diff: tuple[str, ...]
    """Lines of the original, `+` gained and `-` lost, with their numbers; of the two texts in the context where the
    same lines are shown in other words."""


class Recall(Struct, frozen=True):
    """Of labelled lines, those that the model still sees."""

    needed: int
    old: int
    new: int


class Comparison(Struct, frozen=True):
    settings: tuple[tuple[str, str, str], ...]
    """Name on disk, old and new value as JSON."""
    judges: tuple[str, str]
    changes: tuple[Change, ...]
    items: int
    """Items that either pass judged."""
    before_chars: int
    """Their size as it was; below what is left of it."""
    old_chars: int
    new_chars: int
    recall: Recall | None = None
    unknown: tuple[str, ...] = ()
    """Labelled entries that are not in the transcript."""


def compare(old: Trace, new: Trace, needs: tuple[Need, ...] = ()) -> Comparison:
    texts = _texts(new.transcript) | _texts(old.transcript)
    pairs = _pairs(old.settlement.decisions, new.settlement.decisions)
    within = _omitted(old.settlement.decisions) | _omitted(new.settlement.decisions)
    counted = [pair for pair in pairs if pair[0].entry_id not in within]
    return Comparison(
        settings=tuple(_settings(old.config, new.config)),
        judges=(old.settlement.record.model, new.settlement.record.model),
        changes=tuple(_changes(pairs, texts)),
        items=len(pairs),
        before_chars=sum(one.before_chars for one, _ in counted),
        old_chars=sum(one.after_chars for one, _ in counted),
        new_chars=sum(other.after_chars for _, other in counted),
        recall=_recall(needs, pairs, texts),
        unknown=tuple(need.entry_id for need in needs if need.entry_id not in texts),
    )


Pair = tuple[Decision, Decision]
Decisions = tuple[Decision, ...]


def _pairs(old: Decisions, new: Decisions) -> tuple[Pair, ...]:
    """Every item that either pass decided on, once, be it large to one and small to the other; where one did not decide
    on it, it left the item alone, or omitted the exchange that it is in."""
    ours, theirs = ({_subject(it): it for it in side} for side in (old, new))
    first = [(it, theirs.get(_subject(it)) or _undecided(it, new)) for it in old]
    return (*first, *((_undecided(it, old), it) for it in new if _subject(it) not in ours))


def _subject(decision: Decision) -> tuple[str, str]:
    """What is decided on: of one entry its text, its images, or the exchange that it begins."""
    return ("text" if decision.kind in ("large", "small") else decision.kind), decision.entry_id


def _undecided(decision: Decision, side: Decisions) -> Decision:
    """The item on the side that did not decide on it."""
    is_gone = decision.entry_id in _omitted(side)
    inside = [it for it in side if it.entry_id in (decision.omitted or ())]
    left = decision.before_chars - sum(it.before_chars - it.after_chars for it in inside)
    return msgspec.structs.replace(
        decision,
        outcome="removed" if is_gone else "kept",
        reason="its exchange is omitted" if is_gone else "not judged",
        after_chars=0 if is_gone else left,
        traces=(),
        replacement=() if is_gone else None,
        omitted=None,
        stretches=(),
    )


def _omitted(decisions: Decisions) -> frozenset[str]:
    """Entries that go with the prompt of their exchange, which counts their characters."""
    return frozenset(entry_id for decision in decisions for entry_id in decision.omitted or ())


def _changes(pairs: tuple[Pair, ...], texts: dict[str, str]) -> Iterator[Change]:
    for one, other in pairs:
        if (one.outcome, one.reason, one.replacement, one.omitted) == (
            *(other.outcome, other.reason),
            *(other.replacement, other.omitted),
        ):
            continue
        lines = texts.get(one.entry_id, "").split("\n") if one.kind in ("large", "small") else []
        before, after = _lines_of(one, len(lines)), _lines_of(other, len(lines))
        gained, lost = without(after, before), without(before, after)
        yield Change(
            kind=other.kind,
            entry_id=one.entry_id,
            label=other.label,
            old=_side(one, before),
            new=_side(other, after),
            total_lines=len(lines),
            gained=gained,
            lost=lost,
            diff=tuple(_numbered(lines, gained, lost) if gained or lost else _diff_of_texts(one, other)),
        )


def _side(decision: Decision, lines: LineRanges) -> Side:
    return Side(decision.outcome, decision.reason, decision.after_chars, lines, decision.traces)


def _lines_of(decision: Decision, total: int) -> LineRanges:
    if decision.replacement is None:
        return ((0, total),) if total else ()
    return decision.shown or ()


def _numbered(lines: list[str], gained: LineRanges, lost: LineRanges) -> Iterator[str]:
    signs = {at: "+" for start, end in gained for at in range(start, end)}
    signs |= {at: "-" for start, end in lost for at in range(start, end)}
    width = len(str(len(lines)))
    yield from (f"{signs[at]}{at + 1:>{width}}: {lines[at]}" for at in sorted(signs))


def _diff_of_texts(one: Decision, other: Decision) -> Iterator[str]:
    """For items without lines, and where the same lines are shown in other words."""
    old, new = ("\n".join(side.replacement or ()).split("\n") for side in (one, other))
    yield from (line for line in unified_diff(old, new, n=CONTEXT, lineterm="") if line[:3] not in ("---", "+++"))


def _recall(needs: tuple[Need, ...], pairs: tuple[Pair, ...], texts: dict[str, str]) -> Recall | None:
    known = [need for need in needs if need.entry_id in texts]
    if not known:
        return None
    shown = [_shown(tuple(pair[side] for pair in pairs), known, texts) for side in (0, 1)]
    return Recall(needed=sum(count_lines(need.lines) for need in known), old=shown[0], new=shown[1])


def _shown(decisions: Decisions, needs: list[Need], texts: dict[str, str]) -> int:
    gone = _omitted(decisions)
    own = {decision.entry_id: decision for decision in decisions if decision.kind in ("large", "small")}
    total = 0
    for need in needs:
        if need.entry_id in gone:
            continue
        decision = own.get(need.entry_id)
        lines = need.lines if decision is None else _lines_of(decision, texts[need.entry_id].count("\n") + 1)
        total += count_lines(common(need.lines, lines))
    return total


def _texts(transcript: Transcript) -> dict[str, str]:
    return {entry.id: text_of(entry.visible or entry.raw) for entry in transcript.entries}


def _settings(old: Config, new: Config) -> Iterator[tuple[str, str, str]]:
    one, other = msgspec.to_builtins(old), msgspec.to_builtins(new)
    yield from ((key, compact_json(one[key]), compact_json(other[key])) for key in one if one[key] != other[key])
