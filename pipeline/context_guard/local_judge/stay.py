"""Which outputs of a run stay as they are, whatever stands in them.

Losing one need costs an extra step whether or not the rest was kept, so whole outputs, and whole runs, lose less than
scattered lines at the same size. What is expected to be needed per character decides, mostly that of the whole run.
"""

from collections.abc import Iterable
from math import expm1

from context_guard.local_judge.features import Features
from context_guard.local_judge.rates import Rates

OWN = 0.3
"""How much of it is the output's own; the rest is that of its run."""
SCALE = 10_000


def stay_worth(model: Rates, own: Features, run: Iterable[Features]) -> float:
    """Expected need per 10,000 characters; 1 output's worth is the mean of the training material."""
    chars = expm1(own["run_log"])
    total = sum(model.rate(each) for each in run)
    return float(SCALE * (model.rate(own) / (chars * own["share"])) ** OWN * (total / chars) ** (1 - OWN))
