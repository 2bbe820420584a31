"""A scripted turn in the words of OpenAI's two APIs."""

import json
from typing import Any

from outside.scripted_turns import Call, Turn

Json = dict[str, Any]


def chat_completion(turn: Turn, number: int, request: Json) -> Json:
    calls = [
        {"id": call_id(call, number, place), "type": "function", "function": _function(call)}
        for place, call in enumerate(turn.calls, start=1)
    ]
    message: Json = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    written = len(json.dumps(request["messages"])) // 4
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": written, "completion_tokens": 9, "total_tokens": written + 9},
    }


def response(turn: Turn, number: int, request: Json) -> Json:
    said: Json = {"type": "output_text", "text": turn.text, "annotations": []}
    message = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }
    calls = [
        {"type": "function_call", "id": f"fc_{number}_{place}", "status": "completed", **_function(call)}
        | {"call_id": call_id(call, number, place)}
        for place, call in enumerate(turn.calls, start=1)
    ]
    written = len(json.dumps(request["input"])) // 4
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": [*([message] if turn.text else []), *calls],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": written,
            "output_tokens": 9,
            "total_tokens": written + 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def call_id(call: Call, number: int, place: int) -> str:
    return call.id or f"call_scripted_{number:04d}_{place}"


def _function(call: Call) -> Json:
    return {"name": call.tool, "arguments": json.dumps(call.args)}
