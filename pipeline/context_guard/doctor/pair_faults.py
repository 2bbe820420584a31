"""Faults between calls and results, found by the walk that Pi makes when it builds a request."""

from collections.abc import Iterator
from typing import Any

from context_guard.doctor.chart import Chart, Shown
from context_guard.doctor.contents import as_blocks
from context_guard.doctor.findings import Finding, found
from context_guard.doctor.message_faults import redo_entry
from context_guard.formats.pi_mends import Mend, Redo
from context_guard.formats.pi_session import Json, edits_in_force, is_edit, message_of

UNIQUE_CALL_IDS = ("anthropic-messages", "bedrock-converse-stream")
"""APIs that refuse a call id that occurs twice in a request."""


def pair_faults(chart: Chart) -> Iterator[Finding]:
    waiting: dict[str, Shown] = {}
    """Calls of the last assistant message without a result so far, by id, with that message."""
    asked: set[str] = set()
    seen: set[str] = set()
    for shown in chart.shown:
        if shown.role == "toolResult":
            id = shown.message.get("toolCallId")
            if isinstance(id, str) and id in waiting:
                del waiting[id]
            else:
                yield _stray(chart, shown, isinstance(id, str) and id in asked)
        elif shown.role != "system" and not _is_left_out(shown):
            yield from _unanswered(chart, waiting)
            waiting, asked = {}, set()
            if shown.role == "assistant" and not _failed(shown):
                asked = set(call_ids(shown.message))
                waiting = dict.fromkeys(asked, shown)
                yield from _repeated(chart, shown, asked & seen)
                seen |= asked
    yield from _unanswered(chart, waiting)


def call_ids(message: Json) -> list[str]:
    blocks = as_blocks(message.get("content"))
    found_ids = (block.get("id") for block in blocks if isinstance(block, dict) and block.get("type") == "toolCall")
    return [id for id in found_ids if isinstance(id, str)]


def _failed(shown: Shown) -> bool:
    """Pi leaves such an answer out of requests."""
    return shown.message.get("stopReason") in ("error", "aborted")


def _is_left_out(shown: Shown) -> bool:
    return shown.role == "bashExecution" and bool(shown.message.get("excludeFromContext"))


def _stray(chart: Chart, shown: Shown, answered: bool) -> Finding:
    line, id = chart.lines[shown.id], shown.message.get("toolCallId")
    gone: tuple[Mend, ...] = (Redo(shown.id, None),)
    if answered:
        return found("second-result", repr(id), line, shown.id, gone)
    if _was_omitted(chart, shown.id):
        return found("resurrected-entry", repr(id), line, shown.id, gone)
    return found("orphaned-result", repr(id), line, shown.id, _call_again(chart, shown) or gone)


def _was_omitted(chart: Chart, target: str) -> bool:
    """Whether an edit took the entry out of the context before a later one showed it again."""
    edits = [entry for entry in chart.path if is_edit(entry) and entry["targetId"] == target]
    return any(edit["replacement"] is None for edit in edits)


def _call_again(chart: Chart, result: Shown) -> tuple[Mend, ...]:
    """The edit that undoes an edit of the message that made the call.

    Only where every result of that message is shown: otherwise the whole of it was meant to go, and this one was left.
    """
    id = result.message.get("toolCallId")
    answered = {str(shown.message.get("toolCallId")) for shown in chart.shown if shown.role == "toolResult"}
    path = list(chart.path)
    for target in edits_in_force(path, list(chart.selected)):
        entry = chart.session.entries[chart.session.places[target]] if target in chart.session.places else {}
        message = message_of(entry)
        calls = set(call_ids(message)) if message.get("role") == "assistant" else set()
        if isinstance(id, str) and id in calls and calls <= answered and not _failed(Shown(entry, message)):
            return redo_entry(entry, message["content"])
    return ()


def _unanswered(chart: Chart, waiting: dict[str, Shown]) -> Iterator[Finding]:
    """Calls that no result follows: those whose result an edit took away, and those that never had one."""
    if not waiting:
        return
    path = list(chart.path)
    omitted = {
        target for target, i in edits_in_force(path, list(chart.selected)).items() if path[i]["replacement"] is None
    }
    results: dict[Any, Json] = {}
    for entry in path:
        if message_of(entry).get("role") == "toolResult" and isinstance(message_of(entry).get("toolCallId"), str):
            results[message_of(entry)["toolCallId"]] = entry
    for id, shown in waiting.items():
        result = results.get(id)
        if result is not None and result["id"] in omitted:
            mends = redo_entry(result, message_of(result).get("content") or [])
            yield found("hidden-result", repr(id), chart.lines[result["id"]], result["id"], mends)
        else:
            yield found("unanswered-call", repr(id), chart.lines[shown.id], shown.id)


def _repeated(chart: Chart, shown: Shown, ids: set[str]) -> Iterator[Finding]:
    if not ids or chart.api not in UNIQUE_CALL_IDS:
        return
    at = next(i for i, other in enumerate(chart.shown) if other is shown)
    own = set(call_ids(shown.message))
    gone: list[Mend] = [Redo(shown.id, None)]
    for other in chart.shown[at + 1 :]:
        if other.role == "toolResult" and other.message.get("toolCallId") in own:
            gone.append(Redo(other.id, None))
        elif other.role not in ("toolResult", "system"):
            break
    yield found("repeated-call-id", ", ".join(sorted(ids)), chart.lines[shown.id], shown.id, tuple(gone))
