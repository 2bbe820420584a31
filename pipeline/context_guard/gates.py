"""The last word on a pass: its edits must earn back their cache rewrite, and no entry is edited twice."""

import msgspec
from msgspec import Struct

from context_guard.cache.break_even import Edits, Gate, weigh
from context_guard.cache.layout import Layout
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.records import DEFERRED, Phase


class Gated(Struct, frozen=True):
    decisions: tuple[Decision, ...]
    exchanges: Gate | None = None
    """None here and below when there was nothing to weigh."""
    early: Gate | None = None
    """Images and deferred outputs from before the run."""
    edits: Gate | None = None
    """Everything that was left, as a whole."""


def keep_disjoint(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Without the items inside an exchange that goes as a whole: their entries leave the context with it."""
    gone = {entry_id for decision in decisions for entry_id in decision.omitted or ()}
    return tuple(item for item in decisions if item.kind == "exchange" or item.entry_id not in gone)


def apply_gates(
    decisions: tuple[Decision, ...], early: frozenset[str], phase: Phase, layout: Layout, config: Config
) -> Gated:
    """Defer exchanges, then what is older than the run, then the rest, where the sum says no.

    Later entries cost no more rewriting than earlier ones, so what is weighed last decides for all that is left.
    """
    disjoint = keep_disjoint(decisions)
    exchanges = old = None
    if config.exchange_break_even and phase == "run-end":
        exchanges = _gate(disjoint, _omitted(disjoint), layout, config.exchange_min_saving_chars, config)
        if exchanges is not None and not exchanges.allowed:
            disjoint = _defer(decisions, _omitted(disjoint), exchanges, config)
        old = _gate(disjoint, early, layout, 0, config)
        if old is not None and not old.allowed:
            disjoint = _defer(disjoint, early, old, config)
    edits = None
    if config.run_end_break_even if phase == "run-end" else config.mid_run_break_even and not config.original_costs:
        everything = frozenset(item.entry_id for item in disjoint)
        edits = _gate(disjoint, everything, layout, 0, config)
        if edits is not None and not edits.allowed:
            whole = edits
            edits, waiting = _latest_part(disjoint, whole, layout, config)
            disjoint = _defer(disjoint, waiting, whole, config)
    return Gated(decisions=disjoint, exchanges=exchanges, early=old, edits=edits)


def _latest_part(
    decisions: tuple[Decision, ...], whole: Gate, layout: Layout, config: Config
) -> tuple[Gate, frozenset[str]]:
    """The largest part that pays without the earliest edits, and what has to wait; of none, everything waits."""
    changed = [item for item in decisions if item.replacement is not None]
    places = {entry_id: place for place, entry_id in enumerate(layout.ids)}
    ordered = sorted(changed, key=lambda item: places.get(item.entry_id, -1))
    for start in range(1, len(ordered)):
        part = edits_of(tuple(ordered[start:]))
        gate = weigh(layout, part, Edits(), 0, config)
        if gate.allowed:
            return gate, frozenset(item.entry_id for item in ordered[:start])
    return whole, frozenset(item.entry_id for item in changed)


def edits_of(decisions: tuple[Decision, ...]) -> Edits:
    changed = [item for item in decisions if item.replacement is not None]
    return Edits(
        targets=tuple(target for item in changed for target in (item.entry_id, *(item.omitted or ()))),
        saved=sum(item.before_chars - item.after_chars for item in changed),
    )


def _gate(
    decisions: tuple[Decision, ...], chosen: frozenset[str], layout: Layout, min_saving: int, config: Config
) -> Gate | None:
    """The sum for the edits of the decisions on `chosen` entries beside all others; None when there are none."""
    own = edits_of(tuple(item for item in decisions if item.entry_id in chosen))
    others = edits_of(tuple(item for item in decisions if item.entry_id not in chosen))
    return weigh(layout, own, others, min_saving, config) if own.targets else None


def _omitted(decisions: tuple[Decision, ...]) -> frozenset[str]:
    return frozenset(item.entry_id for item in decisions if item.kind == "exchange" and item.replacement is not None)


def _defer(decisions: tuple[Decision, ...], chosen: frozenset[str], gate: Gate, config: Config) -> tuple[Decision, ...]:
    """The chosen edits wait: images for the next pass to find, everything else with a word in the record, and the sum
    beside it, which the original has no place for."""
    waiting = {item.entry_id for item in decisions if item.entry_id in chosen and item.replacement is not None}
    return tuple(
        _deferred(item, "" if config.original_costs else gate.weighed) if item.entry_id in waiting else item
        for item in decisions
        if item.kind != "image" or item.entry_id not in waiting
    )


def _deferred(decision: Decision, weighed: str) -> Decision:
    return msgspec.structs.replace(
        decision,
        outcome="kept",
        reason=DEFERRED,
        weighed=weighed,
        after_chars=decision.before_chars,
        kept_lines=decision.total_lines,
        replacement=None,
        omitted=None,
        stretches=(),
    )
