"""Trajectories of mini-swe-agent: chat messages, each with an `extra` that no model sees."""

from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import openai_chat
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Message
from context_guard.formats.parts import Json, as_object, listed
from context_guard.formats.recorded import (
    About,
    dollars,
    milliseconds,
    model_named,
    once_each,
    openai_usage,
    to_recorded,
)
from context_guard.formats.values import string
from context_guard.transcript import Model, ToolResult, Transcript, only_result


def read(value: Json) -> Result[tuple[Transcript, ...], FormatError]:
    """The last message, of the role `exit`, is the program's own."""
    own = [it for it in listed(value.get("messages")) if not _is_end(it)]
    info = as_object(value.get("info")) or {}
    config = as_object(info.get("config")) or {}
    environment = as_object(config.get("environment")) or {}
    model = model_named((as_object(config.get("model")) or {}).get("model_name"))
    about = About(
        host="mini-swe-agent",
        cwd=string(environment.get("cwd")) or None,
        version=string(info.get("mini_version")),
    )
    return openai_chat.read(own).map(
        lambda found: (to_recorded(about, once_each([_told(it, own[int(it.src)], model) for it in found])),)
    )


def _is_end(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "exit"


def _told(message: Message, source: Json, model: Model | None) -> Message:
    extra = as_object(source.get("extra")) or {}
    message = replace(message, time=milliseconds(extra.get("timestamp")))
    result = only_result(message.blocks)
    if isinstance(result, ToolResult) and isinstance(extra.get("returncode"), int):
        return replace(message, blocks=(replace(result, is_error=extra["returncode"] != 0),))
    if message.role != "assistant":
        return message
    response = as_object(extra.get("response")) or {}
    usage = openai_usage(response.get("usage"))
    cost = dollars(extra.get("cost"))
    return replace(
        message,
        model=model or model_named(response.get("model")),
        usage=replace(usage, cost=cost) if usage is not None else None,
        response_id=string(response.get("id")) or None,
    )
