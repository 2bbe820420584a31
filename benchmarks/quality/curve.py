"""What a method reaches at another size than its own: on the straight lines between its settings."""

from collections.abc import Iterable
from itertools import pairwise


def at_size(points: Iterable[tuple[float, float]], kept: float) -> float:
    """`points` are kept share and value; unless they say so, the value is 0 with nothing kept and 1 with all kept."""
    ends = {0.0: 0.0, 1.0: 1.0}
    line = sorted((ends | dict(points)).items())
    for (low, below), (high, above) in pairwise(line):
        if low <= kept <= high:
            return below + (above - below) * (kept - low) / (high - low)
    return line[-1][1]
