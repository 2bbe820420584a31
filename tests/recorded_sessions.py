"""One made-up conversation in the form of every host, for the readers and the audit."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
START = 1_796_000_000_000
"""Milliseconds since 1970."""


class Turn(Struct, frozen=True):
    """What the user asks, the calls that follow one another, and the answer."""

    prompt: str
    calls: tuple[tuple[str, str], ...]
    """A shell command and its output."""
    answer: str


def chars(turns: Iterable[Turn]) -> int:
    """Of texts, calls (name and arguments as compact JSON) and results."""
    return sum(
        len(turn.prompt)
        + len(turn.answer)
        + sum(len("bash") + len(arguments(command)) + len(output) for command, output in turn.calls)
        for turn in turns
    )


def arguments(command: str) -> str:
    return json.dumps({"command": command}, ensure_ascii=False, separators=(",", ":"))


class Step(Struct, frozen=True):
    """One message: `text` of a prompt or an answer, or a call, or its result."""

    role: str
    number: int
    text: str = ""
    command: str | None = None

    @property
    def ms(self) -> int:
        return START + self.number * 5_000

    @property
    def iso(self) -> str:
        seconds = self.number * 5
        return f"2026-11-30T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def steps(turns: Iterable[Turn]) -> list[Step]:
    found: list[Step] = []

    def add(role: str, text: str = "", command: str | None = None) -> None:
        found.append(Step(role, len(found), text, command))

    for turn in turns:
        add("user", turn.prompt)
        for command, output in turn.calls:
            add("assistant", command=command)
            add("tool", output)
        add("assistant", turn.answer)
    return found


def lines(objects: Iterable[Json]) -> bytes:
    return b"".join(json.dumps(it).encode() + b"\n" for it in objects)


def claude_code(turns: tuple[Turn, ...]) -> bytes:
    return lines(_claude_code(turns))


def _claude_code(turns: tuple[Turn, ...]) -> Iterable[Json]:
    yield {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1", "timestamp": "2026-11-30T00:00:00Z"}
    for step in steps(turns):
        yield {
            "type": "user" if step.role == "tool" else step.role,
            "uuid": f"u{step.number}",
            "parentUuid": f"u{step.number - 1}" if step.number else None,
            "sessionId": "s-1",
            "isSidechain": False,
            "timestamp": step.iso,
            "cwd": "/made/up/shop",
            "version": "2.1.332",
            "message": _anthropic(step) | _response(step),
        }


def _response(step: Step) -> Json:
    """Usage as if four characters were a token; none of it was in the cache."""
    if step.role != "assistant":
        return {}
    usage = {"input_tokens": 2_000 + step.number * 100, "output_tokens": 9, "cache_read_input_tokens": 0}
    return {"id": f"msg_{step.number}", "model": "claude-sonnet-5-5", "usage": usage}


def _anthropic(step: Step) -> Json:
    if step.role == "tool":
        result = {"type": "tool_result", "tool_use_id": f"c{step.number - 1}", "content": step.text}
        return {"role": "user", "content": [result]}
    if step.command is not None:
        call = {"type": "tool_use", "id": f"c{step.number}", "name": "bash", "input": {"command": step.command}}
        return {"role": "assistant", "content": [call]}
    return {"role": step.role, "content": [{"type": "text", "text": step.text}]}


def _chat(step: Step) -> Json:
    if step.role == "tool":
        return {"role": "tool", "tool_call_id": f"c{step.number - 1}", "content": step.text}
    if step.command is not None:
        function = {"name": "bash", "arguments": arguments(step.command)}
        calls = [{"id": f"c{step.number}", "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": step.role, "content": step.text}


def _item(step: Step) -> Json:
    if step.role == "tool":
        return {"type": "function_call_output", "call_id": f"c{step.number - 1}", "output": step.text}
    if step.command is not None:
        call = {"call_id": f"c{step.number}", "name": "bash", "arguments": arguments(step.command)}
        return {"type": "function_call", **call}
    kind = "output_text" if step.role == "assistant" else "input_text"
    return {"type": "message", "role": step.role, "content": [{"type": kind, "text": step.text}]}


def codex(turns: tuple[Turn, ...]) -> bytes:
    meta = {"id": "s-1", "cwd": "/made/up/shop", "cli_version": "0.171.0", "model_provider": "openai"}
    found: list[Json] = [
        {"timestamp": "2026-11-30T00:00:00Z", "type": "session_meta", "payload": meta},
        {"timestamp": "2026-11-30T00:00:00Z", "type": "turn_context", "payload": {"model": "gpt-6-luna"}},
    ]
    for step in steps(turns):
        found.append({"timestamp": step.iso, "type": "response_item", "payload": _item(step)})
        if step.role == "assistant":
            usage = {"input_tokens": 2_000 + step.number * 100, "cached_input_tokens": 1_000, "output_tokens": 9}
            record = {"response_id": f"r{step.number}", "usage": usage}
            found.append({"timestamp": step.iso, "type": "token_usage_record", "payload": record})
    return lines(found)


def pi(turns: tuple[Turn, ...]) -> bytes:
    found: list[Json] = [{"type": "session", "version": 3, "id": "s-1", "timestamp": "", "cwd": "/made/up/shop"}]
    for step in steps(turns):
        parent = f"{step.number - 1:08x}" if step.number else None
        found.append({"type": "message", "id": f"{step.number:08x}", "parentId": parent, "message": _pi(step)})
    return lines(found)


def _pi(step: Step) -> Json:
    text = [{"type": "text", "text": step.text}]
    if step.role == "tool":
        call = {"toolCallId": f"c{step.number - 1}", "toolName": "bash", "isError": False}
        return {"role": "toolResult", "content": text, "timestamp": step.ms, **call}
    if step.role == "user":
        return {"role": "user", "content": text, "timestamp": step.ms}
    call = {"type": "toolCall", "id": f"c{step.number}", "name": "bash", "arguments": {"command": step.command}}
    return {
        "role": "assistant",
        "content": text if step.command is None else [call],
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "api": "anthropic-messages",
        "stopReason": "stop" if step.command is None else "toolUse",
        "timestamp": step.ms,
    }


def anthropic_json(turns: tuple[Turn, ...]) -> Any:
    return {"model": "claude-sonnet-5-5", "messages": [_anthropic(step) for step in steps(turns)]}


def chat_json(turns: tuple[Turn, ...]) -> Any:
    return {"model": "gpt-5.1", "messages": [_chat(step) for step in steps(turns)]}


def responses_json(turns: tuple[Turn, ...]) -> Any:
    return {"model": "gpt-5.1", "input": [_item(step) for step in steps(turns)]}


def mini_swe_agent(turns: tuple[Turn, ...]) -> Any:
    messages = [_chat(step) | {"extra": {"timestamp": step.ms / 1_000}} for step in steps(turns)]
    end = {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}}
    info = {"config": {"model": {"model_name": "openai/gpt-5.1"}}}
    return {"info": info, "messages": [*messages, end], "trajectory_format": "mini-swe-agent-1.1"}


def swe_agent(turns: tuple[Turn, ...]) -> Any:
    history: list[Json] = []
    for step in steps(turns):
        message = _chat(step)
        if step.role == "tool":
            message = {"role": "tool", "content": [{"type": "text", "text": step.text}]}
            message["tool_call_ids"] = [f"c{step.number - 1}"]
        history.append({"content": "", **message, "agent": "main"} | ({} if message["content"] else {"content": ""}))
    return {"trajectory": [{"action": "ls"}], "history": history, "info": {"model_stats": {}}}


def cline(turns: tuple[Turn, ...]) -> Any:
    messages = []
    for step in steps(turns):
        message = _anthropic(step) | {"id": f"m{step.number}", "ts": step.ms}
        if step.role == "tool":
            message["content"][0]["content"] = [{"query": "it", "result": step.text, "success": True}]
        messages.append(message)
    return {"version": 1, "agent": "lead", "sessionId": "s-1", "messages": messages}


def atif(turns: tuple[Turn, ...]) -> Any:
    found: list[Json] = []
    for step in steps(turns):
        if step.role == "tool":
            found[-1]["observation"] = {"results": [{"source_call_id": f"c{step.number - 1}", "content": step.text}]}
            continue
        source = "agent" if step.role == "assistant" else "user"
        one: Json = {"step_id": step.number, "source": source, "message": step.text, "timestamp": step.iso}
        if step.command is not None:
            call = {"tool_call_id": f"c{step.number}", "function_name": "bash", "arguments": {"command": step.command}}
            one["tool_calls"] = [call]
        found.append(one)
    return {"schema_version": "ATIF-v1.7", "session_id": "s-1", "agent": {"model_name": "gpt-5.1"}, "steps": found}


def opencode(turns: tuple[Turn, ...]) -> Any:
    """Its three tables; a call and its result are one part."""
    messages: list[Json] = []
    parts: list[Json] = []
    for step in steps(turns):
        name = f"msg_{step.number:04}"
        if step.role == "tool":
            state = json.loads(parts[-1]["data"])
            state["state"] |= {"status": "completed", "output": step.text}
            parts[-1]["data"] = json.dumps(state)
            continue
        data: Json = {"role": step.role, "time": {"created": step.ms, "completed": step.ms}}
        if step.role == "assistant":
            data |= {"modelID": "claude-sonnet-5-5", "providerID": "anthropic"}
            data["tokens"] = {"input": 2_000, "output": 9, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        messages.append({"id": name, "session_id": "ses_1", "data": json.dumps(data)})
        part: Json = {"type": "text", "text": step.text}
        if step.command is not None:
            state = {"status": "running", "input": {"command": step.command}}
            part = {"type": "tool", "tool": "bash", "callID": f"c{step.number}", "state": state}
        parts.append(
            {"id": f"prt_{step.number:04}", "message_id": name, "session_id": "ses_1", "data": json.dumps(part)}
        )
    return {
        "session": [{"id": "ses_1", "directory": "/made/up/shop", "version": "1"}],
        "message": messages,
        "part": parts,
    }


def opencode_file(path: Path, turns: tuple[Turn, ...]) -> None:
    tables = opencode(turns)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id, parent_id, directory, version, time_updated)")
        database.execute("CREATE TABLE message (id, session_id, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        database.execute("INSERT INTO session VALUES ('ses_1', NULL, '/made/up/shop', '1', ?)", (START,))
        for row in tables["message"]:
            database.execute("INSERT INTO message VALUES (:id, :session_id, :data)", row)
        for row in tables["part"]:
            database.execute("INSERT INTO part VALUES (:id, :message_id, :session_id, :data)", row)
    database.close()


def openhands(turns: tuple[Turn, ...]) -> list[Json]:
    found: list[Json] = []
    for step in steps(turns):
        one: Json = {"id": f"e{step.number}", "timestamp": step.iso, "source": "user", "kind": "MessageEvent"}
        text = [{"type": "text", "text": step.text}]
        if step.role == "tool":
            observation = {"content": text, "is_error": False}
            one |= {"kind": "ObservationEvent", "tool_call_id": f"c{step.number - 1}", "observation": observation}
        elif step.command is not None:
            call = {"id": f"c{step.number}", "name": "bash", "arguments": arguments(step.command)}
            one |= {"kind": "ActionEvent", "tool_name": "bash", "tool_call_id": call["id"], "tool_call": call}
            one |= {"llm_response_id": f"r{step.number}"}
        else:
            one |= {"llm_message": {"role": step.role, "content": text}}
        found.append(one)
    return found


LINE_HOSTS: dict[str, Callable[[tuple[Turn, ...]], bytes]] = {"claude-code": claude_code, "codex": codex, "pi": pi}
DOCUMENT_HOSTS: dict[str, Callable[[tuple[Turn, ...]], Any]] = {
    "anthropic": anthropic_json,
    "openai-chat": chat_json,
    "openai-responses": responses_json,
    "mini-swe-agent": mini_swe_agent,
    "swe-agent": swe_agent,
    "cline": cline,
    "atif": atif,
    "opencode": opencode,
}


def write_all(folder: Path, turns: tuple[Turn, ...]) -> int:
    """A file, folder or database of every host; how many sessions these are."""
    for name, make in LINE_HOSTS.items():
        (folder / f"{name}.jsonl").write_bytes(make(turns))
    for name, build in DOCUMENT_HOSTS.items():
        (folder / f"{name}.json").write_text(json.dumps(build(turns)), encoding="utf-8")
    opencode_file(folder / "opencode.db", turns)
    events = folder / "conversation" / "events"
    events.mkdir(parents=True)
    for number, event in enumerate(openhands(turns)):
        (events / f"event-{number:05}-{event['id']}.json").write_text(json.dumps(event), encoding="utf-8")
    return len(LINE_HOSTS) + len(DOCUMENT_HOSTS) + 2
