"""A proxy, a scripted provider and raw connections, all on loopback and in this process."""

import contextlib
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import trio
from anyio.from_thread import start_blocking_portal
from msgspec import Struct, structs

from context_guard.config import Config
from context_guard.formats.codec import Provider as Api
from context_guard_effects.judges.port import Judge
from context_guard_effects.proxy.app import Proxy, Settings
from context_guard_effects.proxy.logs import Log
from context_guard_effects.proxy.server import Plan, serve
from context_guard_effects.proxy.settling import Clock
from context_guard_effects.proxy.upstream import read_upstream
from context_guard_effects.proxy.worker import Run, run_here
from context_guard_effects.store import Store, memory_store
from context_guard_effects.testing import KeepJudge
from context_guard_effects.testing.hosts import AT_ANY_COST

Json = dict[str, Any]
PATHS: dict[Api, str] = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
KEYS: dict[Api, str] = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"}
WAIT = 20.0


class Turn(Struct, frozen=True):
    """What the scripted model says: words, or a call."""

    text: str = ""
    call_id: str = ""
    args: tuple[tuple[str, str], ...] = ()
    name: str = "search"

    def message(self, api: Api) -> list[Json]:
        """As the agent sends it back."""
        args = dict(self.args)
        match api, bool(self.call_id):
            case "anthropic", True:
                block = {"type": "tool_use", "id": self.call_id, "name": self.name, "input": args}
                return [{"role": "assistant", "content": [block]}]
            case "anthropic", _:
                return [{"role": "assistant", "content": [{"type": "text", "text": self.text}]}]
            case "openai-chat", True:
                function = {"name": self.name, "arguments": json.dumps(args)}
                call = {"id": self.call_id, "type": "function", "function": function}
                return [{"role": "assistant", "content": None, "tool_calls": [call]}]
            case "openai-chat", _:
                return [{"role": "assistant", "content": self.text}]
            case _, True:
                item = {"type": "function_call", "call_id": self.call_id, "name": self.name}
                return [{**item, "arguments": json.dumps(args)}]
            case _:
                parts = [{"type": "output_text", "text": self.text}]
                return [{"type": "message", "role": "assistant", "content": parts}]


def result_of(api: Api, call_id: str, output: str) -> list[Json]:
    match api:
        case "anthropic":
            block = {"type": "tool_result", "tool_use_id": call_id, "content": output}
            return [{"role": "user", "content": [block]}]
        case "openai-chat":
            return [{"role": "tool", "tool_call_id": call_id, "content": output}]
        case _:
            return [{"type": "function_call_output", "call_id": call_id, "output": output}]


def body_of(api: Api, messages: list[Json], **more: Any) -> Json:
    return {"model": "model-1", KEYS[api]: messages, **more}


def whole(api: Api, turn: Turn) -> bytes:
    """The reply as one JSON body."""
    usage: Json = {"input_tokens": 100, "output_tokens": 5}
    (message, *_) = turn.message(api)
    match api:
        case "anthropic":
            usage |= {"cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
            stop = "tool_use" if turn.call_id else "end_turn"
            body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "usage": usage}
            return json.dumps({**body, "content": message["content"], "stop_reason": stop}).encode()
        case "openai-chat":
            stop = "tool_calls" if turn.call_id else "stop"
            usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 70}}
            choice = {"index": 0, "message": message, "finish_reason": stop}
            return json.dumps({"id": "c1", "model": "model-1", "choices": [choice], "usage": usage}).encode()
        case _:
            usage |= {"input_tokens_details": {"cached_tokens": 70}}
            body = {"id": "resp_1", "object": "response", "status": "completed", "model": "model-1", "usage": usage}
            return json.dumps({**body, "output": [message]}).encode()


def events(api: Api, turn: Turn) -> list[bytes]:
    """The reply as a stream of events."""
    body: Json = json.loads(whole(api, turn))
    half = len(turn.text) // 2
    deltas: list[Json]
    match api:
        case "anthropic":
            (block,) = body["content"]
            if turn.call_id:
                empty, pieces = {**block, "input": {}}, _halves(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            else:
                empty = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in (turn.text[:half], turn.text[half:])]
            start = {**body, "content": [], "stop_reason": None}
            found: list[Json] = [
                {"type": "message_start", "message": start},
                {"type": "content_block_start", "index": 0, "content_block": empty},
                {"type": "ping"},
                *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
            return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in found]
        case "openai-chat":
            (choice,) = body["choices"]
            message = choice["message"]
            if turn.call_id:
                (call,) = message["tool_calls"]
                first, second = _halves(call["function"]["arguments"])
                opened: Json = {**call, "index": 0, "function": {**call["function"], "arguments": first}}
                deltas = [
                    {"tool_calls": [opened]},
                    {"tool_calls": [{"index": 0, "function": {"arguments": second}}]},
                ]
            else:
                deltas = [{"role": "assistant", "content": turn.text[:half]}, {"content": turn.text[half:]}]
            chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
            last = {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
            found = [*chunks, last, {"choices": [], "usage": body["usage"]}]
            lines = [f"data: {json.dumps({'id': 'c1', 'model': 'model-1', **chunk})}\n\n" for chunk in found]
            return [line.encode() for line in [*lines, "data: [DONE]\n\n"]]
        case _:
            (item,) = body["output"]
            found = [
                {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                {"type": "response.output_text.delta", "output_index": 0, "delta": turn.text},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {**body, "output": []}},
            ]
            return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in found]


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


