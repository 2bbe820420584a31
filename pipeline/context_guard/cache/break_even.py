"""Whether an edit earns back what it costs."""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from context_guard.cache.layout import CachePolicy, Layout, rewrite_chars

FACTORS: dict[CachePolicy, int] = {"full": 13, "prefix": 16, "pinned": 16, "unpinned": 16}
"""Cost of writing a character again over what reading it costs each time, if 70 % of what is judged goes:
(1 - 0.1) / (0.1 * 0.7) without a charge for writing, (1.25 - 0.1) / (0.1 * 0.7) with one."""

GateReason = Literal["free", "too little", "pays off", "does not pay off"]


class Gate(Struct, frozen=True):
    """The sum for a set of edits on top of the pass's other edits, in characters."""

    saved: int
    min_saving: int
    rewrite_with: int
    rewrite_without: int
    marginal: int
    reason: GateReason
    requests: int | None = None
    """Later requests reckoned with, where it came to that."""
    factor: float | None = None

    @property
    def allowed(self) -> bool:
        return self.reason in ("free", "pays off")


def pays_off(chars: int, requests: int, rewrite: int, factor: float) -> bool:
    return chars * max(1, requests) >= factor * rewrite


def weigh(layout: Layout, own: Collection[str], others: Collection[str], saved: int, min_saving: int) -> Gate:
    """Whether edits of `own` pay for what they make the cache write beyond what `others` make it write anyway."""
    without = rewrite_chars(layout, others) if others else 0
    whole = rewrite_chars(layout, {*own, *others})
    marginal = whole - without
    factor = FACTORS[layout.policy]
    reason: GateReason
    if marginal <= 0:
        reason = "free"
    elif saved < min_saving:
        reason = "too little"
    else:
        reason = "pays off" if pays_off(saved, layout.requests, marginal, factor) else "does not pay off"
    reckoned = reason in ("pays off", "does not pay off")
    return Gate(
        saved=saved,
        min_saving=min_saving,
        rewrite_with=whole,
        rewrite_without=without,
        marginal=marginal,
        reason=reason,
        requests=layout.requests if reckoned else None,
        factor=factor if reckoned else None,
    )
