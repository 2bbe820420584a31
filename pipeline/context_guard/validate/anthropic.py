"""What the Anthropic Messages API would refuse of a message list.

The rules are those whose refusals are on record: in the API's own error texts, and in the issues of hosts that ran into
them (orphans, thinking, system messages in the middle, breakpoints).
"""

import re
from collections.abc import Iterator
from typing import Any

from context_guard.validate.problem import (
    Problem,
    check_base64,
    check_url,
    find_lone_surrogates,
    is_blank,
    of_type,
    quoted,
    repeated,
)

ROLES = ("user", "assistant", "system")
THINKING = ("thinking", "redacted_thinking")
MAX_BREAKPOINTS = 4
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def validate_anthropic(messages: list[dict[str, Any]]) -> tuple[Problem, ...]:
    """Every reason for a 400 that the messages by themselves show; empty when there is none."""
    return tuple(_problems(messages))


def _problems(messages: list[Any]) -> Iterator[Problem]:
    yield from find_lone_surrogates(messages, "messages")
    yield from _check_order(messages)
    seen: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") in ROLES:
            where = f"messages[{place}]"
            yield from _check_content(message, where)
            yield from _check_calls(message, _at(messages, place + 1), where, seen)
            yield from _check_results(message, _at(messages, place - 1), where)
    yield from _check_end(messages)
    yield from _check_breakpoints(messages)


def _check_order(messages: list[Any]) -> Iterator[Problem]:
    """A user begins; a system message stands before an assistant's or ends the list."""
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            yield Problem(f"messages[{place}]", f"The role is {role!r}; it must be one of {', '.join(ROLES)}.")
        behind = _at(messages, place + 1)
        if role == "system" and behind is not None and behind.get("role") not in ("assistant", "system"):
            yield Problem(f"messages[{place}]", "A system message must precede an assistant message or end the list.")
    if messages and isinstance(messages[0], dict) and messages[0].get("role") != "user":
        yield Problem("messages[0]", "The first message must be the user's.")


def _check_content(message: dict[str, Any], where: str) -> Iterator[Problem]:
    content = message.get("content")
    if message["role"] == "system" and content == []:
        return
    if isinstance(content, str):
        if is_blank(content):
            yield Problem(where, "The message holds no text.")
        return
    if not isinstance(content, list) or not content:
        yield Problem(where, "The message is empty.")
        return
    yield from _check_texts(content, where)
    for index, block in enumerate(content):
        yield from _check_block(block, f"{where}.content[{index}]")
    if message["role"] == "assistant":
        yield from _check_thinking(content, where)


def _check_texts(content: list[Any], where: str) -> Iterator[Problem]:
    """No text block is empty, and white space alone is not enough of a message."""
    texts = [block.get("text") for block in content if of_type(block) == "text"]
    for index, block in enumerate(content):
        if of_type(block) == "text" and block.get("text") in ("", None):
            yield Problem(f"{where}.content[{index}]", "The text block is empty.")
    if any(texts) and all(map(is_blank, texts)):
        yield Problem(where, "The text blocks hold nothing but white space.")


def _check_block(block: Any, where: str) -> Iterator[Problem]:
    match of_type(block):
        case "":
            yield Problem(where, "The block has no type.")
        case "thinking" if is_blank(block.get("signature")):
            yield Problem(where, "The thinking block has no signature.")
        case "redacted_thinking" if is_blank(block.get("data")):
            yield Problem(where, "The redacted thinking has no data.")
        case "image":
            yield from _check_image(block.get("source"), where)
        case "tool_use" if not isinstance(block.get("input"), dict):
            yield Problem(where, "The call's input is no object.")
        case "tool_result":
            yield from _check_output(block, where)


def _check_image(source: Any, where: str) -> Iterator[Problem]:
    match source:
        case {"type": "base64"}:
            yield from check_base64(source.get("media_type"), source.get("data"), where)
        case {"type": "url"}:
            yield from check_url(source.get("url"), where)
        case {"type": "file"} if not is_blank(source.get("file_id")):
            pass
        case _:
            yield Problem(where, "The picture has no source.")


def _check_output(block: dict[str, Any], where: str) -> Iterator[Problem]:
    """The content of a tool result: none, a string, or blocks; of a failed call texts only."""
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Problem(where, "The result's content is neither a text nor a list of blocks.")
        return
    yield from _check_texts(content, where)
    for index, inner in enumerate(content):
        yield from _check_block(inner, f"{where}.content[{index}]")
        if of_type(inner) in ("tool_use", "tool_result", *THINKING):
            yield Problem(f"{where}.content[{index}]", f"A {of_type(inner)} block cannot stand inside a result.")
        elif block.get("is_error") and of_type(inner) != "text":
            yield Problem(f"{where}.content[{index}]", "The result of a failed call can hold nothing but text.")


