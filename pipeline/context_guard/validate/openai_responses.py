"""What the OpenAI Responses API would refuse of an input list: the rules whose refusals are on record."""

from collections.abc import Iterator
from typing import Any

from context_guard.validate.problem import Problem, check_url, find_lone_surrogates, of_type, quoted

OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "local_shell_call_output": "local_shell_call",
}
"""Every kind of result and the kind of call that it belongs to."""

ID_PREFIX = {"function_call": "fc", "reasoning": "rs", "message": "msg"}
ROLES = ("system", "developer", "user", "assistant")


def validate_openai_responses(items: list[dict[str, Any]]) -> tuple[Problem, ...]:
    """Every reason for a 400 that the items by themselves show; empty when there is none.

    Items that the server keeps (`previous_response_id`, a conversation) are not among them: such a list shows only the
    newest part, and results whose calls the server has are named as orphans.
    """
    return tuple(_problems(items))


def _problems(items: list[Any]) -> Iterator[Problem]:
    yield from find_lone_surrogates(items, "input")
    waiting: dict[tuple[str, str], int] = {}
    """Kind and call id of every call without a result so far, with its place."""
    answered: set[tuple[str, str]] = set()
    seen: set[str] = set()
    for place, item in enumerate(items):
        where = f"input[{place}]"
        kind = _kind(item)
        if not kind:
            yield Problem(where, "The item has neither a type nor a role.")
            continue
        yield from _check_id(item, kind, seen, where)
        if kind in OUTPUTS.values():
            call = (kind, _call_id(item))
            yield from _check_call(item, call, waiting, where)
            waiting.setdefault(call, place)
        elif kind in OUTPUTS:
            call = (OUTPUTS[kind], _call_id(item))
            yield from _check_output(item, call, waiting, answered, where)
            answered.add(call)
            waiting.pop(call, None)
        elif kind == "message":
            yield from _check_message(item, where)
        elif kind == "reasoning":
            yield from _check_reasoning(items, place, where)
    for (_, call_id), place in waiting.items():
        yield Problem(f"input[{place}]", f"No item behind it is the result of {call_id!r}.")


def _check_id(item: dict[str, Any], kind: str, seen: set[str], where: str) -> Iterator[Problem]:
    """Ids of items are unique, and begin as their kind does."""
    found = item.get("id")
    if not isinstance(found, str):
        return
    if found in seen:
        yield Problem(where, f"There is more than one item with the id {found!r}.")
    seen.add(found)
    prefix = ID_PREFIX.get(kind, "")
    if not found.startswith(prefix):
        yield Problem(where, f"The id {found!r} of this {kind} must begin with {prefix!r}.")


def _check_call(
    item: dict[str, Any], call: tuple[str, str], waiting: dict[tuple[str, str], int], where: str
) -> Iterator[Problem]:
    kind, call_id = call
    if not call_id:
        yield Problem(where, "The call has no call_id.")
    if call in waiting:
        yield Problem(where, f"An earlier call {call_id!r} still waits for its result.")
    given = item.get("arguments") if kind == "function_call" else item.get("input", item.get("action"))
    if given is None or (kind != "local_shell_call" and not item.get("name")):
        yield Problem(where, "The call needs a name, and its arguments as a text.")


def _check_output(
    item: dict[str, Any],
    call: tuple[str, str],
    waiting: dict[tuple[str, str], int],
    answered: set[tuple[str, str]],
    where: str,
) -> Iterator[Problem]:
    """A result comes behind its call, once, and holds a text or parts."""
    if call not in waiting:
        why = "There is more than one result of" if call in answered else "No call before belongs to the result of"
        yield Problem(where, f"{why} {call[1]!r}.")
    output = item.get("output")
    if isinstance(output, list) and output:
        for index, part in enumerate(output):
            yield from _check_part(part, ("input_text", "input_image", "input_file"), f"{where}.output[{index}]")
    elif not isinstance(output, str):
        yield Problem(where, "The result's output must be a text or a list of parts that is not empty.")


def _check_message(item: dict[str, Any], where: str) -> Iterator[Problem]:
    content, role = item.get("content"), item.get("role")
    if role not in ROLES:
        yield Problem(where, f"The role is {role!r}; it must be one of {', '.join(ROLES)}.")
    if not content:
        yield Problem(where, "The message is empty.")
    elif isinstance(content, list):
        user = ("input_text", "input_image", "input_file")
        allowed = ("output_text", "refusal") if role == "assistant" else user
        for index, part in enumerate(content):
            yield from _check_part(part, allowed, f"{where}.content[{index}]")
    elif not isinstance(content, str):
        yield Problem(where, "The content is neither a text nor a list of parts.")


def _check_part(part: Any, allowed: tuple[str, ...], where: str) -> Iterator[Problem]:
    kind = of_type(part)
    if kind not in allowed:
        yield Problem(where, f"A part of type {kind!r} cannot stand here; only {quoted(list(allowed))} can.")
    elif kind in ("input_text", "output_text") and not part.get("text"):
        yield Problem(where, "The text part is empty.")
    elif kind == "input_image" and not part.get("file_id"):
        yield from check_url(part.get("image_url"), where)


def _check_reasoning(items: list[Any], place: int, where: str) -> Iterator[Problem]:
    """Reasoning stands right before the call or the message that came of it."""
    behind = items[place + 1] if place + 1 < len(items) else None
    is_users = _kind(behind) == "message" and behind is not None and behind.get("role") != "assistant"
    if behind is None or _kind(behind) in OUTPUTS or is_users:
        yield Problem(where, "Reasoning must be followed by the call or the message that it led to.")


def _call_id(item: dict[str, Any]) -> str:
    found = item.get("call_id")
    return found if isinstance(found, str) else ""


def _kind(item: Any) -> str:
    """The item's type; a message may leave its out."""
    return of_type(item) or ("message" if isinstance(item, dict) and item.get("role") else "")
