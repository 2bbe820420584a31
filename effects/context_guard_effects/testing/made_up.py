"""What the fake server says where a test gave no answer: made from the words asked about, the same every time."""

import json
from math import log
from typing import Any
from zlib import crc32


def make_up(name: str, question: dict[str, Any], state: Any) -> float | str:
    """From what the question is about, never from its place or the other questions."""
    part = ""
    if isinstance(state, dict):
        for kind in ("chunks", "items", "exchanges"):
            part = json.dumps(state.get(kind, {}).get(name, ""), ensure_ascii=False) if kind in state else part
    drawn = crc32(f"{part} {question.get('instructions')}".encode("utf-8", "replace")) % 101
    if question["type"] == "choice":
        options = list(question["criteria"])
        return str(options[drawn % len(options)])
    return drawn / 100


def choice_answer(options: list[str], chosen: str) -> dict[str, Any]:
    rest = 0.2 / max(1, len(options) - 1)
    shares = {name: 0.8 if name == chosen else rest for name in reversed(options)}
    return {"type": "choice", "choice": chosen, "probabilities": shares, "confidence": 0.75}


def score_answer(levels: list[Any]) -> dict[str, Any]:
    return {
        "type": "score",
        "score": float(len(levels) - 1),
        "legend": {str(number): level for number, level in enumerate(levels)},
        "probabilities": {str(number): float(number == len(levels) - 1) for number in range(len(levels))},
        "confidence": 1.0,
    }


def chat_reply(body: dict[str, Any]) -> dict[str, Any]:
    words = str(body["messages"][-1]["content"])
    labels = ("Yes", "No") if words.endswith("Answer Yes or No.") else ("A", "B", "C")
    first = (5 + crc32(words.encode("utf-8", "replace")) % 90) / 100
    shares = [first, *((1 - first) / len(labels) for _ in labels[1:])]
    top = [{"token": label, "logprob": log(share), "bytes": None} for label, share in zip(labels, shares, strict=True)]
    top.append({"token": " The", "logprob": log(0.001), "bytes": None})
    content = [{"token": labels[0], "logprob": top[0]["logprob"], "bytes": None, "top_logprobs": top}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "finish_reason": "length",
                "message": {"role": "assistant", "content": labels[0]},
                "logprobs": {"content": content},
            }
        ],
        "usage": {"prompt_tokens": len(words) // 4, "completion_tokens": 1, "total_tokens": len(words) // 4 + 1},
    }
