"""Whether edits earn back what they cost: the verdict, by the provider's prices or by the original's factors."""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from context_guard.cache.costs import CostSum, sum_up
from context_guard.cache.layout import CachePolicy, Layout, rewrite_chars
from context_guard.config import Config
from context_guard.text import format_chars

FACTORS: dict[CachePolicy, int] = {"full": 13, "prefix": 16, "pinned": 16, "unpinned": 16}
"""The original's: cost of writing a character again over what reading it costs each time, if 70 % of what is judged
goes: (1 - 0.1) / (0.1 * 0.7) without a charge for writing, (1.25 - 0.1) / (0.1 * 0.7) with one."""

GateReason = Literal["free", "too little", "pays off", "does not pay off", "too risky"]


class Edits(Struct, frozen=True):
    """Entries that edits touch, and the characters that these take out of the context."""

    targets: tuple[str, ...] = ()
    saved: int = 0

    def __add__(self, other: "Edits") -> "Edits":
        return Edits(targets=self.targets + other.targets, saved=self.saved + other.saved)


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
    """The original's, where it decided."""
    cost: CostSum | None = None
    """The whole bill with these edits, where prices decided."""

    @property
    def allowed(self) -> bool:
        return self.reason in ("free", "pays off")

    @property
    def sums(self) -> str:
        """What was weighed: by prices, or by size."""
        if self.cost is not None:
            return self.cost.words
        return f"{self.saved:,} characters saved, {format_chars(self.marginal)} that the cache writes again"

    @property
    def weighed(self) -> str:
        """Why edits that are not allowed wait, in a clause."""
        match self.reason:
            case "too little":
                return f"{self.saved:,} characters saved, fewer than the {self.min_saving:,} they have to"
            case "too risky":
                return f"too much at risk if the session ended soon: {self.sums}"
            case _:
                return self.sums


def pays_off(chars: int, requests: int, rewrite: int, factor: float) -> bool:
    return chars * max(1, requests) >= factor * rewrite


def weigh(layout: Layout, own: Edits, others: Edits, min_saving: int, config: Config) -> Gate:
    """Whether the edits `own` pay for what they make the cache write beyond what `others` make it write anyway."""
    without = rewrite_chars(layout, others.targets) if others.targets else 0
    whole = rewrite_chars(layout, own.targets + others.targets)
    gate = Gate(
        saved=own.saved,
        min_saving=min_saving,
        rewrite_with=whole,
        rewrite_without=without,
        marginal=whole - without,
        reason="free",
    )
    return _by_factor(gate, layout) if config.original_costs else _by_prices(gate, layout, own, others, config)


def expect(layout: Layout, targets: Collection[str], chars: int, requests: int, config: Config) -> tuple[int, bool]:
    """Before anything was judged: the rewrite of edits in `chars` characters, and whether they are likely to pay."""
    rewrite = rewrite_chars(layout, targets)
    if config.original_costs:
        return rewrite, pays_off(chars, requests, rewrite, FACTORS[layout.policy])
    bill = sum_up(layout, targets, int(chars * config.assumed_share), requests, config)
    return rewrite, bill.net >= 0 and (layout.is_cold or bill.after(layout.sure) <= layout.at_risk)


def _by_factor(gate: Gate, layout: Layout) -> Gate:
    if gate.marginal <= 0:
        return gate
    if gate.saved < gate.min_saving:
        return replace(gate, reason="too little")
    factor = FACTORS[layout.policy]
    pays = pays_off(gate.saved, layout.requests, gate.marginal, factor)
    reason: GateReason = "pays off" if pays else "does not pay off"
    return replace(gate, reason=reason, requests=layout.requests, factor=factor)


def _by_prices(gate: Gate, layout: Layout, own: Edits, others: Edits, config: Config) -> Gate:
    """By the whole bill with and without them; a cold cache makes the edits free."""
    both = own + others
    bill = sum_up(layout, both.targets, both.saved, layout.requests, config)
    net = bill.net - (
        sum_up(layout, others.targets, others.saved, layout.requests, config).net if others.targets else 0
    )
    weighed = replace(gate, requests=bill.requests, cost=bill)
    if (layout.is_cold and bill.later >= bill.first) or (gate.marginal <= 0 and net >= 0):
        return replace(weighed, reason="free")
    if gate.saved < gate.min_saving:
        return replace(weighed, reason="too little", requests=None)
    if net < 0:
        return replace(weighed, reason="does not pay off")
    return replace(weighed, reason="too risky" if bill.after(layout.sure) > layout.at_risk else "pays off")