class Answer(Struct, frozen=True):
    """What the provider does with one request."""

    head: bytes
    pieces: tuple[bytes, ...]
    then: Callable[[], object] | None = None
    """Called between the first piece and the rest."""
    dies: bool = False
    """Closes the connection where the end should be."""


def streamed(pieces: list[bytes], kind: str = "text/event-stream", **more: Any) -> Answer:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Own: 1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return Answer(head, tuple(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces), **more)


def plain(body: bytes, status: str = "200 OK", *headers: str) -> Answer:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return Answer(("\r\n".join(lines) + "\r\n\r\n").encode(), (body,))


class Asked(Struct, frozen=True):
    """What the provider was sent."""

    first: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def names(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers}

    @property
    def json(self) -> Json:
        found: Json = json.loads(self.body)
        return found


class Provider:
    """Answers each request by the next of its script, the last one again and again."""

    def __init__(self) -> None:
        self.script: list[Answer | Callable[[Asked], Answer]] = []
        self.asked: list[Asked] = []
        self.gone = threading.Event()
        """A connection was closed from the other side before its answer was whole."""
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes who waits for connections
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            file = connection.makefile("rb")
            while head := _read_head(file):
                asked = _read(head, file)
                with self._lock:
                    self.asked.append(asked)
                    place = min(len(self.asked), len(self.script)) - 1
                scripted = self.script[place]
                answer = scripted(asked) if callable(scripted) else scripted
                if not self._answer(connection, answer):
                    return

    def _answer(self, connection: socket.socket, answer: Answer) -> bool:
        is_chunked = b"Transfer-Encoding" in answer.head
        try:
            connection.sendall(answer.head + (answer.pieces[0] if answer.pieces else b""))
            if answer.then is not None:
                answer.then()
            for piece in answer.pieces[1:]:
                connection.sendall(piece)
                time.sleep(0.001)
            if answer.dies:
                return False
            connection.sendall(b"0\r\n\r\n" if is_chunked else b"")
        except OSError:
            self.gone.set()
            raise
        return True


def _read_head(file: Any) -> bytes:
    """Empty when the other side is gone."""
    lines: list[bytes] = []
    while (line := file.readline()) != b"\r\n":
        if not line:
            return b""
        lines.append(line)
    return b"".join(lines)


def _read(head: bytes, file: Any) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")[:-1]
    headers = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    asked = Asked(first, headers, b"")
    body = b""
    if "chunked" in asked.names.get("transfer-encoding", ""):
        while size := int(file.readline(), 16):
            body += file.read(size)
            file.readline()
        file.readline()
    else:
        body = file.read(int(asked.names.get("content-length", 0)))
    return structs.replace(asked, body=body)


class World:
    """A running proxy in front of a provider."""

    def __init__(self, url: str, provider: Provider, store: Store, proxy: Proxy, log: io.StringIO) -> None:
        self.url = url
        self.provider = provider
        self.store = store
        self.proxy = proxy
        self.log = log
        self.client = httpx.Client(base_url=url, timeout=WAIT, trust_env=False)

    def post(self, api: Api, messages: list[Json], **more: Any) -> httpx.Response:
        return self.client.post(PATHS[api], json=body_of(api, messages, **more))

    def settled(self) -> None:
        """Waits until nothing is left to judge."""
        settler = self.proxy.parts.notes.settler
        # In this order: a request that ends leaves its run to be judged first.
        until(lambda: not (self.metric("open_requests") or settler.unfinished))

    def metric(self, name: str, **labels: str) -> float:
        return self.proxy.parts.notes.metrics.registry.get_sample_value(f"context_guard_{name}", labels) or 0.0

    def raw(self, data: bytes) -> bytes:
        """All that comes back on a connection of its own, until it is closed."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=WAIT) as connection:
            connection.sendall(data)
            found = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65_536):
                    found += piece
            return found


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT
    pause = 0.002
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(pause)
        pause = min(0.02, pause * 1.3)  # whoever waits leaves the processor to those that work


@contextlib.contextmanager
def running(
    provider: Provider | None = None,
    store: Store | None = None,
    judge: Judge | None = None,
    config: Config = AT_ANY_COST,
    run: Run | None = None,
    now: Clock | None = None,
    http2: bool = False,
    **settings: Any,
) -> Iterator[World]:
    """A proxy with one upstream."""
    own = provider or Provider()
    kept = store or memory_store()
    log = io.StringIO()
    given = Settings(
        upstreams=settings.pop("upstreams", None) or (read_upstream(f"fake={own.url}"),), config=config, **settings
    )
    plan = Plan(given, kept, run or run_here(kept, judge or KeepJudge("NEEDLE"), config), Log(log), http2)
    with start_blocking_portal("trio") as portal:
        ended, (url, proxy) = portal.start_task(_serve, plan, now)
        world = World(url, own, kept, proxy, log)
        with world.client:
            yield world
        ended.cancel()
    if provider is None:
        own.close()


async def _serve(plan: Plan, now: Clock | None, *, task_status: Any) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    clock = now or (lambda: time.time_ns() // 1_000_000)
    async with trio.open_nursery() as nursery:
        proxy = await nursery.start(serve, plan, listeners, clock)
        task_status.started((f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}", proxy))
