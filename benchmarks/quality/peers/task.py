"""What a peer is given: the large outputs of a run with what was asked, said and done around them."""

import json
from typing import Any

from benchmarks.quality.later_use import Item
from benchmarks.train_local_judge.material import Case
from msgspec import Struct

Message = dict[str, Any]


class Large(Struct, frozen=True):
    id: str
    tool: str
    args: str
    """JSON."""
    text: str


class Task(Struct, frozen=True):
    question: str
    answer: str
    """Empty in the middle of a run."""
    query: str
    """All that tells what is needed; peers that rank are given all of it."""
    outputs: tuple[Large, ...]


def task_of_case(case: Case) -> Task:
    """With the query that the baselines of `baselines.py` have."""
    args = json.dumps(case["args"], ensure_ascii=False)
    return Task(
        question=case["question"],
        answer=case["answer"],
        query=f"{case['question']}\n\n{case['answer']}",
        outputs=(Large(case["id"], case["tool"], args, case["output"]),),
    )


def task_of_item(item: Item) -> Task:
    """With the words that the rankings of the sessions' own scorer have: question, notes and answer."""
    is_mid = item["setting"] == "mid-run"
    answer = "" if is_mid else item["answer"] or ""
    said = [entry.get("text") or "" for entry in item["entries"] if entry["role"] == "assistant"]
    calls = {call["id"]: call for entry in item["entries"] for call in entry.get("tool_calls") or () if call.get("id")}
    outputs = tuple(
        Large(
            id=entry["id"],
            tool=entry.get("tool_name") or calls.get(entry.get("tool_call_id"), {}).get("name") or "tool",
            args=json.dumps(calls.get(entry.get("tool_call_id"), {}).get("arguments") or {}, ensure_ascii=False),
            text=entry["text"],
        )
        for entry in item["entries"]
        if entry.get("candidate")
    )
    question = item["question"] or ""
    return Task(question, answer, "\n\n".join(filter(None, (question, *said, answer))), outputs)


def chat(task: Task) -> list[Message]:
    """The run as chat messages; the last user message holds the query, since that is what peers rank by."""
    messages: list[Message] = [{"role": "user", "content": task.question or "Go on."}]
    for number, output in enumerate(task.outputs):
        function = {"name": output.tool, "arguments": output.args}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output.text})
    messages.append({"role": "assistant", "content": task.answer or "Let me go on."})
    messages.append({"role": "user", "content": task.query or "Go on."})
    return messages


def texts_of(messages: list[Message]) -> list[str]:
    """What stands in the place of each output."""
    return [message["content"] for message in messages if message["role"] == "tool"]
