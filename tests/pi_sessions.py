"""Small sessions in Pi's own form, built line by line for tests."""

import json
from typing import Any

from context_guard.records import Record

Json = dict[str, Any]

NOW = "2026-12-01T08:00:00.000Z"
RECORD = Record(
    v=1,
    phase="run-end",
    model="local",
    saved_chars=5,
    requests=1,
    input_tokens=0,
    cost_usd=0,
    ms=3,
    timed_out=False,
    results=(),
)

HEADER: Json = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-11-30T16:01:42.097Z", "cwd": "/work"}


def session_bytes(*entries: Json, header: Json = HEADER) -> bytes:
    """A file of these entries; those that name no parent are chained."""
    lines = [header]
    parent = None
    for entry in entries:
        lines.append({"parentId": parent, "timestamp": "2026-11-30T16:01:42.100Z", **entry})
        parent = entry["id"]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def user(id: str, text: Any = "hello", **more: Any) -> Json:
    return message(id, {"role": "user", "content": text, **more})


def calling(id: str, call_id: str, **more: Any) -> Json:
    call = {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": "make", "n": 1}}
    return message(id, {"role": "assistant", "content": [call], **more})


def result(id: str, call_id: str, content: Any = "out", **more: Any) -> Json:
    return message(
        id,
        {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": content, "isError": False, **more},
    )


def edit(id: str, target: str, content: Any = None) -> Json:
    replacement = None if content is None else {"content": content}
    return {"type": "context_edit", "id": id, "targetId": target, "replacement": replacement}


def message(id: str, body: Json) -> Json:
    return {"type": "message", "id": id, "message": body}
