"""What the sums behind a pass come to, in sentences: whether its edits are free, pay off or wait, and at what cost.

Figures are characters at the price of plain input.
"""

from collections.abc import Iterator

from context_guard.cache.break_even import Gate
from context_guard.gates import Gated


def bill_lines(gated: Gated) -> tuple[str, ...]:
    """A sentence for each sum that was made; none when nothing was to change."""
    return tuple(_lines(gated))


def gate_line(subject: str, gate: Gate) -> str:
    """`subject` is what the sum is about, in the plural."""
    sums = gate.sums
    match gate.reason:
        case "free":
            return f"{subject} are free: {sums}."
        case "pays off":
            return f"{subject} pay off: {sums}."
        case "too little":
            return f"{subject} wait: {gate.weighed}."
        case "does not pay off":
            return f"{subject} wait, they do not pay off yet: {sums}."
        case "too risky":
            return f"{subject} wait, they would put too much at risk if the session ended soon: {sums}."


def _lines(gated: Gated) -> Iterator[str]:
    """Parts that are as free as the whole go without saying."""
    parts = (("Omitted exchanges", gated.exchanges), ("Edits before the last run", gated.early))
    whole = gated.edits
    for subject, gate in parts:
        if gate is not None and not (gate.reason == "free" and whole is not None and whole.reason == "free"):
            yield gate_line(subject, gate)
    if whole is not None:
        yield gate_line("The edits", whole)
