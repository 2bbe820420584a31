"""The last word at run end: edits of old parts of the conversation must earn back their cache rewrite.

Also what makes the edits of a pass disjoint: images inside an exchange that goes with it are not edited on their own.
"""

import msgspec
from msgspec import Struct

from context_guard.cache.break_even import Gate, weigh
from context_guard.cache.layout import Layout
from context_guard.config import Config
from context_guard.decisions import Decision


class Gated(Struct, frozen=True):
    decisions: tuple[Decision, ...]
    exchanges: Gate | None = None
    """None when there was nothing to weigh."""
    images: Gate | None = None


def keep_disjoint(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """Without the images of entries that an omitted exchange takes out of the context altogether."""
    gone = {entry_id for decision in decisions for entry_id in decision.omitted or ()}
    return tuple(item for item in decisions if item.kind != "image" or item.entry_id not in gone)


def apply_gates(decisions: tuple[Decision, ...], early_images: frozenset[str], layout: Layout, config: Config) -> Gated:
    """Defer exchanges, then leave images from before the run, where the sum says no."""
    disjoint = keep_disjoint(decisions)
    if not config.exchange_break_even:
        return Gated(decisions=disjoint)
    exchanges = _gate(disjoint, _omitted(disjoint), layout, config.exchange_min_saving_chars)
    if exchanges is not None and not exchanges.allowed:
        disjoint = tuple(map(_defer, decisions))
    images = _gate(disjoint, early_images, layout, 0)
    if images is not None and not images.allowed:
        disjoint = tuple(item for item in disjoint if not _is_early(item, early_images))
    return Gated(decisions=disjoint, exchanges=exchanges, images=images)


def targets_of(decision: Decision) -> tuple[str, ...]:
    """Entries that the decision's edits touch."""
    return () if decision.replacement is None else (decision.entry_id, *(decision.omitted or ()))


def _gate(decisions: tuple[Decision, ...], chosen: frozenset[str], layout: Layout, min_saving: int) -> Gate | None:
    """The sum for the edits of the decisions on `chosen` entries beside all others; None when there are none."""
    own = [item for item in decisions if item.entry_id in chosen and item.replacement is not None]
    if not own:
        return None
    others = [target for item in decisions if item.entry_id not in chosen for target in targets_of(item)]
    saved = sum(item.before_chars - item.after_chars for item in own)
    return weigh(layout, [target for item in own for target in targets_of(item)], others, saved, min_saving)


def _omitted(decisions: tuple[Decision, ...]) -> frozenset[str]:
    return frozenset(item.entry_id for item in decisions if item.kind == "exchange" and item.replacement is not None)


def _is_early(decision: Decision, early: frozenset[str]) -> bool:
    return decision.kind == "image" and decision.entry_id in early


def _defer(decision: Decision) -> Decision:
    if decision.kind != "exchange" or decision.replacement is None:
        return decision
    return msgspec.structs.replace(
        decision,
        outcome="kept",
        reason="deferred",
        after_chars=decision.before_chars,
        replacement=None,
        omitted=None,
    )
