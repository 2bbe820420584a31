"""A reply of the OpenAI Responses API."""

from context_guard.formats.replies.reply import Json, Reply, as_json
from context_guard.formats.usage import usage_of
from context_guard.formats.values import string

RUN_BY_SERVER = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")
"""Calls whose result is in the reply; any other one waits for the agent."""


class ResponsesReply:
    def __init__(self) -> None:
        self._items: dict[int, Json] = {}
        self._response: Json | None = None

    def event(self, event: Json) -> None:
        match event:
            case {"type": "response.output_item.done", "output_index": int(index), "item": dict(item)}:
                self._items[index] = item
            case {"type": "response.completed", "response": dict(response)}:
                self._response = response
            case {"type": "response.failed" | "error"}:
                raise ValueError("the stream ended with an error")

    def whole(self, body: Json) -> None:
        self._response = body if body.get("object") == "response" else None

    def reply(self) -> Reply | None:
        """Only of a response that was completed: of any other one the agent may send back what it likes."""
        response = self._response
        if response is None or response.get("status", "completed") != "completed":
            return None
        items = response.get("output") or [self._items[index] for index in sorted(self._items)]
        if not items:
            return None
        usage = response.get("usage")
        return Reply(
            messages=as_json(items),
            ends_run=not any(map(_waits, items)),
            stop=string(response.get("status")) or "completed",
            usage=usage_of(usage) if isinstance(usage, dict) else None,
            model=string(response.get("model")),
        )


def _waits(item: Json) -> bool:
    kind = string(item.get("type"))
    return kind == "mcp_approval_request" or (kind.endswith("_call") and kind not in RUN_BY_SERVER)
