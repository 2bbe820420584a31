"""Audited sessions added up, by host and model and over all."""

from collections.abc import Iterable

from msgspec import Struct

from context_guard.cost.audit import Audited, Bill

MUCH = 0.01
"""A session counts as dearer from here on, by the low end of its band: the limit that the benchmark holds."""


class Totals(Struct, frozen=True, kw_only=True, rename="camel"):
    host: str = ""
    model: str = ""
    sessions: int = 0
    requests: int = 0
    chars: int = 0
    kept_out_chars: int = 0
    kept_out_tokens: int = 0
    edits: int = 0
    edited: int = 0
    """Sessions with an edit."""
    units: float = 0.0
    saved_low: float = 0.0
    """Units, at worst; below 0 the sessions would have cost more."""
    saved_high: float = 0.0
    dollars: float = 0.0
    """Of the sessions whose model has a price."""
    dollars_saved_low: float = 0.0
    dollars_saved_high: float = 0.0
    unpriced: int = 0
    """Sessions whose model has no price."""
    without: Bill = Bill()
    with_guard: Bill = Bill()
    recorded: float = 0.0
    """Units as the providers counted them, of the sessions that hold all of that …"""
    simulated: float = 0.0
    """… and units of the same sessions by the simulation."""
    undercounted: int = 0
    """Sessions that say of far fewer tokens than their texts have that they were all."""
    dearer: int = 0
    """Sessions that would have cost over 1 % more even without any extra step."""
    maybe_dearer: int = 0
    """Sessions that would have cost over 1 % more with the extra steps assumed."""
    remote_judge_dollars: float = 0.0

    @property
    def low(self) -> float:
        """Change of the bill at best, as a share."""
        return -self.saved_high / self.units if self.units else 0.0

    @property
    def high(self) -> float:
        return -self.saved_low / self.units if self.units else 0.0


NOTHING = Totals()


def add_up(sessions: Iterable[Audited], total: Totals = NOTHING) -> Totals:
    """On top of a total of others."""
    for session in sessions:
        total = _add(total, session)
    return total


def by_host_and_model(sessions: Iterable[Audited]) -> tuple[Totals, ...]:
    """The group that keeps most out of context first."""
    groups: dict[tuple[str, str], list[Audited]] = {}
    for session in sessions:
        groups.setdefault((session.host, session.model), []).append(session)
    totals = [add_up(own, Totals(host=host, model=model)) for (host, model), own in groups.items()]
    return tuple(sorted(totals, key=lambda it: (-it.kept_out_chars, it.host, it.model)))


def _add(total: Totals, one: Audited) -> Totals:
    dollars = None if one.price is None else one.bill * one.price / 1e6
    return Totals(
        host=total.host,
        model=total.model,
        sessions=total.sessions + 1,
        requests=total.requests + one.requests,
        chars=total.chars + one.chars,
        kept_out_chars=total.kept_out_chars + one.kept_out_chars,
        kept_out_tokens=total.kept_out_tokens + one.kept_out_tokens,
        edits=total.edits + one.edits,
        edited=total.edited + (one.edits > 0),
        units=total.units + one.bill,
        saved_low=total.saved_low - one.high * one.bill,
        saved_high=total.saved_high - one.low * one.bill,
        dollars=total.dollars + (dollars or 0.0),
        dollars_saved_low=total.dollars_saved_low - one.high * (dollars or 0.0),
        dollars_saved_high=total.dollars_saved_high - one.low * (dollars or 0.0),
        unpriced=total.unpriced + (dollars is None),
        without=total.without + one.without,
        with_guard=total.with_guard + one.with_guard,
        recorded=total.recorded + (0.0 if one.counted is None else one.counted.units),
        simulated=total.simulated + (0.0 if one.counted is None else one.without.units),
        undercounted=total.undercounted + (one.recorded is not None and one.counted is None),
        dearer=total.dearer + (one.low > MUCH),
        maybe_dearer=total.maybe_dearer + (one.high > MUCH),
        remote_judge_dollars=total.remote_judge_dollars + one.remote_judge_dollars,
    )
