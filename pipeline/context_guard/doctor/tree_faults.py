"""Faults of the tree: where the way from the leaf to the root breaks off, so that Pi drops all that came before."""

import re
from collections.abc import Iterator
from typing import Any

from context_guard.doctor.chart import Chart
from context_guard.doctor.findings import Finding, found
from context_guard.formats.pi_mends import StandIn
from context_guard.formats.pi_session import Json

_PARENT = re.compile(r'"parentId"\s*:\s*"([^"\\]+)"')


def tree_faults(chart: Chart) -> Iterator[Finding]:
    if chart.path:
        yield from _root(chart, chart.path[0])
        yield from _compaction(chart)


def _root(chart: Chart, root: Json) -> Iterator[Finding]:
    """The entry at which the walk from the leaf ended."""
    parent, line = root.get("parentId", _ABSENT), chart.lines[root["id"]]
    if parent is None or parent == "":
        return
    if isinstance(parent, str) and parent in chart.session.places:
        yield found("parent-circle", line=line, entry=root["id"])
    elif isinstance(parent, str):
        yield found("missing-parent", parent, line=line, entry=root["id"], mends=_stand_in(chart, parent, line))
    elif line != chart.session.lines[0]:
        yield found("no-parent", line=line, entry=root["id"])


_ABSENT: Any = object()


def _stand_in(chart: Chart, missing: str, line: int) -> tuple[StandIn, ...]:
    """What came before the missing entry: as its broken line says, or the entry whose line stands before it.

    The latter only where nothing else goes on from that entry: Pi writes a child behind its parent, except after /tree.
    """
    hole, text = _hole(chart, missing, line)
    said = _PARENT.search(text)
    if said is not None and said[1] != missing:
        return (StandIn(missing, said[1]),)
    before = [entry for entry, at in zip(chart.session.entries, chart.session.lines, strict=True) if at < hole]
    if not before or any(entry.get("parentId") == before[-1]["id"] for entry in chart.session.entries):
        return ()
    return (StandIn(missing, before[-1]["id"]),)


def _hole(chart: Chart, missing: str, line: int) -> tuple[int, str]:
    """The broken line that held the missing entry, with its text; else the line of its child."""
    for broken in chart.session.broken_lines:
        text = chart.raw_lines[broken - 1].decode("utf-8", "replace")
        if f'"id":"{missing}"' in text:
            return broken, text
    return line, ""


def _compaction(chart: Chart) -> Iterator[Finding]:
    first = chart.path[chart.selected[0]] if chart.selected else {}
    if first.get("type") != "compaction":
        return
    before = {entry["id"] for entry in chart.path[: chart.selected[0] + 1]}
    kept = first.get("firstKeptEntryId")
    if not isinstance(kept, str) or kept not in before:
        yield found("lost-start", line=chart.lines[first["id"]], entry=first["id"])
