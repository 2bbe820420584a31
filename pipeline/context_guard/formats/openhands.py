"""Conversations of the OpenHands SDK: a folder with a JSON file for each event, in the order of their names."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import openai_chat
from context_guard.formats.errors import FormatError
from context_guard.formats.message import Message
from context_guard.formats.parts import Json, as_object, listed
from context_guard.formats.recorded import About, HostEdit, milliseconds, model_named, once_each, to_recorded
from context_guard.formats.values import json_text, string
from context_guard.transcript import Model, ToolResult, Transcript, only_result


def read(events: Iterable[Json], state: Json) -> Result[tuple[Transcript, ...], FormatError]:
    """One conversation; `state` is `base_state.json` beside the events, or empty.

    What a condensation forgot is gone from the model's context, its summary stands in it.
    """
    chat: list[Json] = []
    sources: list[Json] = []
    overhead: int | None = None
    for event in events:
        if event.get("kind") == "SystemPromptEvent":
            overhead = sum(len(json_text(tool)) for tool in listed(event.get("tools"))) or None
        for message in _chat(event):
            chat.append(message)
            sources.append(event)
    about = About(host="openhands", session=string(state.get("id")), overhead_chars=overhead)
    llm = as_object((as_object(state.get("agent")) or {}).get("llm")) or {}
    model = model_named(llm.get("model"))
    merged, places = _merged(chat, sources)
    return openai_chat.read(merged).map(
        lambda found: (
            to_recorded(
                about,
                once_each([_told(it, places[int(it.src)], model) for it in found]),
                _forgotten(places),
            ),
        )
    )


def _chat(event: Json) -> Iterator[Json]:
    """The event as a chat message, if a model saw it."""
    match event.get("kind"):
        case "SystemPromptEvent":
            yield {"role": "system", "content": [event.get("system_prompt")]}
        case "MessageEvent":
            message = as_object(event.get("llm_message")) or {}
            extended = listed(event.get("extended_content"))
            yield {**message, "content": [*listed(message.get("content")), *extended]}
        case "ActionEvent":
            call = as_object(event.get("tool_call")) or {}
            function = {"name": event.get("tool_name"), "arguments": call.get("arguments")}
            yield {
                "role": "assistant",
                "content": listed(event.get("thought")),
                "reasoning_content": event.get("reasoning_content"),
                "thinking_blocks": listed(event.get("thinking_blocks")),
                "tool_calls": [{"id": event.get("tool_call_id"), "function": function}],
            }
        case "ObservationEvent":
            content = (as_object(event.get("observation")) or {}).get("content")
            yield _result(event, [*listed(content), *listed(event.get("extended_content"))])
        case "AgentErrorEvent" | "UserRejectObservation":
            yield _result(event, event.get("error") or event.get("rejection_reason"))
        case "Condensation":
            yield {"role": "user", "content": event.get("summary") or ""}


def _result(event: Json, content: Any) -> Json:
    call, name = event.get("tool_call_id"), event.get("tool_name")
    return {"role": "tool", "tool_call_id": call, "name": name, "content": content}


def _merged(chat: list[Json], sources: list[Json]) -> tuple[list[Json], list[list[Json]]]:
    """The calls of one response as one message; beside each message the events that it is made of."""
    merged: list[Json] = []
    places: list[list[Json]] = []
    answers: dict[str, int] = {}
    for message, event in zip(chat, sources, strict=True):
        response = string(event.get("llm_response_id"))
        if message.get("role") == "assistant" and response in answers and response:
            place = answers[response]
            calls = [*merged[place].get("tool_calls", ()), *message.get("tool_calls", ())]
            merged[place] = {**merged[place], "tool_calls": calls}
            places[place].append(event)
            continue
        if message.get("role") == "assistant":
            answers[response] = len(merged)
        merged.append(message)
        places.append([event])
    return merged, places


def _told(message: Message, events: list[Json], model: Model | None) -> Message:
    event = events[0]
    told = replace(message, time=milliseconds(event.get("timestamp")), src=string(event.get("id")))
    result = only_result(message.blocks)
    if event.get("kind") == "Condensation":
        return replace(told, role="summary", kind="condensation")
    if isinstance(result, ToolResult):
        observation = as_object(event.get("observation"))
        failed = observation.get("is_error") is True if observation is not None else True
        return replace(told, blocks=(replace(result, is_error=failed),))
    if message.role != "assistant":
        return told
    return replace(told, model=model, response_id=string(event.get("llm_response_id")) or None)


def _forgotten(places: list[list[Json]]) -> Iterator[HostEdit]:
    """A message goes with the event that it began with."""
    found = {string(events[0].get("id")): place for place, events in enumerate(places)}
    for place, events in enumerate(places):
        names = listed(events[0].get("forgotten_event_ids")) if events[0].get("kind") == "Condensation" else []
        for name in names:
            if isinstance(name, str) and found.get(name, place) < place:
                yield HostEdit(behind=place, target=found[name], text=None)
