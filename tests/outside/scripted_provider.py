"""A model provider whose every turn is written down beforehand. It speaks the three APIs, on loopback.

    with ScriptedProvider([Turn("I'll look.", [Call("bash", {"command": "ls"})]), Turn("Two files.")]) as provider:
        ...  # point an agent at provider.url
    provider.requests[1].messages  # what the agent sent after the tool ran

The agent's tools are real; only the model is not.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from outside.scripted_turns import Call, Turn
from outside.scripted_wires import Answer, Api, find_api, stream, tokens, whole

__all__ = ["Call", "Request", "Script", "ScriptedProvider", "Turn"]

_GATE_SECONDS = 30.0

ASIDE = Turn("An aside.")
"""What a request without tools is told: a title, a check. No turn of the script goes to it."""


class Request(Struct, frozen=True):
    """A request as it was received."""

    path: str
    raw: bytes
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def api(self) -> Api:
        found = find_api(self.path)
        assert found is not None, self.path
        return found

    @property
    def messages(self) -> list[dict[str, Any]]:
        return _messages(self.body)

    def results(self) -> dict[str, str]:
        """The text of every tool result by the id of its call, oldest first."""
        match self.api:
            case "anthropic":
                blocks = (
                    it for message in self.messages if isinstance(message["content"], list) for it in message["content"]
                )
                return {it["tool_use_id"]: _text_of(it["content"]) for it in blocks if it["type"] == "tool_result"}
            case "openai-chat":
                return {it["tool_call_id"]: _text_of(it["content"]) for it in self.messages if it["role"] == "tool"}
            case _:
                items = (it for it in self.messages if it.get("type") == "function_call_output")
                return {it["call_id"]: _text_of(it["output"]) for it in items}


Script = Turn | Callable[[Request], Turn]
"""A turn, or one that depends on the request that it answers."""


class ScriptedProvider:
    """Plays its turns one a request and keeps every request; asked for more turns than it has, it refuses."""

    def __init__(self, turns: Sequence[Script] = (), asides: bool = False) -> None:
        """`asides`: requests without tools are answered on the side, and are not among `requests`."""
        self.requests: list[Request] = []
        self.replies: list[bytes] = []
        """The bodies sent back, those of asides too."""
        self._asides = asides
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

    def take(self, request: Request) -> Answer | None:
        """The answer; None when the script is at its end."""
        with self._lock:
            usage = _usage(request, self.requests)
            model = str(request.body.get("model", ""))
            if self._asides and not request.body.get("tools"):
                return Answer(ASIDE, 0, model, usage)
            self.requests.append(request)
            turn = self._turns.pop(0) if self._turns else None
            number = len(self.requests)
        turn = turn(request) if callable(turn) else turn
        return None if turn is None else Answer(turn, number, model, usage)

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
        api = find_api(self.path)
        if api is None:
            self._send(404, "application/json", b"{}")
            return
        request = Request(path=self.path, raw=raw, body=json.loads(raw), headers=tuple(self.headers.items()))
        answer = self.server.provider.take(request)
        if answer is None:
            self._refuse("the script has no turn left")
            return
        if answer.turn.gate is not None:
            answer.turn.gate.wait(_GATE_SECONDS)
        if answer.turn.refusal:
            self._refuse("scripted", answer.turn.refusal)
            return
        is_streamed = bool(request.body.get("stream"))
        pieces = list(stream(api, answer)) if is_streamed else [whole(api, answer)]
        self.server.provider.replies.append(b"".join(pieces))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # of an agent that no longer wants it
            if not is_streamed:
                self._send(200, "application/json", pieces[0])
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)

    def do_GET(self) -> None:
        self._send(404, "application/json", b"{}")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: the requests are kept, and standard error is the test runner's."""

    def _refuse(self, why: str, status: int = 400) -> None:
        """An error, unless it is 529 of the kind that no client tries again."""
        kind = "overloaded_error" if status == 529 else "invalid_request_error"
        error = {"type": "error", "error": {"type": kind, "message": why}}
        self._send(status, "application/json", json.dumps(error).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _usage(request: Request, earlier: Sequence[Request]) -> dict[str, int]:
    """Tokens as a provider with a perfect prompt cache would count them: the longest start that an earlier request
    had too is read, the rest is written."""
    blocks = _blocks(request.body)
    shared = max((_shared(blocks, _blocks(other.body)) for other in earlier), default=0)
    return {
        "input_tokens": 0,
        "cache_read_input_tokens": tokens(sum(map(len, blocks[:shared]))),
        "cache_creation_input_tokens": tokens(sum(map(len, blocks[shared:]))),
    }


def _blocks(body: dict[str, Any]) -> list[str]:
    """What the model would read, in its order, one JSON text a block, without the cache markers."""
    blocks = [*body.get("tools", []), *_as_blocks(body.get("system", [])), *_as_blocks(body.get("instructions") or [])]
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
    return "\n".join(block["text"] for block in _as_blocks(content) if block["type"] in ("text", "input_text"))
