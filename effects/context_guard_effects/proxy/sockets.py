"""The way to a provider without a proxy in between: httpcore's connections over sockets that wait as long as it takes.

A reply may take any time, yet httpcore's own sockets set a timer for every piece that they read. A stream of events is
many small pieces: without timers, one costs a fifth less (docs/benchmark.md).
"""

import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import httpcore
import httpx
import trio

BROKEN = (trio.BrokenResourceError, trio.ClosedResourceError)


class Direct(httpx.AsyncBaseTransport):
    """Raises httpcore's errors."""

    def __init__(self, context: ssl.SSLContext, limits: httpx.Limits, http2: bool) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            http2=http2,
            network_backend=_Sockets(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        place = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        asked = httpcore.Request(
            request.method,
            place,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        answer = await self._pool.handle_async_request(asked)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.stream), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        found: AsyncIterator[bytes] = aiter(self._pieces)
        return found

    async def aclose(self) -> None:
        await self._pieces.aclose()


class _Sockets(httpcore.TrioBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        with _connecting(timeout):
            stream = await trio.open_tcp_stream(host, port, local_address=local_address)
        return _Stream(stream, stream.socket)


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: "trio.SocketStream | trio.SSLStream[Any]", socket: trio.socket.SocketType) -> None:
        self._stream = stream
        self._socket = socket

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return bytes(await self._stream.receive_some(max_bytes))
        except BROKEN as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            await self._stream.send_all(buffer)
        except BROKEN as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        secured = trio.SSLStream(self._stream, ssl_context, server_hostname=server_hostname, https_compatible=True)
        try:
            with _connecting(timeout):
                await secured.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(self._stream)
            raise
        return _Stream(secured, self._socket)

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":  # of which it asks what was agreed on
                return self._stream if isinstance(self._stream, trio.SSLStream) else None
            case "socket":
                return self._socket
            case "is_readable":  # while idle: the other side has closed it
                return self._socket.is_readable()
            case _:
                return None


@contextmanager
def _connecting(timeout: float | None) -> Iterator[None]:
    try:
        with trio.fail_after(inf if timeout is None else timeout):
            yield
    except trio.TooSlowError as error:
        raise httpcore.ConnectTimeout(str(error)) from error
    except (OSError, *BROKEN) as error:
        raise httpcore.ConnectError(str(error)) from error
