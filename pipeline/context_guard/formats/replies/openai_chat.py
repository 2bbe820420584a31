"""A reply of the OpenAI chat completions API, and of what speaks it."""

from typing import Any

from context_guard.formats.replies.reply import Json, Reply, as_json
from context_guard.formats.usage import usage_of
from context_guard.formats.values import string

ENDS = ("stop",)
TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
"""Keys of a delta that are pieces of a text."""


class ChatReply:
    """Of several choices only the agent knows which one it takes: then there is no reply."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, Json] = {}
        self._arguments: dict[int, list[str]] = {}
        self._message: Json | None = None
        self._stop = ""
        self._usage: Json = {}
        self._model = ""
        self._has_others = False

    def event(self, event: Json) -> None:
        if "error" in event:
            raise ValueError("the stream ended with an error")
        self._seen(event)
        for choice in event.get("choices") or ():
            if choice.get("index", 0):
                self._has_others = True
                continue
            self._add(choice.get("delta") or {})
            self._stop = choice.get("finish_reason") or self._stop

    def whole(self, body: Json) -> None:
        self._seen(body)
        first, *others = body["choices"]
        self._has_others = bool(others)
        self._message = first["message"]
        self._stop = string(first.get("finish_reason"))

    def reply(self) -> Reply | None:
        if not self._stop or self._has_others:
            return None
        message = self._message or self._gathered()
        calls = message.get("tool_calls") or message.get("function_call")
        return Reply(
            messages=as_json([message]),
            ends_run=self._stop in ENDS and not calls,
            stop=self._stop,
            usage=usage_of(self._usage) if self._usage else None,
            model=self._model,
        )

    def _seen(self, body: Json) -> None:
        self._usage = body.get("usage") or self._usage
        self._model = string(body.get("model")) or self._model

    def _add(self, delta: Json) -> None:
        if delta.get("function_call"):
            raise ValueError("calls in the old form are not gathered")
        for key in TEXTS:
            if piece := delta.get(key):
                self._texts.setdefault(key, []).append(piece)
        for call in delta.get("tool_calls") or ():
            self._add_call(call)

    def _add_call(self, call: Json) -> None:
        index = call.get("index", 0)
        function: Any = call.get("function") or {}
        kept = self._calls.setdefault(index, {"id": "", "type": "function", "name": ""})
        kept["id"] = call.get("id") or kept["id"]
        kept["name"] = function.get("name") or kept["name"]
        self._arguments.setdefault(index, []).append(function.get("arguments") or "")

    def _gathered(self) -> Json:
        message: Json = {"role": "assistant", "content": None}
        message |= {key: "".join(pieces) for key, pieces in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": "".join(self._arguments[index])},
                }
                for index, call in sorted(self._calls.items())
            ]
        return message
