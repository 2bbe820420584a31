"""What placing marks changed in a request, as instructions for whoever holds the request itself.

A host outside this process sends a skeleton: the request without its texts (a text is `x`, a blank one is empty), since
marks go by shape alone. It gets back where to put a mark and where to take one away.
"""

from typing import Any

from msgspec import Struct

from context_guard.cache.marks import Body, Path, marks_besides, order_of
from context_guard.text import compact_json
from context_guard.transcript import CacheLife


class MarkChange(Struct, frozen=True):
    path: Path
    """Keys from the top of the request. A string found there becomes a text block that bears the mark."""
    life: CacheLife | None
    """Of the mark to set; None takes the mark away."""
    control: str = ""
    """The mark to set, as JSON text."""


def mark_changes(before: Body, after: Body) -> tuple[MarkChange, ...]:
    """First what goes, then what comes; nothing when both carry the same marks."""
    pairs = zip(before.get("messages") or (), after.get("messages") or (), strict=False)
    shared = frozenset(at for at, (one, other) in enumerate(pairs) if one is other)
    old = {mark.path for mark in marks_besides(before, shared)}
    new = {mark.path: mark for mark in marks_besides(after, shared)}
    gone = tuple(MarkChange(path=path, life=None) for path in sorted(old - new.keys(), key=order_of))
    come = tuple(
        MarkChange(path=_target(before, path), life=mark.life, control=compact_json(_control(after, path)))
        for path, mark in new.items()
        if path not in old
    )
    return (*gone, *come)


def _target(before: Body, path: Path) -> Path:
    """The same place before a bare string there became a list of one block."""
    node: Any = before
    for depth, key in enumerate(path):
        if isinstance(node, str):
            return path[:depth]
        node = node[key]
    return path


def _control(body: Body, path: Path) -> Any:
    node: Any = body
    for key in path:
        node = node[key]
    return node["cache_control"]
