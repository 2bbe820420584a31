"""What the session's own provider would refuse of the next request, by the validators of every wire format."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from context_guard.doctor.chart import Chart
from context_guard.doctor.findings import Finding, found
from context_guard.formats.pi import to_transcript
from context_guard.formats.wire import to_anthropic, to_openai_chat, to_openai_responses
from context_guard.transcript import Transcript
from context_guard.validate import Problem, validate_anthropic, validate_openai_chat, validate_openai_responses

Wire = tuple[Callable[[Transcript], list[dict[str, Any]]], Callable[[list[dict[str, Any]]], tuple[Problem, ...]]]

ANTHROPIC: Wire = (to_anthropic, validate_anthropic)
CHAT: Wire = (to_openai_chat, validate_openai_chat)
RESPONSES: Wire = (to_openai_responses, validate_openai_responses)

WIRES: dict[str, Wire] = {
    "anthropic-messages": ANTHROPIC,
    "bedrock-converse-stream": ANTHROPIC,
    "openai-completions": CHAT,
    "mistral-conversations": CHAT,
    "openai-responses": RESPONSES,
    "openai-codex-responses": RESPONSES,
    "azure-openai-responses": RESPONSES,
}
"""By Pi's names of APIs; the rules of any other are not known."""

NEXT_PROMPT = {"role": "user", "content": "Go on."}
"""Stands for the prompt that the next request ends with, whatever it says."""


def payload_faults(chart: Chart) -> Iterator[Finding]:
    if chart.api not in WIRES:
        return
    write, validate = WIRES[chart.api]
    transcript = to_transcript(chart.session)
    for problem in validate([*write(transcript), NEXT_PROMPT]):
        entry = _entry_of(transcript, write, _index(problem.where))
        yield found("refused", problem.message, chart.lines.get(entry or ""), entry)


def _index(where: str) -> int | None:
    """The place in the list, of `messages[3].content[0]`."""
    inside = where.partition("[")[2].partition("]")[0]
    return int(inside) if inside.isdecimal() else None


def _entry_of(
    transcript: Transcript, write: Callable[[Transcript], list[dict[str, Any]]], place: int | None
) -> str | None:
    """The entry with which the list grows past this place; the call where it is that of a result."""
    if place is None:
        return None
    low, high = 0, len(transcript.context)
    while low < high:
        middle = (low + high) // 2
        shorter = structs.replace(transcript, context=transcript.context[: middle + 1])
        low, high = (low, middle) if len(write(shorter)) > place else (middle + 1, high)
    return transcript.entries[transcript.context[low]].id if low < len(transcript.context) else None