def _check_thinking(content: list[Any], where: str) -> Iterator[Problem]:
    """Thinking leads a tool loop and never ends a message."""
    kinds = [of_type(block) for block in content]
    if "tool_use" in kinds and kinds[0] not in THINKING and any(kind in THINKING for kind in kinds):
        yield Problem(where, "The message calls tools and thinks, so it must begin with its thinking.")
    if kinds[-1] in THINKING:
        yield Problem(where, "The last block of an assistant message cannot be thinking.")


def _check_calls(message: dict[str, Any], behind: Any, where: str, seen: set[str]) -> Iterator[Problem]:
    """Calls belong to the assistant, have usable ids of their own, and are all answered in the very next message."""
    calls = _blocks(message, "tool_use")
    if calls and message["role"] != "assistant":
        yield Problem(where, "Only an assistant message can call tools.")
        return
    ids = [block.get("id") for block in calls]
    for found in ids:
        if not isinstance(found, str) or not _ID.fullmatch(found):
            yield Problem(where, f"The call id {found!r} must be letters, digits, _ and - only.")
        elif found in seen:
            yield Problem(where, f"The call id {found!r} is used twice; call ids must be unique.")
        else:
            seen.add(found)
    is_user = isinstance(behind, dict) and behind.get("role") == "user"
    answered = [block.get("tool_use_id") for block in _blocks(behind, "tool_result")] if is_user else []
    if missing := [found for found in ids if found not in answered]:
        yield Problem(where, f"The next message must begin with the results of {quoted(missing)}.")


def _check_results(message: dict[str, Any], before: Any, where: str) -> Iterator[Problem]:
    """Results stand in the user message behind their calls, before everything else in it, each call's once."""
    results = _blocks(message, "tool_result")
    if not results:
        return
    if message["role"] != "user":
        yield Problem(where, "Only a user message can hold tool results.")
    asked = [block.get("id") for block in _blocks(before, "tool_use")]
    ids = [block.get("tool_use_id") for block in results]
    if orphans := [found for found in ids if found not in asked]:
        yield Problem(where, f"No call in the message before belongs to the results of {quoted(orphans)}.")
    if twice := repeated(ids):
        yield Problem(where, f"There is more than one result of {quoted(twice)}.")
    kinds = [of_type(block) for block in message["content"]]
    if kinds[: len(results)] != ["tool_result"] * len(results):
        yield Problem(where, "Tool results must come before everything else in their message.")


def _check_end(messages: list[Any]) -> Iterator[Problem]:
    """A last message of the assistant's own is gone on from: white space at its end is refused."""
    last = messages[-1] if messages else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return
    content = last.get("content")
    block = content[-1] if isinstance(content, list) and content else content
    text = block.get("text") if isinstance(block, dict) else block
    if isinstance(text, str) and text != text.rstrip():
        yield Problem(f"messages[{len(messages) - 1}]", "The last message ends in white space.")


def _check_breakpoints(messages: list[Any]) -> Iterator[Problem]:
    """At most four, none on thinking, one-hour ones before five-minute ones."""
    lives: list[str] = []
    for where, block in _marked(messages, "messages"):
        mark = block["cache_control"]
        life = (mark.get("ttl") or "5m") if isinstance(mark, dict) and mark.get("type") == "ephemeral" else ""
        if life not in ("5m", "1h"):
            yield Problem(where, 'The breakpoint must be {"type": "ephemeral"}, with a ttl of "5m" or "1h" if any.')
        if of_type(block) in THINKING or (of_type(block) == "text" and is_blank(block.get("text"))):
            yield Problem(where, "Neither thinking nor an empty text can carry a breakpoint.")
        if life == "1h" and "5m" in lives:
            yield Problem(where, "A breakpoint of one hour cannot come behind one of five minutes.")
        lives.append(life)
    if len(lives) > MAX_BREAKPOINTS:
        yield Problem("messages", f"There are {len(lives)} breakpoints; at most {MAX_BREAKPOINTS} are allowed.")


def _marked(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Blocks with a breakpoint in the order of the list, results before what they hold."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marked(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        if value.get("cache_control"):
            yield where, value
        yield from _marked(value.get("content"), f"{where}.content")


def _at(messages: list[Any], place: int) -> Any:
    """The message there; None before the first and behind the last."""
    found = messages[place] if 0 <= place < len(messages) else None
    return found if isinstance(found, dict) else None


def _blocks(message: Any, kind: str) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if of_type(block) == kind] if isinstance(content, list) else []
