"""Mid-run: how much of what the rest of the run needs each part holds, for its size.

What will be needed is spread thin and hard to tell part by part, while a small output costs little to keep and saves an
extra step when it is needed. So the measure is need per character, partly the part's own and partly its output's, and
it falls with the size of the output.
"""

from context_guard.local_judge.features import Features
from context_guard.local_judge.passages import Passage
from context_guard.local_judge.rates import Rates
from context_guard.local_judge.reading import Read
from context_guard.local_judge.weights import Rule

SCALE = 1_000
SMALLEST = 4_000
"""The smallest outputs that were learnt from: a smaller one is worth no more room than they are."""


def later_rates(model: Rates, read: Read, standing: Features) -> list[float]:
    shared = {f"w.{name}": value for name, value in read.coverage.items()}
    shared |= {f"c.{name}": value for name, value in read.context.items()}
    shared |= {f"r.{name}": value for name, value in standing.items()}
    return [model.rate({**shared, **{f"p.{name}": value for name, value in each.items()}}) for each in read.parts]


def choose_later(
    rates: list[float], passages: tuple[Passage, ...], segments: float, least: float, top: float, rule: Rule
) -> set[int]:
    """The parts worth their room, and the likeliest ones of every output up to the share `top` of its need."""
    sizes = [passage.size + 1 for passage in passages]
    chars = max(SMALLEST, sum(sizes) * segments)
    spread = chars / (sum(sizes) * segments)
    whole = sum(rates) / sum(sizes) / spread
    kept: set[int] = set()
    above = 0.0
    for i in sorted(range(len(rates)), key=lambda i: (-rates[i], i)):
        own = rates[i] / sizes[i] / spread
        worth = SCALE * own**rule.part_share * whole ** (1 - rule.part_share) / chars**rule.size_power
        if worth >= least or above < top * sum(rates):
            kept.add(i)
        above += rates[i]
    return kept
