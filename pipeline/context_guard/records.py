"""The record of one pass, as it stays in the host's session: readable by the original and by every later version."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

RECORD_TYPE = "context-guard"
"""Name under which hosts store a record beside their own entries."""

Phase = Literal["run-end", "mid-run"]
Kind = Literal["large", "small", "exchange", "image"]
Outcome = Literal["distilled", "removed", "kept"]

Chars = Annotated[int, Meta(ge=-(10**15), le=10**15)]
"""What a stored size may be; a result with another one was not written by a guard."""

DEFERRED = "deferred"
"""Reason of an item that may go, but whose edit does not pay yet."""

FAILURES = ("timeout", "error", "aborted")
"""Words in a reason that say: not judged, ask again."""


class ItemResult(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What one pass decided about one item."""

    entry_id: str
    tool: str = ""
    label: str = ""
    outcome: Outcome = "kept"
    reason: str = ""
    before_chars: Chars = 0
    after_chars: Chars = 0
    kind: Kind = "large"
    jev: tuple[str, ...] = ()
    """One trace a request; the key is the original's."""
    omitted: tuple[str, ...] | None = None
    """Entry ids that an omitted exchange took out of the context."""
    weighed: str = ""
    """Of a deferred edit, the sum that says so, for people."""


class Record(Struct, frozen=True, rename="camel"):
    v: int
    phase: Phase
    model: str
    """The judge that answered."""
    saved_chars: int
    requests: int
    input_tokens: int
    cost_usd: float
    ms: int
    timed_out: bool
    results: tuple[ItemResult, ...]


class StoredRecord(Struct, frozen=True):
    """A record found on the branch."""

    id: str
    at: int
    """Index of its entry in `Transcript.entries`."""
    record: Record


def was_judged(reason: str) -> bool:
    """Whether the judge answered for all of the item; otherwise the next pass asks again."""
    return not any(word in reason for word in FAILURES)


def encode_record(record: Record) -> dict[str, Any]:
    """The JSON object of a record, keys in the order the original writes them."""
    return {
        "v": record.v,
        "phase": record.phase,
        "model": record.model,
        "savedChars": record.saved_chars,
        "requests": record.requests,
        "inputTokens": record.input_tokens,
        "costUsd": record.cost_usd,
        "ms": record.ms,
        "timedOut": record.timed_out,
        "results": [_encode_result(result) for result in record.results],
    }


def decode_record(data: Any) -> Record | None:
    """A stored record, or None when it is not one of version 1. Missing and foreign parts fall back, never fail."""
    if not isinstance(data, dict) or data.get("v") != 1:
        return None
    found = data.get("results")
    results = found if isinstance(found, list) else []
    return Record(
        v=1,
        phase="mid-run" if data.get("phase") == "mid-run" else "run-end",
        model=_string(data.get("model")),
        saved_chars=_whole(data.get("savedChars")),
        requests=_whole(data.get("requests")),
        input_tokens=_whole(data.get("inputTokens")),
        cost_usd=_number(data.get("costUsd")),
        ms=_whole(data.get("ms")),
        timed_out=data.get("timedOut") is True,
        results=tuple(result for item in results if (result := _decode_result(item)) is not None),
    )


def _encode_result(result: ItemResult) -> dict[str, Any]:
    head: dict[str, Any] = {"kind": result.kind}
    if result.omitted is not None:
        head["omitted"] = list(result.omitted)
    return head | {
        "entryId": result.entry_id,
        "tool": result.tool,
        "label": result.label,
        "outcome": result.outcome,
        "reason": result.reason,
        "beforeChars": result.before_chars,
        "afterChars": result.after_chars,
        "jev": list(result.jev),
        **({"weighed": result.weighed} if result.weighed else {}),
    }


def _decode_result(item: Any) -> ItemResult | None:
    try:
        return msgspec.convert(item, ItemResult)
    except msgspec.ValidationError:
        return None


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if -1e15 < value < 1e15 else 0.0


def _whole(value: Any) -> int:
    return int(_number(value))
