"""Requests whose history a server holds: a guard that edits what is sent sees only the newest part of it."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

Json = dict[str, Any]

DELTA = (
    "The server holds the conversation ({field}), and a request shows only what is new: nothing can be edited. {way}"
)
SERVER_EDITS = (
    "The server itself takes old content out of the context ({field}): let either it or the guard do that. {way}"
)


class Rule(Struct, frozen=True):
    field: str
    says: str
    way: str
    """What the user can do."""
    holds: Callable[[Any], bool] = bool
    """Whether a value of the field has that meaning."""


def _is_editing(value: Any) -> bool:
    """Thinking may go: no edit of the guard's touches it."""
    edits = value.get("edits") if isinstance(value, dict) else value
    kinds = [str(edit.get("type")) for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    return any(not kind.startswith("clear_thinking") for kind in kinds)


def _refers(value: Any) -> bool:
    items = value if isinstance(value, list) else []
    return any(isinstance(item, dict) and item.get("type") == "item_reference" for item in items)


ANTHROPIC = (
    Rule("thread", DELTA, "Send without a thread (`thread=False`), or open a new one with the edited list."),
    Rule("context_management", SERVER_EDITS, "Leave out every edit but clear_thinking.", _is_editing),
)
RESPONSES = (
    Rule("previous_response_id", DELTA, "Send the whole input, with `store=false` and encrypted reasoning."),
    Rule("conversation", DELTA, "Send the whole input instead of a conversation."),
    Rule("input", DELTA.replace("{field}", "item_reference in {field}"), "Send the items themselves.", _refers),
    Rule("context_management", SERVER_EDITS, "Leave out the compaction.", _is_editing),
)
GOOGLE = (Rule("previous_interaction_id", DELTA, "Send the whole contents instead of an interaction."),)
ASSISTANTS = (Rule("thread_id", DELTA, "Use an API that takes the whole list of messages."),)

RULES: dict[str, tuple[Rule, ...]] = {
    "anthropic": ANTHROPIC,
    "openai-responses": RESPONSES,
    "openai-chat": (),
    "google": GOOGLE,
}
"""By provider; for one that is not here, all of them hold."""


def find_server_state(provider: str, body: Json) -> str | None:
    """Why a request body cannot be guarded, for the user, with the field that says so; None where it can.

    `store` alone is no such field: it keeps a copy and leaves the request whole. In a WebSocket message the body is
    its `response`.
    """
    inner = body.get("response")
    body = inner if isinstance(inner, dict) and body.get("type") == "response.create" else body
    rules = RULES.get(provider, (*ANTHROPIC, *RESPONSES, *GOOGLE, *ASSISTANTS))
    found = next((rule for rule in rules if rule.holds(body.get(rule.field))), None)
    return None if found is None else found.says.format(field=found.field, way=found.way)
