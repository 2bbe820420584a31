"""A reply of the Anthropic Messages API."""

import json
from typing import Any

from context_guard.formats.replies.reply import Json, Reply, as_json
from context_guard.formats.usage import usage_of
from context_guard.formats.values import string

ENDS = ("end_turn", "stop_sequence")
"""Stop reasons behind which nothing is missing."""

TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Kind of a delta → the key it adds to."""


class AnthropicReply:
    def __init__(self) -> None:
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._usage: Json = {}
        self._is_whole = False

    def event(self, event: Json) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._message = dict(message)
                self._count(message.get("usage"))
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._blocks[index] = dict(block)
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                self._add(index, delta)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._message |= delta
                self._count(event.get("usage"))
            case {"type": "message_stop"}:
                self._is_whole = True
            case {"type": "error"}:
                raise ValueError("the stream ended with an error")

    def whole(self, body: Json) -> None:
        self._message = body
        self._blocks = dict(enumerate(body["content"]))
        self._count(body.get("usage"))
        self._is_whole = body.get("type") == "message"

    def reply(self) -> Reply | None:
        if not self._is_whole or not self._blocks:
            return None
        blocks = [self._block(index) for index in sorted(self._blocks)]
        stop = string(self._message.get("stop_reason"))
        calls = any(block.get("type") == "tool_use" for block in blocks)
        return Reply(
            messages=as_json([{"role": "assistant", "content": blocks}]),
            ends_run=stop in ENDS and not calls,
            stop=stop,
            usage=usage_of(self._usage),
            model=string(self._message.get("model")),
        )

    def _add(self, index: int, delta: Json) -> None:
        kind = string(delta.get("type"))
        if kind == "input_json_delta":
            self._pieces.setdefault((index, "input"), []).append(delta["partial_json"])
        elif kind in TEXTS:
            key = TEXTS[kind]
            self._pieces.setdefault((index, key), []).append(delta[key])

    def _block(self, index: int) -> Json:
        block = dict(self._blocks[index])
        for key in ("text", "thinking", "signature"):
            if pieces := self._pieces.get((index, key)):
                block[key] = string(block.get(key)) + "".join(pieces)
        if pieces := self._pieces.get((index, "input")):
            block["input"] = json.loads("".join(pieces) or "{}")
        return block

    def _count(self, usage: Any) -> None:
        """The last event has the totals; what it leaves out stands in the first."""
        if isinstance(usage, dict):
            self._usage |= {key: value for key, value in usage.items() if value is not None}
