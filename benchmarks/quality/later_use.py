"""Real sessions with labels of what the agent used later, as the stages see them.

The folder holds `items.jsonl.gz` and `gold.jsonl.gz`; their format is described beside them.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from context_guard.candidates import Candidate, later_calls
from context_guard.chunks import Cut, cut_chunks
from context_guard.config import Config
from context_guard.history import Exchange, History
from context_guard.holds import Holds, find_holds
from context_guard.records import Phase
from context_guard.requests import Request, build_request
from context_guard.segments import Segment, pack_segments
from context_guard.span import Call, RunResult, Span
from context_guard.superseded import superseded_by
from context_guard.text import clip, trim

Item = dict[str, Any]


class Output(Struct, frozen=True):
    """One large output of an item, ready to be judged."""

    span: Span
    candidate: Candidate
    cut: Cut
    segments: tuple[Segment, ...]
    requests: tuple[Request | None, ...]
    """None for a segment that is too large to be asked about."""
    holds: Holds
    phase: Phase


def load_items(folder: Path) -> tuple[list[Item], dict[str, Item]]:
    """The items and, by their ids, the labels."""
    with gzip.open(folder / "items.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    with gzip.open(folder / "gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        gold = {each["id"]: each for each in map(json.loads, lines)}
    return items, gold


def read_outputs(item: Item, config: Config) -> Iterator[Output]:
    span = _read_span(item)
    phase: Phase = "mid-run" if item["setting"] == "mid-run" else "run-end"
    calls = {call.id: call for call in span.calls}
    for entry in item["entries"]:
        if entry.get("candidate"):
            candidate = _read_candidate(entry, calls.get(entry.get("tool_call_id")), span, phase)
            cut = cut_chunks(candidate, config)
            segments = pack_segments(cut, config)
            yield Output(
                span=span,
                candidate=candidate,
                cut=cut,
                segments=segments,
                requests=tuple(
                    None if segment.oversize else build_request(span, candidate, cut, segment, phase)
                    for segment in segments
                ),
                holds=find_holds(candidate, cut, span, config),
                phase=phase,
            )


def _read_candidate(entry: Item, call: Call | None, span: Span, phase: Phase) -> Candidate:
    aged = call if phase == "mid-run" else None
    tool = entry.get("tool_name") or (call.name if call else "") or "tool"
    return Candidate(
        entry_id=entry["id"],
        tool=tool,
        args=call.args if call else "",
        label=tool,
        text=entry["text"],
        is_error=bool(entry.get("is_error")),
        turn=call.turn if call else None,
        later_calls=later_calls(span, aged.turn) if aged else (),
        superseded=superseded_by(tool, aged.args, aged.turn, span.calls) if aged else "",
    )


def _read_span(item: Item) -> Span:
    failed = {entry.get("tool_call_id") for entry in item["entries"] if entry.get("is_error")}
    calls: list[Call] = []
    texts: list[str] = []
    turn = -1
    for entry in item["entries"]:
        if entry["role"] != "assistant":
            continue
        turn += 1
        if text := trim(entry.get("text") or ""):
            texts.append(text)
        for call in entry.get("tool_calls") or ():
            args = json.dumps(call.get("arguments") or {}, ensure_ascii=False, separators=(",", ":"))
            calls.append(Call(id=call["id"], name=call["name"], args=args, turn=turn, failed=call["id"] in failed))
    return Span(
        start_id="prompt",
        start=0,
        end=1,
        question=item["question"] or "",
        answer="" if item["setting"] == "mid-run" else item.get("answer") or "",
        latest=texts[-1] if texts else "",
        notes="\n\n".join(texts[:-1]),
        history=_read_history(item.get("history") or {}),
        turns=turn + 1,
        calls=tuple(calls),
        results=tuple(_read_results(item, calls)),
    )


def _read_results(item: Item, calls: list[Call]) -> Iterator[RunResult]:
    by_id = {call.id: call for call in calls}
    for entry in item["entries"]:
        if entry.get("candidate"):
            call = by_id.get(entry.get("tool_call_id"))
            yield RunResult(
                entry_id=entry["id"],
                tool=entry.get("tool_name") or (call.name if call else "") or "tool",
                args=call.args if call else "",
                turn=call.turn if call else None,
                text=entry["text"],
                is_error=bool(entry.get("is_error")),
                is_text_only=True,
                is_raw=True,
            )


def _read_history(history: Item) -> History:
    exchanges = history.get("exchanges") or []
    return History(
        first_request=clip(trim(history.get("first_request") or ""), 1_000) if len(exchanges) >= 3 else "",
        exchanges=tuple(
            Exchange(user=clip(trim(each.get("user") or ""), 800), assistant=clip(each.get("assistant") or "", 1_200))
            for each in exchanges[-3:]
        ),
    )
