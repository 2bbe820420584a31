"""Trajectories of SWE-agent: `history` holds chat messages with their kind, demonstrations among them."""

from collections.abc import Iterator

from returns.result import Result

from context_guard.formats import openai_chat
from context_guard.formats.errors import FormatError
from context_guard.formats.parts import Json, listed
from context_guard.formats.recorded import About, to_recorded
from context_guard.transcript import Transcript


def read(value: Json) -> Result[tuple[Transcript, ...], FormatError]:
    """The history of the main agent, demonstrations too: the model read them."""
    return openai_chat.read(list(_chat(value["history"]))).map(lambda it: (to_recorded(About(host="swe-agent"), it),))


def _chat(history: list[Json]) -> Iterator[Json]:
    """With the id of its call where a result has it in a list; a result without one is the user's text."""
    for message in history:
        ids = [it for it in listed(message.get("tool_call_ids")) if isinstance(it, str)]
        if message.get("role") == "tool" and "tool_call_id" not in message:
            yield {**message, "tool_call_id": ids[0]} if ids else {**message, "role": "user"}
        else:
            yield message
