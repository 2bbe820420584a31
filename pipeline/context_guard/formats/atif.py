"""Trajectories in ATIF, the interchange format of Harbor: steps, each with its calls and what came of them."""

from collections.abc import Iterator

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import openai_chat
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Message
from context_guard.formats.parts import Json, as_object, listed
from context_guard.formats.recorded import About, count, dollars, milliseconds, model_named, once_each, to_recorded
from context_guard.formats.values import json_text, string
from context_guard.transcript import Transcript, Usage

ROLES = {"agent": "assistant", "system": "system"}


def read(value: Json) -> Result[tuple[Transcript, ...], FormatError]:
    agent = as_object(value.get("agent")) or {}
    chat = [(message, step) for step in value["steps"] for message in _chat(step)]
    about = About(host="atif", session=string(value.get("session_id")), version=string(value.get("schema_version")))
    read = openai_chat.read([message for message, _ in chat])
    told = read.map(lambda found: [_told(it, chat[int(it.src)][1], agent) for it in found])
    return told.map(lambda messages: (to_recorded(about, once_each(messages)),))


def _chat(step: Json) -> Iterator[Json]:
    """The step as chat messages: one that says and calls, and one for each result of its own call."""
    calls = [it for it in listed(step.get("tool_calls")) if isinstance(it, dict)]
    yield {
        "role": ROLES.get(string(step.get("source")), "user"),
        "content": step.get("message"),
        "reasoning_content": step.get("reasoning_content"),
        "tool_calls": [
            {
                "id": it.get("tool_call_id"),
                "function": {"name": it.get("function_name"), "arguments": json_text(it.get("arguments", {}))},
            }
            for it in calls
        ],
    }
    results = [it for it in listed((as_object(step.get("observation")) or {}).get("results")) if isinstance(it, dict)]
    for result in results:
        if call := string(result.get("source_call_id")):
            yield {"role": "tool", "tool_call_id": call, "content": result.get("content")}
        elif result.get("content"):
            yield {"role": "user", "content": result["content"]}


def _told(message: Message, step: Json, agent: Json) -> Message:
    time = milliseconds(step.get("timestamp"))
    metrics = as_object(step.get("metrics")) or {}
    if message.role != "assistant":
        return replace(message, time=time)
    whole, read = count(metrics, "prompt_tokens"), count(metrics, "cached_tokens")
    output = count(metrics, "completion_tokens")
    cost = dollars(metrics.get("cost_usd"))
    usage = Usage(input=max(0, whole - read), output=output, cache_read=read, cost=cost)
    return replace(
        message,
        time=time,
        model=model_named(step.get("model_name") or agent.get("model_name")),
        usage=usage if whole + output else None,
    )
