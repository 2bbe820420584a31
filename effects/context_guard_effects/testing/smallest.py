"""As little as will do: what of a list can be left out so that something still holds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrink(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """As few of the items as hold, in their order: all at once are left out, then halves, then quarters, then each.

    What is left holds if all of them do; `holds` is asked at most about twice as often as there are items.
    """
    kept = list(items)
    size = len(kept)
    while size:
        for start in range(len(kept) - size, -size, -size):
            left = kept[: max(start, 0)] + kept[max(start + size, 0) :]
            if len(left) < len(kept) and holds(left):
                kept = left
        size //= 2
    return kept
