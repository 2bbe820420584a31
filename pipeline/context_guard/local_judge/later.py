"""Mid-run: how much of what the rest of the run needs each part holds, for its size.

What is out of date, how old it is and how much else there is are features among the others: one rate decides.
"""

from context_guard.local_judge.features import Features
from context_guard.local_judge.passages import Passage
from context_guard.local_judge.rates import Rates
from context_guard.local_judge.reading import Read

SCALE = 1_000
SMALLEST = 4_000
"""The smallest outputs that were learnt from: a smaller one is worth no more room than they are."""


def later_rates(model: Rates, read: Read, standing: Features) -> list[float]:
    shared = {f"w.{name}": value for name, value in read.coverage.items()}
    shared |= {f"c.{name}": value for name, value in read.context.items()}
    shared |= {f"r.{name}": value for name, value in standing.items()}
    return [model.rate({**shared, **{f"p.{name}": value for name, value in each.items()}}) for each in read.parts]


def choose_later(rates: list[float], passages: tuple[Passage, ...], segments: float, least: float) -> set[int]:
    """The parts worth their room: so much expected need per 1,000 characters."""
    shown = sum(passage.size + 1 for passage in passages) * segments
    spread = max(SMALLEST, shown) / shown
    return {
        i
        for i, (rate, passage) in enumerate(zip(rates, passages, strict=True))
        if SCALE * rate / (passage.size + 1) / spread >= least
    }
