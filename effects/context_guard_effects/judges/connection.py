"""The connection to one judge's server: one POST at a time, and in one line what went wrong.

httpx is imported with the first request: a guard that judges locally never pays for it.
"""

import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec
import trio
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.answers import Unanswered
from context_guard.refusals import Refusal, read_refusal
from context_guard.servers import Server

if TYPE_CHECKING:
    import httpx

MAX_REPLY = 1_000_000
"""Bytes of a reply; a longer one is not read to its end."""
CLOSE_SECONDS = 0.2
"""What closing may take when the caller has been cancelled."""
REPLY_ID = "x-typesafe-request-id"


class Reply(Struct, frozen=True):
    body: bytes
    reply_id: str


class Connection:
    """Open for as long as someone is inside `async with`, which may be several at once; outside, for one request."""

    def __init__(self, server: Server, key: str = "") -> None:
        self.server = server
        self._key = key.strip()
        self._client: httpx.AsyncClient | None = None
        self._users = 0
        self._refusal: Refusal | None = None

    def __repr__(self) -> str:
        return f"Connection({self.server.url})"

    async def __aenter__(self) -> Self:
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._users -= 1
        if self._users == 0 and self._client is not None:
            client, self._client = self._client, None
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await client.aclose()

    async def post(self, request_id: str, body: bytes) -> Result[Reply, Unanswered]:
        """The body of a 200, or why there is none. A refused key or address is remembered: nothing more is sent."""
        refusal = self._refusal or self._problem()
        is_sent = refusal is None
        if refusal is None:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self)
                sent = await self._send(body)
            if isinstance(sent, Reply):
                return Success(sent)
            refusal = sent
            if refusal.is_final:
                self._refusal = refusal
        return Failure(
            Unanswered(
                request_id=request_id,
                reason=refusal.reason,
                detail=refusal.detail,
                replied=is_sent and refusal.replied,
                started=is_sent,
                again_ms=refusal.again_ms,
            )
        )

    def _problem(self) -> Refusal | None:
        """What is wrong before anything is sent."""
        if self.server.needs_key and not self._key:
            said = f"{self.server.key_name} is not set (--judge local needs no key)"
            return Refusal("error", said, is_final=True)
        if not (self._key.isascii() and self._key.isprintable()):
            return Refusal(
                "error", f"the key in {self.server.key_name} holds a character that no key has", is_final=True
            )
        return None

    async def _send(self, body: bytes) -> Reply | Refusal:
        try:
            return await self._exchange(body)
        except Exception as error:
            return _refusal_of(error, self.server)

    async def _exchange(self, body: bytes) -> Reply | Refusal:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        client = await self._open()
        request = client.build_request("POST", self.server.url, headers=headers | {"Content-Length": str(len(body))})
        request.stream = _body_stream(body)
        response = await client.send(request, stream=True)
        async with aclosing(response):
            status, given = response.status_code, response.headers
            if 300 <= status < 400:
                said = "it redirects elsewhere, which is not followed"
                return Refusal("error", f"http {status}: {said}", is_final=True, replied=True)
            if given.get("content-encoding", "identity") != "identity":
                said = "the reply is compressed, though none was asked for"
                return Refusal("error", f"http {status}: {said}", replied=True)
            read = bytearray()
            with trio.CancelScope() as reading:
                async for piece in response.aiter_raw():
                    read += piece
                    if len(read) > MAX_REPLY:
                        # Leaving the loop would leave httpx's nested generators unfinished; this ends the innermost.
                        reading.cancel()
        if len(read) > MAX_REPLY:
            return Refusal("error", f"http {status}: the reply has more than {MAX_REPLY:,} bytes", replied=True)
        if status != 200:
            refusal = read_refusal(status, _lower(given), bytes(read), time.time())
            return self._without_key(refusal)
        return Reply(bytes(read), str(given.get(REPLY_ID, "")))

    async def _open(self) -> "httpx.AsyncClient":
        if self._client is None:
            # In a thread: the first time, the import alone takes longer than many a budget.
            client = await trio.to_thread.run_sync(_new_client, self.server, abandon_on_cancel=True)
            self._client = self._client or client
        return self._client

    def _without_key(self, refusal: Refusal) -> Refusal:
        if not self._key or self._key not in refusal.detail:
            return refusal
        return msgspec.structs.replace(refusal, detail=refusal.detail.replace(self._key, "[the key]"))


def _new_client(server: Server) -> "httpx.AsyncClient":
    import httpx

    return httpx.AsyncClient(
        timeout=None,  # the caller's deadline is the only one
        follow_redirects=False,
        trust_env=not server.is_loopback,
        verify=_tls() if server.url.startswith("https:") else False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=30),
        headers={"User-Agent": "context-guard"},
    )


def _body_stream(body: bytes) -> "httpx.AsyncByteStream":
    """httpx's own is an async generator, which a cancelled request leaves unfinished, and Trio warns of those."""
    import httpx

    class Body(httpx.AsyncByteStream):
        def __init__(self) -> None:
            self.left = [body]

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self

        async def __anext__(self) -> bytes:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    return Body()


@cache
def _tls() -> ssl.SSLContext:
    """Once a process: reading the certificates takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


def _lower(headers: "httpx.Headers") -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _refusal_of(error: Exception, server: Server) -> Refusal:
    """In words of our own: those of the libraries may quote a header, and with it the key."""
    import httpx

    host = httpx.URL(server.url).netloc.decode("ascii", "replace")
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason = next((cause.reason for cause in causes if isinstance(cause, ssl.SSLError) and cause.reason), "failed")
        return Refusal("error", f"no TLS with {host}: {reason.lower().replace('_', ' ')}", is_final=True)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return Refusal("error", f"no route to {host}: the name is not known", again_ms=0)
        numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
        words = os.strerror(numbers[0]) if numbers else "no connection"
        return Refusal("error", f"no route to {host}: {words.lower()}", again_ms=0)
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError):
        return Refusal("error", f"the connection to {host} was lost before the reply was whole")
    if isinstance(error, httpx.ProxyError):
        return Refusal("error", f"the proxy on the way to {host} refuses")
    return Refusal("error", f"the request to {host} failed: {type(error).__name__}")


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    waiting: list[BaseException] = [error]
    while waiting:
        each = waiting.pop()
        if each in found:
            continue
        found.append(each)
        waiting += [cause for cause in (each.__cause__, each.__context__) if cause is not None]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
    return found
