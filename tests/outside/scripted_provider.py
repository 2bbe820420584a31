"""A model provider whose every turn is written down beforehand, on loopback. It speaks Anthropic Messages, streamed or
not, and OpenAI's chat completions and responses, not streamed (`scripted_openai.py`).

    with ScriptedProvider([Turn("I'll look.", [Call("bash", {"command": "ls"})]), Turn("Two files.")]) as provider:
        ...  # point an agent at provider.url
    provider.requests[1].messages  # what the agent sent after the tool ran

The agent's tools are real; only the model is not.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from outside.scripted_openai import chat_completion, response
from outside.scripted_turns import Call, Turn

__all__ = ["Call", "Request", "Script", "ScriptedProvider", "Turn"]

_CHARS_PER_TOKEN = 4
_DELTA_CHARS = 400
_GATE_SECONDS = 30.0


class Request(Struct, frozen=True):
    """A request as it was received."""

    path: str
    raw: bytes
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return _messages(self.body)

    def results(self) -> dict[str, str]:
        """The text of every tool result by its `tool_use_id`, oldest first."""
        return {
            block["tool_use_id"]: _text_of(block["content"])
            for message in self.messages
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        }


Script = Turn | Callable[[Request], Turn]
"""A turn, or one that depends on the request that it answers."""


class ScriptedProvider:
    """Plays its turns one a request and keeps every request; asked for more turns than it has, it refuses."""

    def __init__(self, turns: Sequence[Script] = ()) -> None:
        self.requests: list[Request] = []
        self._turns = list(turns)
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def turns_left(self) -> int:
        return len(self._turns)

    def play(self, *turns: Script) -> None:
        """Adds turns behind those that are left."""
        with self._lock:
            self._turns.extend(turns)

    def take(self, request: Request) -> tuple[int, Turn | None, dict[str, int]]:
        """The number of the request from 1, the turn that answers it, and the tokens that it counts for."""
        with self._lock:
            usage = _usage(request, self.requests)
            self.requests.append(request)
            turn = self._turns.pop(0) if self._turns else None
            return len(self.requests), turn(request) if callable(turn) else turn, usage

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    """One request a connection, as HTTP/1.0 has it: the end of the stream is the end of the connection."""

    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        request = Request(path=self.path, raw=raw, body=json.loads(raw))
        number, turn, usage = self.server.provider.take(request)
        if turn is None:
            self._refuse("the script has no turn left")
            return
        if turn.gate is not None:
            turn.gate.wait(_GATE_SECONDS)
        if turn.refusal:
            self._refuse("scripted", turn.refusal)
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # of an agent that no longer wants it
            self._play(request, turn, number, usage)

    def _play(self, request: Request, turn: Turn, number: int, usage: dict[str, int]) -> None:
        events = _events(turn, number, request.body["model"], usage)
        if self.path.endswith("/chat/completions"):
            self._answer(chat_completion(turn, number, request.body))
        elif self.path.endswith("/responses"):
            self._answer(response(turn, number, request.body))
        elif not request.body.get("stream"):
            self._answer(_whole(events))
        else:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: the requests are kept, and standard error is the test runner's."""

    def _refuse(self, why: str, status: int = 400) -> None:
        """An error, unless it is 529 of the kind that no client tries again."""
        kind = "overloaded_error" if status == 529 else "invalid_request_error"
        self._answer({"type": "error", "error": {"type": kind, "message": why}}, status)

    def _answer(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _events(turn: Turn, number: int, model: str, usage: dict[str, int]) -> Iterator[dict[str, Any]]:
    """The stream of one message. Ids tell the request they answer, so that a session reads the same on every run."""
    message: dict[str, Any] = {
        "id": f"msg_scripted_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if turn.text:
        pieces = range(0, len(turn.text), _DELTA_CHARS)
        deltas = [{"type": "text_delta", "text": turn.text[at : at + _DELTA_CHARS]} for at in pieces]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for place, call in enumerate(turn.calls, start=1):
        call_id = call.id or f"toolu_scripted_{number:04d}_{place}"
        start = {"type": "tool_use", "id": call_id, "name": call.tool, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": json.dumps(call.args)}]))
    for index, (start, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    written = len(turn.text) + sum(len(json.dumps(call.args)) for call in turn.calls)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": _tokens(written)},
    }
    yield {"type": "message_stop"}


def _whole(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """The message that the stream tells in pieces."""
    message: dict[str, Any] = {}
    for event in events:
        match event:
            case {"type": "message_start", "message": start}:
                message = start
            case {"type": "content_block_start", "content_block": block}:
                message["content"].append(block)
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                message["content"][-1]["text"] += text
            case {"type": "content_block_delta", "delta": {"partial_json": text}}:
                message["content"][-1]["input"] = json.loads(text)
            case {"type": "message_delta", "delta": delta, "usage": usage}:
                message = {**message, **delta, "usage": message["usage"] | usage}
    return message


def _usage(request: Request, earlier: Sequence[Request]) -> dict[str, int]:
    """Tokens as a provider with a perfect prompt cache would count them: the longest start that an earlier request
    had too is read, the rest is written."""
    blocks = _blocks(request.body)
    shared = max((_shared(blocks, _blocks(other.body)) for other in earlier), default=0)
    return {
        "input_tokens": 0,
        "cache_read_input_tokens": _tokens(sum(map(len, blocks[:shared]))),
        "cache_creation_input_tokens": _tokens(sum(map(len, blocks[shared:]))),
    }


def _blocks(body: dict[str, Any]) -> list[str]:
    """What the model would read, in its order, one JSON text a block, without the cache markers."""
    blocks = [*body.get("tools", []), *_as_blocks(body.get("system", []))]
    for message in _messages(body):
        content = message.get("content")
        blocks += [{"role": message["role"], **block} for block in _as_blocks(content)] if content else [message]
    return [json.dumps({key: block[key] for key in block if key != "cache_control"}) for block in blocks]


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    found = body.get("messages", body.get("input", []))
    return [{"role": "user", "content": found}] if isinstance(found, str) else found


def _as_blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def _text_of(content: str | list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in _as_blocks(content) if block["type"] == "text")


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
