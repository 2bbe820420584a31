"""Sessions of Claude Code: a line for each block of a message, in a tree; sub-agents as chains of their own.

What the model saw is the chain that ends in the last message. Calls that ran at the same time fork that chain: their
lines share the id of a response, and all of them belong to it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace
from returns.result import Result

from context_guard.formats import anthropic
from context_guard.formats.errors import FormatError
from context_guard.formats.json_lines import Json, Line, read_lines
from context_guard.formats.message import Message
from context_guard.formats.parts import kind_of, listed
from context_guard.formats.recorded import SYNTHETIC, About, milliseconds, model_named, once_each, to_recorded
from context_guard.formats.values import json_text, string
from context_guard.transcript import ToolResult, Transcript, only_result


def read(lines: Iterable[bytes]) -> Result[tuple[Transcript, ...], FormatError]:
    """The main conversation and each sub-agent's, as far as the file holds them."""
    return read_lines(lines, "claude-code").map(_transcripts)


def seen_lines(lines: list[Json]) -> list[int]:
    """Places of the messages on the chain that ends in the last one, in their order."""
    places = {line["uuid"]: at for at, line in enumerate(lines) if isinstance(line.get("uuid"), str)}
    at = next((at for at in reversed(range(len(lines))) if is_message(lines[at])), None)
    chain: list[int] = []
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        if is_message(lines[at]):
            chain.append(at)
        at = places.get(lines[at].get("parentUuid") or "")
    return chain[::-1]


def is_message(line: Json) -> bool:
    return line.get("type") in ("user", "assistant") and isinstance(line.get("message"), dict)


def _transcripts(lines: list[Line]) -> tuple[Transcript, ...]:
    agents: dict[str, list[Line]] = {}
    for number, value in lines:
        agents.setdefault(string(value.get("agentId")) if value.get("isSidechain") else "", []).append((number, value))
    return tuple(transcript for agent, own in agents.items() for transcript in _transcript(agent, own))


def _transcript(agent: str, lines: list[Line]) -> Iterator[Transcript]:
    chain = _context([value for _, value in lines])
    if not chain:
        return
    own = [lines[at] for at in chain]
    about = own[-1][1]
    session = string(about.get("sessionId"))
    yield to_recorded(
        About(
            host="claude-code",
            session=f"{session}/{agent}" if agent else session,
            cwd=string(about.get("cwd")) or None,
            version=string(about.get("version")),
            overhead_chars=_overhead([value for _, value in lines]),
        ),
        once_each(list(_messages(own))),
    )


def _context(lines: list[Json]) -> list[int]:
    """Places of all lines that the model saw: messages, reminders, and what came before a compaction."""
    places = {line["uuid"]: at for at, line in enumerate(lines) if isinstance(line.get("uuid"), str)}
    at = next((at for at in reversed(range(len(lines))) if is_message(lines[at])), None)
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        parent = lines[at].get("parentUuid") or lines[at].get("logicalParentUuid")
        at = places.get(parent) if isinstance(parent, str) else None
    responses = {_response(lines[at]) for at in seen} - {""}
    seen |= {at for at, line in enumerate(lines) if is_message(line) and _response(line) in responses}
    calls = {it for at in seen for it in _ids(lines[at], "tool_use", "id")}
    answered = {it for at in seen for it in _ids(lines[at], "tool_result", "tool_use_id")}
    for at, line in enumerate(lines):
        own = set(_ids(line, "tool_result", "tool_use_id"))
        if at not in seen and own and own <= calls and not own & answered:
            seen.add(at)
            answered |= own
    return [at for at in sorted(seen) if is_message(lines[at]) or _reminder(lines[at])]


def _response(line: Json) -> str:
    message = line.get("message")
    return string(message.get("id")) if line.get("type") == "assistant" and isinstance(message, dict) else ""


def _ids(line: Json, kind: str, key: str) -> list[str]:
    if not is_message(line):
        return []
    return [string(it.get(key)) for it in listed(line["message"].get("content")) if kind_of(it) == kind]


def _reminder(line: Json) -> str:
    """What the program put into the context beside a message."""
    if line.get("type") != "attachment":
        return ""
    texts = [string(it.get("content")) for it in listed(line.get("rendered")) if isinstance(it, dict)]
    return "\n".join(filter(None, texts))


def _messages(lines: list[Line]) -> Iterator[Message]:
    """The parts of a response put together, at the place of the first of them."""
    merged: list[tuple[Line, Json]] = []
    answers: dict[str, Json] = {}
    for number, line in lines:
        if not is_message(line):
            message: Json = {"role": "user", "content": _reminder(line)}
        elif (name := _response(line)) in answers:
            answers[name]["content"] += listed(line["message"].get("content"))
            if line["message"].get("stop_reason"):
                answers[name]["stop_reason"] = line["message"]["stop_reason"]
            continue
        else:
            message = {**line["message"], "content": listed(line["message"].get("content"))}
            if name:
                answers[name] = message
        merged.append(((number, line), message))
    read = anthropic.read([message for _, message in merged])
    for entry in read.value_or(()):
        place = int(entry.src.partition("/")[0])
        yield _told(entry, *merged[place][0])


def _told(message: Message, number: int, line: Json) -> Message:
    message = replace(message, time=milliseconds(line.get("timestamp")), src=f"line:{number}")
    if line.get("type") == "attachment" or (message.role == "user" and line.get("isMeta") is True):
        return replace(message, role="note")
    if line.get("isCompactSummary") is True:
        return replace(message, role="summary", kind="compaction")
    if message.role == "assistant":
        is_ours = line.get("isApiErrorMessage") is True or line["message"].get("model") == SYNTHETIC
        named = model_named(line["message"].get("model"), "anthropic")
        return replace(message, model=named, **({"stop": "error", "usage": None} if is_ours else {}))
    return _with_spill(message, line.get("toolUseResult"))


def _with_spill(message: Message, details: Any) -> Message:
    result = only_result(message.blocks)
    path = string(details.get("persistedOutputPath")) if isinstance(details, dict) else ""
    if not path or not isinstance(result, ToolResult):
        return message
    return replace(message, blocks=(replace(result, full_ref=path),))


def _overhead(lines: list[Json]) -> int | None:
    """System prompt and tools, as the last snapshot that has both tells them."""
    for line in reversed(lines):
        found = line.get("attachment")
        if isinstance(found, dict) and found.get("type") == "prompt_snapshot" and found.get("tools"):
            return len("".join(map(string, listed(found.get("systemPrompt"))))) + sum(
                len(json_text(tool.get("schema", tool))) for tool in listed(found["tools"]) if isinstance(tool, dict)
            )
    return None
