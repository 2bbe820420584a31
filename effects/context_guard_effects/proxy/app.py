"""The proxy as an ASGI application: a request in, checked, rewritten and passed on; the reply back as it comes."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any

import httpx
import trio
from msgspec import Struct
from starlette.responses import JSONResponse, PlainTextResponse, Response

from context_guard.config import Config
from context_guard.formats.replies import Reply, ReplyReader, open_reply
from context_guard.proxy_routes import Guarded, Untouched, read_encodings, read_route, read_session
from context_guard_effects.proxy.bodies import Opener, TooLarge, find_opener, open_body
from context_guard_effects.proxy.checks import TOKEN_HEADER, Access, Refusal, check_path
from context_guard_effects.proxy.dashboard import Dashboard, Seen
from context_guard_effects.proxy.jobs import Job
from context_guard_effects.proxy.logs import Log
from context_guard_effects.proxy.metrics import CONTENT_TYPE, Metrics
from context_guard_effects.proxy.rewrite import Rewriter, Rewritten
from context_guard_effects.proxy.settling import Clock, Settler
from context_guard_effects.proxy.upstream import Answer, Bytes, Client, Upstream, UpstreamError, end_to_end

STATUS_HEADER = b"x-context-guard"
STATUS_PATH = "/context-guard/status"
BODIES = 16
"""Requests that are read and rewritten at a time; others wait with their bytes on the way."""
STALL_SECONDS = 30.0
"""How long the next piece of a body may take while others wait for its place."""
PIECE = 256_000
"""Bytes of a reply that are opened at a time, for reading only."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


class Settings(Struct, frozen=True):
    upstreams: tuple[Upstream, ...]
    config: Config
    access: Access = Access()
    max_body: int = 64_000_000
    """Bytes of a request with a message list; others have no limit, since they are not kept."""


class Parts(Struct, frozen=True):
    """What the proxy is made of."""

    client: Client
    rewriter: Rewriter
    settler: Settler
    metrics: Metrics
    board: Dashboard
    log: Log
    now: Clock


class Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


class HungUp(Exception):
    """The agent is gone."""


class _Asked(Struct):
    """One request, as far as it is known."""

    method: str
    path: str
    """Raw, behind the upstream's name."""
    query: bytes
    headers: Headers
    by_name: dict[str, str]
    upstream: Upstream
    route: Guarded | Untouched
    began: float
    size: int = 0
    plain: bytes = b""
    """The body of a guarded request, opened."""
    rewritten: Rewritten | None = None
    seen: Seen | None = None
    is_over: bool = False
    """All of the reply has come."""
    status: int = 0
    """Of the reply, once it has begun."""
    reading: "_Reading | None" = None

    @property
    def api(self) -> str:
        return self.route.api if isinstance(self.route, Guarded) else ""


