"""The fewest parts that hold every string which the answer took from an output."""

from collections import Counter
from collections.abc import Sequence

from context_guard.local_judge.passages import Passage

MOST_HOLDERS = 12
"""A string in more parts than this is no trace of any of them."""


def cover_keys(passages: tuple[Passage, ...], needed: list[float], newer: Sequence[str] = ()) -> set[int]:
    """Rarest strings first; of several parts that hold one, a part kept already or else the likeliest.

    `newer`: the outputs of the run that came later. The newest one that holds a string keeps it.
    """
    holding = Counter(key for passage in passages for key in passage.keys)
    kept: set[int] = set()
    for key in sorted(holding, key=lambda key: (holding[key], key)):
        places = [i for i, passage in enumerate(passages) if key in passage.keys]
        if len(places) <= MOST_HOLDERS and kept.isdisjoint(places) and not any(key in text for text in newer):
            kept.add(max(places, key=lambda i: (needed[i], -i)))
    return kept
