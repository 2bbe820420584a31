"""The words of ASGI, and what ends a request before its reply."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from context_guard_effects.proxy.checks import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

STATUS_HEADER = b"x-context-guard"
"""In which every reply says what was done with its request."""


class Refused(Exception):
    """The agent is told why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


class HungUp(Exception):
    """The agent is gone."""


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The last value of each, by its name in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


async def send_refusal(refusal: Refusal, scope: Scope, send: Send) -> None:
    """As an error of the kind that agents show; the connection ends with it."""
    is_websocket = scope["type"] == "websocket"
    said = {"type": "error", "error": {"type": "context_guard", "message": f"context-guard: {refusal.says}"}}
    body = json.dumps(said).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *([] if is_websocket else [(b"connection", b"close")]),
        (STATUS_HEADER, f"refused; why={refusal.why}".encode()),
    ]
    kind = "websocket.http.response" if is_websocket else "http.response"
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body, "more_body": False})
