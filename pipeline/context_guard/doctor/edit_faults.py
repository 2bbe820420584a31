"""Faults of context edits: those that do harm, and those that have no effect."""

from collections.abc import Iterator
from typing import Any

from context_guard.doctor.chart import Chart
from context_guard.doctor.contents import is_blank
from context_guard.doctor.findings import Finding, found
from context_guard.doctor.message_faults import redo_entry
from context_guard.formats.pi_mends import Redo
from context_guard.formats.pi_session import Json, edits_in_force, is_edit, message_of

QUIET = ("context_edit", "custom", "label", "session_info", "usage", "model_change", "thinking_level_change")
"""Entries that say nothing to a model."""

LOUD = ("message", "compaction", "branch_summary")
"""Entries that do, and that Pi lets no edit touch, but for messages of some roles."""


def edit_faults(chart: Chart) -> Iterator[Finding]:
    by_id = {entry["id"]: entry for entry in chart.path}
    last: dict[str, Json] = {}
    """The edit that Pi takes for each target, sound or not."""
    for entry in (chart.path[i] for i in chart.selected):
        if entry.get("type") == "context_edit" and isinstance(entry.get("targetId"), str):
            last[entry["targetId"]] = entry
    for target, edit in last.items():
        yield from _in_force(chart, edit, by_id.get(target))
    for entry in chart.path:
        if entry.get("type") == "context_edit" and not isinstance(entry.get("targetId"), str):
            yield found("edit-without-target", "it names none", chart.lines[entry["id"]], entry["id"])
    yield from _beside(chart, frozenset(by_id))


def _in_force(chart: Chart, edit: Json, target: Json | None) -> Iterator[Finding]:
    line, id, named = chart.lines[edit["id"]], edit["id"], edit["targetId"]
    if target is None:
        where = "is on another branch" if named in chart.session.places else "is not in the session"
        yield found("edit-without-target", f"{named} {where}", line, id)
    elif not _takes_edits(target):
        if is_edit(edit) and edit["replacement"] is None and target.get("type") in LOUD:
            mends = redo_entry(target, [])
            yield found("edit-on-wrong-target", f"{named} ({_kind(target)})", line, id, mends)
    elif not is_edit(edit):
        yield found("broken-edit", f"of {named}", line, id, _as_before(chart, target))
    elif edit["replacement"] is not None and is_blank(edit["replacement"]["content"]):
        raw = _raw(target)
        if not is_blank(raw):
            yield found("emptied-entry", named, line, id, redo_entry(target, raw))


def _as_before(chart: Chart, target: Json) -> tuple[Redo, ...]:
    edits = edits_in_force(list(chart.path), list(chart.selected))
    before = edits.get(target["id"])
    if before is None:
        return redo_entry(target, _raw(target))
    replacement = chart.path[before]["replacement"]
    return redo_entry(target, None if replacement is None else replacement["content"])


def _takes_edits(entry: Json) -> bool:
    return entry.get("type") == "custom_message" or message_of(entry).get("role") in ("user", "assistant", "toolResult")


def _kind(entry: Json) -> str:
    return str(message_of(entry).get("role") or entry.get("type"))


def _raw(entry: Json) -> list[Any] | str:
    content = entry.get("content") if entry.get("type") == "custom_message" else message_of(entry).get("content")
    return content if isinstance(content, list | str) else []


def _beside(chart: Chart, on_path: frozenset[str]) -> Iterator[Finding]:
    """Edits that hang on the branch but do not lie on it, with nothing behind them that speaks to a model.

    What an older branch holds besides is no fault: there somebody went back, and left its edits with its messages.
    """
    forks: dict[str, str] = {}
    """Every quiet entry beside the branch that hangs on it, with the first one of its fork."""
    spoken: set[str] = set()
    """Forks with a message in them."""
    for entry in chart.session.entries:
        id, parent = entry["id"], entry.get("parentId")
        if id in on_path or not isinstance(parent, str):
            continue
        if parent in on_path and entry.get("type") in QUIET:
            forks[id] = id
        elif parent in forks:
            forks[id] = forks[parent]
            if entry.get("type") not in QUIET:
                spoken.add(forks[parent])
    edited = edits_in_force(list(chart.path), list(chart.selected))
    for entry in chart.session.entries:
        if forks.get(entry["id"], "") in forks.keys() - spoken and is_edit(entry):
            target = entry["targetId"]
            if target in on_path and target not in edited:
                yield found("edit-off-branch", f"of {target}", chart.lines[entry["id"]], entry["id"])
