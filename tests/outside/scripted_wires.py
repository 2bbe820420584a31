"""The answers of a scripted model on the wire of three APIs, streamed and whole.

Ids tell the request that they answer, so that a conversation reads the same on every run.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from outside.scripted_turns import Call, Turn

Api = Literal["anthropic", "openai-chat", "openai-responses"]

PATHS: dict[str, Api] = {
    "/messages": "anthropic",
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
}

CHARS_PER_TOKEN = 4
DELTA_CHARS = 400

Json = dict[str, Any]


class Answer(Struct, frozen=True):
    """A turn as the answer to one request."""

    turn: Turn
    number: int
    """Of the request, from 1."""
    model: str
    usage: dict[str, int]
    """Anthropic's input tokens by kind."""

    def calls(self) -> Iterator[tuple[str, Call]]:
        for place, call in enumerate(self.turn.calls, start=1):
            yield call.id or f"toolu_scripted_{self.number:04d}_{place}", call

    @property
    def written(self) -> int:
        return tokens(len(self.turn.text) + sum(len(json.dumps(call.args)) for call in self.turn.calls))


def find_api(path: str) -> Api | None:
    bare = path.partition("?")[0]
    return next((api for end, api in PATHS.items() if bare.endswith(end)), None)


def stream(api: Api, answer: Answer) -> Iterator[bytes]:
    """Server-sent events, one a piece."""
    match api:
        case "anthropic":
            yield from (_event(event, event["type"]) for event in _anthropic_events(answer))
        case "openai-responses":
            yield from (_event(event, event["type"]) for event in _responses_events(answer))
        case _:
            yield from map(_event, _chat_events(answer))
            yield b"data: [DONE]\n\n"


def whole(api: Api, answer: Answer) -> bytes:
    """The same as one JSON body."""
    make = {"anthropic": _message, "openai-responses": _response, "openai-chat": _completion}[api]
    return json.dumps(make(answer)).encode()


def tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _event(data: Json, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    return [text[at : at + DELTA_CHARS] for at in range(0, len(text), DELTA_CHARS)]


def _message(answer: Answer) -> Json:
    blocks: list[Json] = [{"type": "text", "text": answer.turn.text}] if answer.turn.text else []
    blocks += [{"type": "tool_use", "id": id, "name": call.tool, "input": call.args} for id, call in answer.calls()]
    return {
        "id": f"msg_scripted_{answer.number:04d}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": blocks,
        "stop_reason": "tool_use" if answer.turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": {**answer.usage, "output_tokens": answer.written},
    }


def _anthropic_events(answer: Answer) -> Iterator[Json]:
    message = _message(answer)
    begun = {**message, "content": [], "stop_reason": None, "usage": {**answer.usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": answer.written},
    }
    yield {"type": "message_stop"}


def _input_tokens(answer: Answer) -> tuple[int, int]:
    """All, and those read from the cache."""
    return sum(answer.usage.values()), answer.usage["cache_read_input_tokens"]


def _completion(answer: Answer) -> Json:
    calls = [
        {"id": id, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.args)}}
        for id, call in answer.calls()
    ]
    message = {"role": "assistant", "content": answer.turn.text or None, **({"tool_calls": calls} if calls else {})}
    return {
        "id": f"chatcmpl-scripted-{answer.number:04d}",
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": _chat_usage(answer),
    }


def _chat_usage(answer: Answer) -> Json:
    read, cached = _input_tokens(answer)
    return {
        "prompt_tokens": read,
        "completion_tokens": answer.written,
        "total_tokens": read + answer.written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chat_events(answer: Answer) -> Iterator[Json]:
    done = _completion(answer)
    choice = done["choices"][0]
    base = {key: done[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.turn.text):
        yield chunk({"content": piece})
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, choice["finish_reason"])
    yield {**base, "choices": [], "usage": done["usage"]}


def _response(answer: Answer) -> Json:
    read, cached = _input_tokens(answer)
    return {
        "id": f"resp_scripted_{answer.number:04d}",
        "object": "response",
        "created_at": 0,
        "model": answer.model,
        "status": "completed",
        "output": list(_items(answer)),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": answer.written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + answer.written,
        },
    }


def _items(answer: Answer) -> Iterator[Json]:
    if answer.turn.text:
        yield {
            "type": "message",
            "id": f"msg_scripted_{answer.number:04d}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": answer.turn.text, "annotations": []}],
        }
    for place, (id, call) in enumerate(answer.calls(), start=1):
        yield {
            "type": "function_call",
            "id": f"fc_scripted_{answer.number:04d}_{place}",
            "call_id": id,
            "name": call.tool,
            **({"namespace": call.namespace} if call.namespace else {}),
            "arguments": json.dumps(call.args),
            "status": "completed",
        }


def _responses_events(answer: Answer) -> Iterator[Json]:
    done = _response(answer)
    begun = {**done, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(done["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty = {
            **item,
            **({"content": []} if item["type"] == "message" else {"arguments": ""}),
            "status": "in_progress",
        }
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if item["type"] == "message":
            part = item["content"][0]
            at["content_index"] = 0
            events.append({"type": "response.content_part.added", **at, "part": {**part, "text": ""}})
            events += [{"type": "response.output_text.delta", **at, "delta": it} for it in _pieces(part["text"])]
            events.append({"type": "response.output_text.done", **at, "text": part["text"]})
            events.append({"type": "response.content_part.done", **at, "part": part})
        else:
            arguments = item["arguments"]
            events.append({"type": "response.function_call_arguments.delta", **at, "delta": arguments})
            events.append({"type": "response.function_call_arguments.done", **at, "arguments": arguments})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": done})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}
