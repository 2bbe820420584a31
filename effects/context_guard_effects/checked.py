"""Which edited lists were found sendable: a conversation that grows is not validated anew for every request."""

from collections import OrderedDict
from collections.abc import Mapping

Texts = tuple[str, ...]
LISTS = 64
"""Remembered, the latest used: conversations that go on side by side."""


class Checked:
    """A list that was sendable with these edits stays so when messages are added at its end: no edit touches those."""

    def __init__(self) -> None:
        self._lists: OrderedDict[frozenset[tuple[str, Texts | None]], tuple[str, ...]] = OrderedDict()

    def covers(self, ids: tuple[str, ...], edits: Mapping[str, Texts | None]) -> bool:
        known = self._lists.get(frozenset(edits.items()))
        return known is not None and ids[: len(known)] == known

    def add(self, ids: tuple[str, ...], edits: Mapping[str, Texts | None]) -> None:
        key = frozenset(edits.items())
        self._lists[key] = ids
        self._lists.move_to_end(key)
        while len(self._lists) > LISTS:
            self._lists.popitem(last=False)
