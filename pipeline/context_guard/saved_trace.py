"""A pass as one JSON value: all that went in and all that came of it, so that any later stage can be run again.

    {"format": "context-guard-trace", "v": 1, "transcript": …, "config": …, "plan": …, "asked": …, "settlement": …}

The values are those of the stages (`stages.py`), encoded by msgspec; the boundary is the plan's. The standard library
writes and reads the text, since sessions hold lone surrogates, which msgspec's own JSON refuses: here they are escapes.
"""

import json
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from context_guard.answers import Asked
from context_guard.config import Config
from context_guard.stages import Plan, Settlement
from context_guard.transcript import Transcript

if TYPE_CHECKING:
    from returns.result import Result

FORMAT = "context-guard-trace"
VERSION = 1
HEAD = f'{{"format":"{FORMAT}"'.encode()
"""With which the file of a trace begins."""


class Trace(Struct, frozen=True):
    transcript: Transcript
    config: Config
    """As the host gave it; `plan.config` is as it holds for the phase."""
    plan: Plan
    asked: Asked
    settlement: Settlement


class TraceError(Struct, frozen=True):
    message: str
    """What is wrong and what to do, on one line. It names no file."""


def encode_trace(trace: Trace) -> str:
    """The text of a trace: the same trace gives the same text, whatever the process."""
    bare = tuple(replace(request, run=None) for request in trace.plan.requests)
    values = msgspec.to_builtins(replace(trace, plan=replace(trace.plan, requests=bare)), order="deterministic")
    return json.dumps({"format": FORMAT, "v": VERSION, **values}, separators=(",", ":")) + "\n"


def decode_trace(data: bytes) -> "Result[Trace, TraceError]":
    """The trace of a text, equal to the one that was encoded."""
    from returns.result import Failure, Success

    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Failure(TraceError(_no_json(data, error)))
    if not is_trace(value):
        return Failure(TraceError("it is JSON, but no trace: make one with `context-guard trace SESSION`"))
    version = value.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return Failure(TraceError(f"it is a trace without a usable version (v: {json.dumps(version)[:40]})"))
    if version > VERSION:
        said = f"it is a trace of version {version}, and this context-guard reads up to {VERSION}: update it"
        return Failure(TraceError(said))
    parts = {key: part for key, part in value.items() if key not in ("format", "v")}
    try:
        return Success(_with_runs(msgspec.convert(parts, Trace)))
    except (msgspec.ValidationError, RecursionError) as error:
        return Failure(TraceError(f"it is a trace, but a part of it cannot be read: {error}"))


def is_trace(value: Any) -> bool:
    """Whether JSON says of itself that it is a trace, of whatever version."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def _with_runs(trace: Trace) -> Trace:
    """Requests with the runs that they are of, which stand once in a trace, among the plan's spans."""
    runs = {span.start_id: span for span in trace.plan.spans}
    of = {candidate.entry_id: runs.get(candidate.run_id) for candidate in trace.plan.candidates}
    requests = tuple(
        replace(request, run=of.get(request.entry_ids[0])) if request.kind == "segment" else request
        for request in trace.plan.requests
    )
    return replace(trace, plan=replace(trace.plan, requests=requests))


def _no_json(data: bytes, error: Exception) -> str:
    if not data.strip():
        return "it is empty: make a trace with `context-guard trace SESSION`"
    if data.lstrip().startswith(b'{"format":') and not data.rstrip().endswith(b"}"):
        return f"it ends in the middle, after {len(data):,} bytes: make the trace anew"
    if data.lstrip().startswith(b"{") and b"\n{" in data.strip():
        return (
            "it is a file of JSON lines, as sessions are, and no trace: `context-guard trace SESSION` makes one of it"
        )
    return f"it is no JSON, so no trace: {error}"
