"""The proxy as an ASGI application: a request in, checked, rewritten and passed on; the reply back as it comes."""

import time

import httpx
import trio
from msgspec import Struct
from starlette.responses import JSONResponse, PlainTextResponse, Response

from context_guard.config import Config
from context_guard.proxy_routes import Guarded, Untouched, read_encodings, read_route
from context_guard_effects.proxy.arriving import Streamed, gather
from context_guard_effects.proxy.asgi import (
    STATUS_HEADER,
    Headers,
    HungUp,
    Receive,
    Refused,
    Scope,
    Send,
    by_name,
    send_refusal,
)
from context_guard_effects.proxy.asked import Asked
from context_guard_effects.proxy.bodies import TooLarge, open_body
from context_guard_effects.proxy.checks import TOKEN_HEADER, Access, Refusal, check_path
from context_guard_effects.proxy.metrics import CONTENT_TYPE
from context_guard_effects.proxy.notes import Notes, note_reply, note_request
from context_guard_effects.proxy.reading import ReadReply, pass_back
from context_guard_effects.proxy.rewrite import Rewriter, Rewritten
from context_guard_effects.proxy.upstream import Answer, Bytes, Client, Upstream, UpstreamError, end_to_end

HEALTH_PATH = "/healthz"
STATUS_PATH = "/context-guard/status"
BODIES = 16
"""Requests that are read and rewritten at a time; others wait with their bytes on the way."""


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
    notes: Notes


class Proxy:
    def __init__(self, settings: Settings, parts: Parts) -> None:
        self._settings = settings
        self.parts = parts
        self._bodies = trio.CapacityLimiter(BODIES)
        self.open_requests = 0
        parts.notes.metrics.open.set_function(lambda: self.open_requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        notes = self.parts.notes
        if scope["type"] not in ("http", "websocket"):
            return
        try:
            await self._answer(scope, receive, send)
        except Refused as refused:
            notes.metrics.refusals.labels(refused.refusal.why).inc()
            notes.log.warning("refused", why=refused.refusal.why, status=refused.refusal.status)
            await send_refusal(refused.refusal, scope, send)
        except HungUp:
            notes.log.info("hung-up")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            raise Refused(Refusal(426, "websocket", "WebSockets are not passed on: use the HTTP transport."))
        named = by_name(scope["headers"])
        if (refusal := self._settings.access.check(named, scope["path"] == HEALTH_PATH)) is not None:
            raise Refused(refusal)
        own = self._own(scope)
        if own is not None:
            await own(scope, receive, send)
            return
        asked = _read(scope, named, self._settings.upstreams)
        self.open_requests += 1
        try:
            await self._ask(asked, receive, send)
        finally:
            self.open_requests -= 1

    async def _ask(self, asked: Asked, receive: Receive, send: Send) -> None:
        """Of the upstream. Raises Refused and HungUp."""
        if isinstance(asked.route, Guarded):
            body = await self._guarded(asked, asked.route, receive)
            watched = receive
        else:
            streamed = Streamed(receive)
            body, watched = streamed, streamed.wait_for_end
        refusal = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_hang_up, asked, watched, nursery.cancel_scope)
            refusal = await self._pass_on(asked, body, send)
            nursery.cancel_scope.cancel()
        if refusal is not None:
            raise Refused(refusal)
        note_reply(self.parts.notes, asked, self._settings.config)

    def _own(self, scope: Scope) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            return None
        notes = self.parts.notes
        match scope["path"]:
            case path if path == HEALTH_PATH:
                return PlainTextResponse("ok\n")
            case "/metrics":
                return Response(notes.metrics.text(), media_type=CONTENT_TYPE)
            case path if path == STATUS_PATH:
                return JSONResponse(notes.board.to_json() | {"queued": notes.settler.unfinished})
        return None

    async def _guarded(self, asked: Asked, route: Guarded, receive: Receive) -> httpx.AsyncByteStream:
        """The body with its edits."""
        async with self._bodies:
            raw = await gather(receive, self._settings.max_body)
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
        self.parts.notes.metrics.added.observe(time.perf_counter() - gathered)
        note_request(self.parts.notes, asked)
        return Bytes(sent)

    async def _pass_on(self, asked: Asked, body: httpx.AsyncByteStream, send: Send) -> Refusal | None:
        """A refusal where there is no reply that could be passed back."""
        notes = self.parts.notes
        began = time.perf_counter()
        target = asked.path.encode() + (b"?" + asked.query if asked.query else b"")
        try:
            async with self.parts.client.send(asked.upstream, asked.method, target, _headers_up(asked), body) as answer:
                notes.metrics.upstream.observe(time.perf_counter() - began)
                await _reply(asked, answer, send)
        except UpstreamError as error:
            notes.metrics.upstream_errors.inc()
            notes.log.warning("upstream", upstream=asked.upstream.name, error=str(error), status=asked.status)
            notes.tell(f"the upstream {asked.upstream.name} did not answer to the end: {error}")
            if asked.status:
                return None  # what the agent has stays cut off, as it would be without a proxy
            return Refusal(502, "upstream", f"The upstream {asked.upstream.name} does not answer ({error}).")
        except HungUp:
            pass
        return None


def _read(scope: Scope, named: dict[str, str], upstreams: tuple[Upstream, ...]) -> Asked:
    """`named`: the request's headers. Raises Refused."""
    path = scope["raw_path"].decode("ascii")
    if (refusal := check_path(path)) is not None:
        raise Refused(refusal)
    upstream, rest = _find(upstreams, path)
    return Asked(
        method=scope["method"],
        path=rest,
        query=scope["query_string"],
        headers=scope["headers"],
        by_name=named,
        upstream=upstream,
        route=read_route(scope["method"], rest, named),
        began=time.perf_counter(),
    )


def _find(upstreams: tuple[Upstream, ...], path: str) -> tuple[Upstream, str]:
    """The upstream that the path names first; with only one, its name may be left out."""
    first, slash, rest = path[1:].partition("/")
    named = next((upstream for upstream in upstreams if upstream.name == first), None)
    if named is not None:
        return named, slash + rest or "/"
    if len(upstreams) == 1:
        return upstreams[0], path
    names = ", ".join(f"/{upstream.name}" for upstream in upstreams)
    raise Refused(Refusal(404, "no-upstream", f"The path has to begin with an upstream's name: {names}."))


def _headers_up(asked: Asked) -> Headers:
    headers = end_to_end(asked.headers, b"host", TOKEN_HEADER.encode())
    if isinstance(asked.route, Untouched) and "transfer-encoding" in asked.by_name:
        headers.append((b"transfer-encoding", b"chunked"))
    return headers


async def _reply(asked: Asked, answer: Answer, send: Send) -> None:
    asked.status = answer.status
    asked.reading = ReadReply.of(asked.route, answer) if answer.status == 200 else None
    headers = [*end_to_end(answer.headers), (STATUS_HEADER, asked.done)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await pass_back(answer.pieces, asked.reading, send)
    asked.is_over = True
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _hang_up(asked: Asked, receive: Receive, scope: trio.CancelScope) -> None:
    """Ends the request when the agent is gone; the server says the same when all has been sent."""
    while (await receive())["type"] != "http.disconnect":
        pass
    if not asked.is_over:
        scope.cancel()