class Proxy:
    def __init__(self, settings: Settings, parts: Parts) -> None:
        self._settings = settings
        self.parts = parts
        self._bodies = trio.CapacityLimiter(BODIES)
        self.open_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            refusal = Refusal(426, "websocket", "WebSockets are not passed on: use the HTTP transport.")
            await self._refuse(refusal, scope, receive, send)
            return
        if scope["type"] != "http":
            return
        self.parts.metrics.open.inc()
        self.open_requests += 1
        try:
            await self._answer(scope, receive, send)
        except Refused as refused:
            await self._refuse(refused.refusal, scope, receive, send)
        except HungUp:
            self.parts.log.info("hung-up")
        finally:
            self.parts.metrics.open.dec()
            self.open_requests -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        by_name = _by_name(scope["headers"])
        if (refusal := self._settings.access.check(by_name)) is not None:
            raise Refused(refusal)
        own = self._own(scope)
        if own is not None:
            await own(scope, receive, send)
            return
        asked = self._read(scope, by_name)
        if isinstance(asked.route, Guarded):
            body = await self._guarded(asked, asked.route, receive)
            watched = receive
        else:
            streamed = _Streamed(receive)
            body, watched = streamed, streamed.wait_for_end
        refusal = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hang_up, asked, watched, nursery.cancel_scope)
            refusal = await self._pass_on(asked, body, send)
            nursery.cancel_scope.cancel()
        if refusal is not None:
            raise Refused(refusal)
        self._note_reply(asked)

    def _own(self, scope: Scope) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            return None
        match scope["path"]:
            case "/healthz":
                return PlainTextResponse("ok\n")
            case "/metrics":
                return Response(self.parts.metrics.text(), media_type=CONTENT_TYPE)
            case path if path == STATUS_PATH:
                return JSONResponse(self.parts.board.to_json() | {"queued": self.parts.settler.unfinished})
        return None

    def _read(self, scope: Scope, by_name: dict[str, str]) -> _Asked:
        path = scope["raw_path"].decode("ascii")
        if (refusal := check_path(path)) is not None:
            raise Refused(refusal)
        upstream, rest = self._find(path)
        return _Asked(
            method=scope["method"],
            path=rest,
            query=scope["query_string"],
            headers=scope["headers"],
            by_name=by_name,
            upstream=upstream,
            route=read_route(scope["method"], rest, by_name),
            began=time.perf_counter(),
        )

    def _find(self, path: str) -> tuple[Upstream, str]:
        """The upstream that the path names first; with only one, its name may be left out."""
        first, slash, rest = path[1:].partition("/")
        named = next((upstream for upstream in self._settings.upstreams if upstream.name == first), None)
        if named is not None:
            return named, slash + rest or "/"
        if len(self._settings.upstreams) == 1:
            return self._settings.upstreams[0], path
        names = ", ".join(f"/{upstream.name}" for upstream in self._settings.upstreams)
        raise Refused(Refusal(404, "no-upstream", f"The path has to begin with an upstream's name: {names}."))

    async def _guarded(self, asked: _Asked, route: Guarded, receive: Receive) -> httpx.AsyncByteStream:
        """The body with its edits."""
        async with self._bodies:
            raw = await _gather(receive, self._settings.max_body)
            gathered = time.perf_counter()
            encodings = read_encodings(asked.by_name)
            try:
                plain = open_body(raw, encodings, self._settings.max_body) if encodings else raw
            except TooLarge:
                raise Refused(Refusal(413, "bomb", "The body opens to more than is taken.")) from None
            if plain is None:
                rewritten = Rewritten(raw, why="compressed")
            else:
                rewritten = await self.parts.rewriter.rewrite(route, plain)
        asked.rewritten, asked.plain, asked.size = rewritten, plain or b"", len(plain or raw)
        sent = rewritten.body
        if plain is not raw and rewritten.body is plain:
            sent = raw  # nothing changed: as it came, compressed
        elif encodings and plain is not None:
            asked.headers = [(name, value) for name, value in asked.headers if name != b"content-encoding"]
        headers = [(name, value) for name, value in asked.headers if name != b"content-length"]
        asked.headers = [*headers, (b"content-length", str(len(sent)).encode())]
        self.parts.metrics.added.observe(time.perf_counter() - gathered)
        self._note_request(asked, rewritten)
        return Bytes(sent)

    def _note_request(self, asked: _Asked, rewritten: Rewritten) -> None:
        parts = self.parts
        asked.seen = parts.board.request(asked.api, read_session(asked.by_name), rewritten, asked.size, parts.now())
        if rewritten.why:
            parts.metrics.unguarded.labels(rewritten.why).inc()
        if rewritten.edits:
            parts.metrics.kept_out.inc(max(0, asked.size - len(rewritten.body)))
        told = rewritten.conversation
        if told is not None and told.answer:
            parts.settler.came(told.answer)
            if told.starts_run and told.has_results and not parts.settler.knows(told.answer):
                parts.settler.add(self._job(asked, None, "run-end"))

    async def _pass_on(self, asked: _Asked, body: httpx.AsyncByteStream, send: Send) -> Refusal | None:
        """A refusal where there is no reply that could be passed back."""
        parts = self.parts
        began = time.perf_counter()
        sent = self._headers_up(asked)
        target = asked.path.encode() + (b"?" + asked.query if asked.query else b"")
        try:
            async with parts.client.send(asked.upstream, asked.method, target, sent, body) as answer:
                parts.metrics.upstream.observe(time.perf_counter() - began)
                asked.status = answer.status
                asked.reading = _Reading.of(asked.route, answer) if answer.status == 200 else None
                await _stream(asked, answer, send)
        except UpstreamError as error:
            parts.metrics.upstream_errors.inc()
            parts.log.warning("upstream", upstream=asked.upstream.name, error=str(error), status=asked.status)
            if asked.status:
                return None  # what the agent has stays cut off, as it would be without a proxy
            return Refusal(502, "upstream", f"The upstream {asked.upstream.name} does not answer ({error}).")
        except HungUp:
            pass
        return None

    def _headers_up(self, asked: _Asked) -> Headers:
        out = (b"host", TOKEN_HEADER.encode())
        headers = end_to_end(asked.headers, *out)
        if isinstance(asked.route, Untouched) and "transfer-encoding" in asked.by_name:
            headers.append((b"transfer-encoding", b"chunked"))
        return headers

    def _note_reply(self, asked: _Asked) -> None:
        """Also of an agent that hung up: many do as soon as they have the last event."""
        parts = self.parts
        reply = asked.reading.close() if asked.reading is not None else None
        whole = asked.is_over or reply is not None
        outcome = "cut-off" if not whole else "ok" if asked.status < 400 else "error"
        parts.metrics.requests.labels(asked.api or "other", outcome).inc()
        rewritten = asked.rewritten
        parts.log.info(
            "request",
            upstream=asked.upstream.name,
            api=asked.api,
            status=asked.status,
            outcome=outcome,
            ms=round((time.perf_counter() - asked.began) * 1e3, 1),
            bytes=asked.size,
            edits=rewritten.edits if rewritten else 0,
            why=rewritten.why if rewritten else _why(asked.route),
            read=reply is not None,
        )
        if reply is None or rewritten is None:
            return
        if reply.usage is not None:
            parts.metrics.count_usage(asked.api, reply.usage)
            if asked.seen is not None:
                asked.seen.usage = reply.usage
        if rewritten.conversation is not None and rewritten.conversation.has_results:
            if reply.ends_run:
                parts.settler.add(self._job(asked, reply, "run-end"))
            elif self._may_checkpoint(asked):
                parts.settler.add(self._job(asked, reply, "mid-run"))

    def _may_checkpoint(self, asked: _Asked) -> bool:
        """A batch has more characters than the whole request has bytes: then there is nothing to weigh."""
        config = self._settings.config
        return config.mid_run and len(asked.plain) >= config.mid_run_batch_chars

    def _job(self, asked: _Asked, reply: Reply | None, phase: Any) -> Job:
        assert isinstance(asked.route, Guarded)
        return Job(
            api=asked.route.api,
            key=asked.route.key,
            body=asked.plain,
            reply=reply.messages if reply is not None else "",
            phase=phase,
            session=read_session(asked.by_name),
            answered=self.parts.now(),
            usage=reply.usage if reply is not None else None,
        )

    async def _refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        self.parts.metrics.refusals.labels(refusal.why).inc()
        self.parts.log.warning("refused", why=refusal.why, status=refusal.status)
        said = {"type": "error", "error": {"type": "context_guard", "message": f"context-guard: {refusal.says}"}}
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(json.dumps(said))).encode()),
            (b"connection", b"close"),
            (STATUS_HEADER, f"refused; why={refusal.why}".encode()),
        ]
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        if scope["type"] == "websocket":
            headers = headers[:2] + headers[3:]
        await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
        await send({"type": f"{kind}.body", "body": json.dumps(said).encode(), "more_body": False})


