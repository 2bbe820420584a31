"""Faults inside single messages: what Pi cannot build a request of, and what a provider refuses of it."""

from collections.abc import Iterator
from typing import Any

from context_guard.doctor.chart import Chart, Shown
from context_guard.doctor.contents import (
    as_blocks,
    calls_hold_surrogate,
    calls_without_surrogates,
    content_fault,
    encoded_chars,
    holds_surrogate,
    map_pictures,
    picture_faults,
    readable_blocks,
    without_encoded,
)
from context_guard.doctor.findings import Finding, found
from context_guard.doctor.pictures import MANY, MAX_EDGE, MAX_EDGE_OF_MANY, bound_fault, picture_fault
from context_guard.formats.pi_mends import Redo
from context_guard.formats.pi_session import Json
from context_guard.text import compact_json, format_chars

EDITABLE = ("user", "assistant", "toolResult", "custom")
BOUNDED = ("anthropic-messages", "bedrock-converse-stream")
"""APIs of which bounds for pictures are known."""


def message_faults(chart: Chart) -> Iterator[Finding]:
    for entry in chart.path:
        if entry.get("type") == "message" and not isinstance(entry.get("message"), dict):
            yield found("no-message", line=chart.lines[entry["id"]], entry=entry["id"])
    for shown in chart.shown:
        stored = shown.entry.get("message") if shown.entry.get("type") == "message" else shown.entry
        if (
            shown.role in EDITABLE
            and isinstance(stored, dict)
            and stored.get("content") is None
            and not shown.message.get("content")
        ):
            yield found("no-content", line=chart.lines[shown.id], entry=shown.id)
    count = sum(len(pictures(shown.message)) for shown in chart.shown)
    max_edge = (MAX_EDGE_OF_MANY if count > MANY else MAX_EDGE) if chart.api in BOUNDED else None
    for shown in chart.shown:
        if shown.role in EDITABLE and shown.entry.get("type") in ("message", "custom_message"):
            yield from _faults(chart, shown, max_edge)


def _faults(chart: Chart, shown: Shown, max_edge: int | None) -> Iterator[Finding]:
    """One urgent finding at most: its mend is looked at again, and shows what else there is."""
    message, line = shown.message, chart.lines[shown.id]
    if said := content_fault(message):
        yield found("bad-content", said, line, shown.id, redo(shown, readable_blocks(message)))
    elif shown.role == "assistant" and calls_hold_surrogate(message):
        yield found("surrogate-in-call", "", line, shown.id, redo(shown, calls_without_surrogates(message)))
    elif bad := picture_faults(message):
        yield found("bad-picture", bad[0], line, shown.id, redo(shown, map_pictures(message, picture_fault)))
    elif huge := [fault for block in pictures(message) if (fault := bound_fault(block, max_edge))]:
        smaller = map_pictures(message, lambda block: bound_fault(block, max_edge))
        yield found("huge-picture", huge[0], line, shown.id, redo(shown, smaller))
    elif shown.role == "toolResult" and (count := encoded_chars(message)):
        detail = f"a run of {format_chars(count)} characters"
        yield found("encoded-data", detail, line, shown.id, redo(shown, without_encoded(message, shown.id)))
    if any(
        holds_surrogate(block.get("text")) for block in as_blocks(message.get("content")) if isinstance(block, dict)
    ):
        yield found("surrogate-in-text", line=line, entry=shown.id)


def redo(shown: Shown, blocks: list[Any]) -> tuple[Redo, ...]:
    """The edit that shows these blocks; of an assistant's empty ones, that shows nothing."""
    return redo_entry(shown.entry, blocks or (None if shown.role == "assistant" else blocks))


def redo_entry(entry: Json, blocks: list[Any] | str | None) -> tuple[Redo, ...]:
    try:
        return (Redo(str(entry["id"]), None if blocks is None else compact_json(blocks)),)
    except RecursionError:  # nested just so deep that reading it still worked
        return ()


def pictures(message: Json) -> list[Json]:
    blocks = as_blocks(message.get("content"))
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == "image"]
