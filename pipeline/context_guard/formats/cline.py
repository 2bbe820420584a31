"""Conversations of Cline: Anthropic's blocks, whose results are lists of queries with what came of each."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import anthropic
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Message
from context_guard.formats.parts import Json, as_object, kind_of, listed
from context_guard.formats.recorded import About, count, dollars, milliseconds, model_named, once_each, to_recorded
from context_guard.formats.values import string
from context_guard.transcript import Transcript, Usage


def read(value: Json) -> Result[tuple[Transcript, ...], FormatError]:
    messages = value["messages"]
    origin = as_object(value.get("origin")) or {}
    about = About(
        host="cline",
        session=string(value.get("sessionId")),
        version=string(origin.get("version")),
        overhead_chars=len(string(value.get("system_prompt"))) or None,
    )
    return anthropic.read([_plain(message) for message in messages]).map(
        lambda found: (to_recorded(about, once_each([_told(it, messages) for it in found])),)
    )


def _plain(message: Json) -> Json:
    """With every result in Anthropic's form: the text that each query gave, and whether any of them failed."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [_result(it) if kind_of(it) == "tool_result" else it for it in content]}


def _result(part: Json) -> Json:
    answers = listed(part.get("content"))
    if not any(isinstance(it, dict) and "result" in it for it in answers):
        return part
    failed = any(isinstance(it, dict) and it.get("success") is False for it in answers)
    return {**part, "content": [text for it in answers for text in _texts(it)], "is_error": failed}


def _texts(answer: Any) -> Iterator[Any]:
    found = answer.get("result") if isinstance(answer, dict) else None
    if isinstance(found, str):
        yield {"type": "text", "text": found}
    else:
        yield from listed(found) if isinstance(found, list) else [answer]


def _told(message: Message, sources: list[Json]) -> Message:
    source = sources[int(message.src.partition("/")[0])]
    message = replace(message, time=milliseconds(source.get("ts")))
    if message.role != "assistant":
        return message
    named = as_object(source.get("modelInfo")) or {}
    return replace(
        message,
        model=model_named(named.get("id"), named.get("provider")),
        usage=_usage(as_object(source.get("metrics"))),
        response_id=string(source.get("id")) or None,
    )


def _usage(metrics: Json | None) -> Usage | None:
    """All zero when its provider told nothing."""
    read, written = count(metrics, "cacheReadTokens"), count(metrics, "cacheWriteTokens")
    whole, output = count(metrics, "inputTokens"), count(metrics, "outputTokens")
    if not metrics or not whole + output + read + written:
        return None
    return Usage(input=whole, output=output, cache_read=read, cache_write=written, cost=dollars(metrics.get("cost")))