class _Reading:
    """A reply read on its way, where that is possible; nothing that goes wrong here is told to anybody."""

    def __init__(self, reader: ReplyReader, opener: Opener | None) -> None:
        self._reader: ReplyReader | None = reader
        self._opener = opener

    @classmethod
    def of(cls, route: Guarded | Untouched, answer: Answer) -> "_Reading | None":
        headers = _by_name(answer.headers)
        encodings = read_encodings(headers)
        opener = find_opener(encodings[0]) if len(encodings) == 1 else None
        if isinstance(route, Untouched) or len(encodings) > (opener is not None):
            return None
        return cls(open_reply(route.api, headers.get("content-type", "")), opener)

    def feed(self, piece: bytes) -> None:
        if self._reader is None:
            return
        if self._opener is not None:
            try:
                piece = self._opener.open(piece, PIECE + 100 * len(piece))
            except Exception:  # of whatever library opens it
                self._reader = None
                return
        self._reader.feed(piece)

    def close(self) -> Reply | None:
        return self._reader.close() if self._reader is not None else None


class _Streamed(httpx.AsyncByteStream):
    """A request's body as it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = trio.Event()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._ended.is_set():
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise HungUp
            if not message.get("more_body", False):
                self._ended.set()
            if message.get("body"):
                return bytes(message["body"])
        raise StopAsyncIteration

    async def wait_for_end(self) -> Message:
        """What comes behind the body."""
        await self._ended.wait()
        return await self._receive()


async def _stream(asked: _Asked, answer: Answer, send: Send) -> None:
    headers = [*end_to_end(answer.headers), (STATUS_HEADER, _status_of(asked))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    async with aclosing(answer.pieces) as pieces:
        async for piece in pieces:
            try:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            finally:  # the agent has it, and may be gone already
                if asked.reading is not None:
                    asked.reading.feed(piece)
    asked.is_over = True
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gather(receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        with trio.move_on_after(STALL_SECONDS) as scope:
            message = await receive()
        if scope.cancelled_caught:
            raise Refused(Refusal(408, "stalled", f"No more of the body came for {STALL_SECONDS:g} seconds."))
        if message["type"] == "http.disconnect":
            raise HungUp
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise Refused(Refusal(413, "too-large", f"The body has more than {limit:,} bytes."))
        if not message.get("more_body", False):
            return b"".join(pieces)


async def _hang_up(asked: _Asked, receive: Receive, scope: trio.CancelScope) -> None:
    """Ends the request when the agent is gone; the server says the same when all has been sent."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if not asked.is_over:
        scope.cancel()


def _status_of(asked: _Asked) -> bytes:
    rewritten = asked.rewritten
    if rewritten is None:
        return f"passed; why={_why(asked.route)}".encode()
    words = [f"edited; edits={rewritten.edits}" if rewritten.edits else "unedited"]
    words += [f"why={rewritten.why}"] if rewritten.why else []
    words += ["pinned"] if rewritten.is_pinned else []
    return "; ".join(words).encode()


def _why(route: Guarded | Untouched) -> str:
    return route.why if isinstance(route, Untouched) else ""


def _by_name(headers: Any) -> dict[str, str]:
    """The last value of each, by its name in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
