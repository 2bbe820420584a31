"""What the OpenAI chat completions API would refuse of a message list: the rules whose refusals are on record."""

from collections.abc import Iterator
from typing import Any

from context_guard.validate.problem import Problem, check_url, find_lone_surrogates, of_type, quoted, repeated

ROLES = ("system", "developer", "user", "assistant", "tool")
PARTS = ("text", "image_url", "input_audio", "file", "refusal")


def validate_openai_chat(messages: list[dict[str, Any]]) -> tuple[Problem, ...]:
    """Every reason for a 400 that the messages by themselves show; empty when there is none."""
    return tuple(_problems(messages))


def _problems(messages: list[Any]) -> Iterator[Problem]:
    yield from find_lone_surrogates(messages, "messages")
    waiting: list[Any] = []
    """Calls of the last assistant message that no tool message has answered yet."""
    asked: list[Any] = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            yield Problem(where, f"The role is {role!r}; it must be one of {', '.join(ROLES)}.")
            continue
        yield from _check_content(message, where)
        if role == "tool":
            yield from _check_answer(message.get("tool_call_id"), asked, waiting, where)
            continue
        yield from _check_waiting(waiting, where)
        calls = _calls(message)
        yield from _check_calls(message, calls, where)
        asked = [call.get("id") for call in calls]
        waiting = list(asked)
    yield from _check_waiting(waiting, f"messages[{len(messages)}]")


def _check_answer(found: Any, asked: list[Any], waiting: list[Any], where: str) -> Iterator[Problem]:
    """A tool message answers one call of the assistant message that its batch stands behind."""
    if found in waiting:
        waiting.remove(found)
    elif found in asked:
        yield Problem(where, f"There is more than one result of {found!r}.")
    else:
        yield Problem(where, f"No call right before belongs to the result of {found!r}.")


def _check_waiting(waiting: list[Any], where: str) -> Iterator[Problem]:
    if waiting:
        yield Problem(where, f"Tool messages for {quoted(waiting)} must come right behind the calls, before this.")


def _check_calls(message: dict[str, Any], calls: list[dict[str, Any]], where: str) -> Iterator[Problem]:
    if message.get("tool_calls") and message["role"] != "assistant":
        yield Problem(where, "Only an assistant message can call tools.")
    if message.get("tool_calls") == []:
        yield Problem(where, "The list of calls is empty; it must be left out instead.")
    ids = [call.get("id") for call in calls]
    if twice := repeated(ids):
        yield Problem(where, f"The call ids {quoted(twice)} are used more than once.")
    for index, call in enumerate(calls):
        function = call.get("function") if call.get("type") == "function" else call.get("custom")
        given = function.get("arguments", function.get("input")) if isinstance(function, dict) else None
        if not isinstance(call.get("id"), str) or not call["id"]:
            yield Problem(f"{where}.tool_calls[{index}]", "The call has no id.")
        if not isinstance(function, dict) or not function.get("name") or not isinstance(given, str):
            yield Problem(f"{where}.tool_calls[{index}]", "The call needs a name, and its arguments as a text.")


def _check_content(message: dict[str, Any], where: str) -> Iterator[Problem]:
    """Something to read in every message: only a result may be an empty text, only a caller may say nothing."""
    content, role = message.get("content"), message["role"]
    if not content:
        silent = (role == "assistant" and bool(message.get("tool_calls"))) or (role == "tool" and content == "")
        if not silent or content == []:
            yield Problem(where, "The message is empty.")
        return
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Problem(where, "The content is neither a text nor a list of parts.")
        return
    for index, part in enumerate(content):
        yield from _check_part(part, role, f"{where}.content[{index}]")


def _check_part(part: Any, role: str, where: str) -> Iterator[Problem]:
    match of_type(part):
        case kind if kind not in PARTS:
            yield Problem(where, f"The part's type is {kind!r}; it must be one of {', '.join(PARTS)}.")
        case "text" if not part.get("text"):
            yield Problem(where, "The text part is empty.")
        case "image_url" if role != "user":
            yield Problem(where, "Only a user message can hold pictures.")
        case "image_url":
            image = part.get("image_url")
            yield from check_url(image.get("url") if isinstance(image, dict) else None, where)


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    found = message.get("tool_calls")
    return [call for call in found if isinstance(call, dict)] if isinstance(found, list) else []
