"""The way to a provider: the one module that holds an HTTP client, httpx over httpcore."""

import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.request import getproxies

import httpcore
import httpx
import trio
from msgspec import Struct

from context_guard_effects.proxy.sockets import Direct

HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"),
    }
)
"""Headers about one connection, not about the message."""
CONNECT_SECONDS = 15.0
CLOSE_SECONDS = 1.0
IDLE_CONNECTIONS = 100
IDLE_SECONDS = 30.0
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
FAILURES = (
    *(httpx.TransportError, httpx.StreamError, httpx.InvalidURL, httpx.TooManyRedirects),
    *(httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.UnsupportedProtocol),
)
RESERVED = ("healthz", "metrics", "context-guard")
"""First segments of the proxy's own addresses."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")

Headers = Sequence[tuple[bytes, bytes]]


class Upstream(Struct, frozen=True):
    """A provider, as the settings name it."""

    name: str
    url: str
    """Scheme, host, port and the path in front of every request's, without a slash at its end."""


class UpstreamError(Exception):
    """No reply, or none any more. One line without anything of the request."""


class Answer(Struct, frozen=True):
    """A reply whose head has come; its body is still on the way."""

    status: int
    headers: Headers
    pieces: AsyncGenerator[bytes, None]
    """As they come, raw. Raises UpstreamError when the connection breaks."""


def read_upstream(given: str) -> Upstream:
    """From `NAME=URL`. Raises ValueError in words for people."""
    name, equals, url = given.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise ValueError(f"{given!r} is not NAME=URL, with a name of small letters, digits and hyphens.")
    if name in RESERVED or re.fullmatch(r"v[0-9].*", name):
        raise ValueError(f"{name!r} cannot name an upstream: paths begin like that.")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{url!r} is no address: {error}.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{url!r} is no address: it has to begin with https:// or http://, and name a host.")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise ValueError(f"the address of {name} holds more than scheme, host, port and path: leave that out.")
    return Upstream(name, url.rstrip("/"))


class Client:
    """Open for as long as the proxy runs."""

    def __init__(self, http2: bool = False) -> None:
        self._http2 = http2

    async def __aenter__(self) -> "Client":
        context: ssl.SSLContext = await trio.to_thread.run_sync(httpx.create_ssl_context)
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS
        )
        direct = Direct(context, limits, self._http2)
        # What the environment says about proxies holds for providers, never for this machine.
        places = [*(f"all://{host}" for host in LOOPBACK), *([] if "all" in getproxies() else ["all://"])]
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # a model may think for long; the agent gives up
            limits=limits,
            mounts=dict.fromkeys(places, direct),
            http2=self._http2,
            verify=context,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        with trio.move_on_after(CLOSE_SECONDS, shield=True):
            await self._client.aclose()

    @asynccontextmanager
    async def send(
        self, upstream: Upstream, method: str, target: bytes, headers: Headers, body: httpx.AsyncByteStream
    ) -> AsyncIterator[Answer]:
        """`target`: path and query behind the upstream's own, byte for byte. Raises UpstreamError."""
        url = httpx.URL(upstream.url)
        request = httpx.Request(
            method,
            url,
            headers=[(b"Host", url.netloc), *headers],
            stream=body,
            extensions={
                "target": url.raw_path.rstrip(b"/") + target,
                "timeout": self._client.timeout.as_dict(),
            },
        )
        with telling():
            response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            yield Answer(response.status_code, response.headers.raw, _pieces(response))
        finally:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await response.aclose()


async def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    raw = response.aiter_raw()
    is_whole = False
    with telling():
        try:
            async for piece in raw:
                yield piece
            is_whole = True
        finally:
            # The client's generators are nested: left alone they stay unfinished, this ends the innermost.
            with trio.CancelScope(shield=True) as scope, suppress(Exception):
                scope.cancel()
                while not is_whole and await anext(raw, None) is not None:
                    pass


class telling:
    """Errors of the client as UpstreamError, in words of our own: the client's may quote a header."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if isinstance(error, FAILURES):
            raise UpstreamError(_reason(error)) from None


def _reason(error: BaseException) -> str:
    """In the words of the system, where it has some: those hold nothing of the request."""
    at: BaseException | None = error
    while at is not None:
        match at:
            case ssl.SSLCertVerificationError(verify_message=str(said)):
                return f"its certificate is not trusted: {said}"
            case ssl.SSLError(reason=str(said)):
                return f"no TLS with it: {said}"
            case socket.gaierror():
                return "its name is not known here"
            case OSError(strerror=str(said)) if said:
                return said.lower()
            case BaseExceptionGroup(exceptions=(first, *_)):
                at = first
            case _:
                at = at.__cause__ or at.__context__
    return type(error).__name__


def end_to_end(headers: Headers, *left_out: bytes) -> list[tuple[bytes, bytes]]:
    """The headers that are passed on; also those go out that `connection` names. Names in any case."""
    named = [value for name, value in headers if name.lower() == b"connection"]
    listed = {token.strip().lower() for value in named for token in value.split(b",")}
    out = HOP_BY_HOP | listed | set(left_out)
    return [(name, value) for name, value in headers if name.lower() not in out]


class Bytes(httpx.AsyncByteStream):
    """A body at hand. httpx's own is an async generator, which a cancelled request leaves unfinished."""

    def __init__(self, body: bytes) -> None:
        self._left = [body] if body else []

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()
