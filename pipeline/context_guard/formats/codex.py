"""Rollouts of Codex: `response_item` lines are what the model sees, in the form of the Responses API.

A compaction brings the history that stands from then on. Whether a command failed is told by the lines beside it.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from returns.result import Result, Success

from context_guard.formats import openai_responses
from context_guard.formats.errors import FormatError
from context_guard.formats.json_lines import Json, Line, read_lines
from context_guard.formats.message import Message
from context_guard.formats.parts import kind_of, listed, places_of
from context_guard.formats.recorded import About, milliseconds, model_named, openai_usage, to_recorded
from context_guard.formats.values import string
from context_guard.transcript import Model, ToolResult, Transcript, Usage, only_result

INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<permissions")
"""How messages begin that the program puts in under the user's role, where the line itself does not say so."""


def read(lines: Iterable[bytes]) -> Result[tuple[Transcript, ...], FormatError]:
    return read_lines(lines, "codex").bind(_transcripts)


class _Rollout:
    """While the lines are read: the items so far, and beside each what its line tells."""

    def __init__(self) -> None:
        self.meta: Json = {}
        self.items: list[Json] = []
        self.beside: list[tuple[int, int | None, Model | None]] = []
        self.compactions: set[int] = set()
        """Places of the first items of each new history."""
        self.usages: dict[int, tuple[Usage, str]] = {}
        """Behind so many items the provider had counted this, for this response."""
        self.failed: dict[str, bool] = {}
        self._model: Model | None = None
        self._told: set[str] = set()

    def add(self, number: int, line: Json) -> None:
        payload = line.get("payload")
        if not isinstance(payload, dict):
            return
        time = milliseconds(line.get("timestamp"))
        match line.get("type"):
            case "session_meta" if not self.meta:
                self.meta = payload
            case "turn_context":
                self._model = model_named(payload.get("model"), _provider(self.meta)) or self._model
            case "response_item":
                self._item(payload, number, time)
            case "compacted":
                self._compact(payload, number, time)
            case "token_usage_record":
                self._usage(payload.get("usage"), string(payload.get("response_id")))
            case "event_msg":
                self._event(payload)

    def _item(self, item: Json, number: int, time: int | None) -> None:
        self.items.append(item)
        self.beside.append((number, time, self._model))

    def _compact(self, payload: Json, number: int, time: int | None) -> None:
        history = [it for it in listed(payload.get("replacement_history")) if isinstance(it, dict)]
        said = {"type": "message", "role": "user", "content": string(payload.get("message"))}
        self.compactions.add(len(self.items))
        for item in history or [said]:
            self._item(item, number, time)

    def _usage(self, found: Any, response: str) -> None:
        usage = openai_usage(found)
        if usage is not None and (not response or response not in self._told):
            self._told.add(response)
            self.usages.setdefault(len(self.items), (usage, response))

    def _event(self, payload: Json) -> None:
        """Older rollouts have no usage of their own for a response, only this count behind it."""
        info, item = payload.get("info"), payload.get("item")
        if payload.get("type") == "token_count" and isinstance(info, dict) and not self._told - {""}:
            self._usage(info.get("last_token_usage"), "")
        if payload.get("type") == "item_completed" and isinstance(item, dict) and isinstance(item.get("id"), str):
            code = item.get("exit_code", item.get("exitCode"))
            self.failed[item["id"]] = (isinstance(code, int) and code != 0) or item.get("status") == "failed"


def _transcripts(lines: list[Line]) -> Result[tuple[Transcript, ...], FormatError]:
    rollout = _Rollout()
    for number, line in lines:
        rollout.add(number, line)
    if not rollout.items:
        return Success(())
    meta = rollout.meta
    instructions = meta.get("base_instructions", meta.get("instructions"))
    text = string(instructions.get("text")) if isinstance(instructions, dict) else string(instructions)
    about = About(
        host="codex",
        session=string(meta.get("id")),
        cwd=string(meta.get("cwd")) or None,
        version=string(meta.get("cli_version")),
        overhead_chars=len(text) or None,
    )
    read = openai_responses.read(rollout.items)
    return read.map(lambda found: (to_recorded(about, _told(found, rollout)),))


def _told(found: tuple[Message, ...], rollout: _Rollout) -> list[Message]:
    messages = []
    starts = [places_of(message.src)[0].start for message in found if message.role == "assistant"]
    ends = dict(zip(starts, [*starts[1:], len(rollout.items)], strict=False))
    for message in found:
        places, _ = places_of(message.src)
        number, time, model = rollout.beside[places[0]]
        placed = replace(message, time=time, src=f"line:{number}")
        if rollout.compactions & set(places):
            messages.append(replace(placed, role="summary", kind="compaction"))
        elif message.role == "assistant":
            usage, response = _usage_between(rollout, places.start + 1, ends[places.start])
            time = rollout.beside[places[-1]][1]
            messages.append(replace(placed, model=model, usage=usage, response_id=response or None, time=time))
        elif message.role == "tool":
            messages.append(_with_outcome(placed, rollout.failed))
        elif message.role == "user" and _is_injected(rollout.items[places[0]]):
            messages.append(replace(placed, role="note"))
        else:
            messages.append(placed)
    return messages


def _usage_between(rollout: _Rollout, first: int, last: int) -> tuple[Usage | None, str]:
    """The count of a response stands behind its items, or behind the results of its calls."""
    counts = (rollout.usages.get(place) for place in range(first, last + 1))
    return next((it for it in counts if it is not None), (None, ""))


def _with_outcome(message: Message, failed: dict[str, bool]) -> Message:
    result = only_result(message.blocks)
    if not isinstance(result, ToolResult) or result.call_id not in failed:
        return message
    return replace(message, blocks=(replace(result, is_error=failed[result.call_id]),))


def _is_injected(item: Json) -> bool:
    told = item.get("internal_chat_message_metadata_passthrough")
    kinds = [string(it) for it in listed(told.get("content_item_kinds"))] if isinstance(told, dict) else []
    if kinds:
        return not any(kind.startswith("user.") for kind in kinds)
    texts = [string(part.get("text")) for part in listed(item.get("content")) if kind_of(part)]
    return bool(texts) and texts[0].lstrip().startswith(INJECTED)


def _provider(meta: Json) -> str:
    """By subscription and by key it goes to the same address; what an edit loses is then reckoned as the worse."""
    name = string(meta.get("model_provider"))
    return "openai-codex" if name in ("", "openai") else name
