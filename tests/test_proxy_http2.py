"""The proxy in front of an upstream that speaks HTTP/2, over TLS and on loopback."""

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trustme
from anyio.from_thread import start_blocking_portal
from hypercorn.config import Config as ServerConfig
from hypercorn.trio import serve
from proxy_world import PATHS, WAIT, Provider, Turn, World, body_of, events, result_of, running, until

from context_guard.text import MARKER
from context_guard_effects.proxy.upstream import read_upstream
from context_guard_effects.testing import made_output

CALL = Turn(call_id="call_1", args=(("q", "needle"),))
ANSWER = Turn("Line 142 holds the NEEDLE.")
RUN = [
    {"role": "user", "content": "Where is the needle?"},
    *CALL.message("anthropic"),
    *result_of("anthropic", "call_1", made_output("one")),
]
PIECES = events("anthropic", ANSWER)


class Upstream:
    """An ASGI application that notes what it is asked, and answers in events."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], bytes]] = []
        self.left = 0
        """Requests whose other side has gone before the end."""
        self.connections: set[int] = set()
        self.go_on = threading.Event()
        self.go_on.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        self.connections.add(scope["client"][1])
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.asked.append((scope, body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, receive, nursery.cancel_scope)
            for place, piece in enumerate(PIECES):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                while place == 0 and not self.go_on.is_set():
                    await trio.sleep(0.005)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            nursery.cancel_scope.cancel()

    async def _watch(self, receive: Any, scope: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left += 1
        scope.cancel()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    found = trustme.CA()
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    found.cert_pem.write_to_path(path)
    return found, path


@pytest.fixture
def upstream(
    authority: tuple[trustme.CA, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Upstream, World]]:
    """It, and a proxy in front."""
    ca, path = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    config = ServerConfig()
    config.bind = ["127.0.0.1:0"]
    config.certfile = config.keyfile = str(tmp_path / "own.pem")
    config.alpn_protocols = ["h2"]
    config.accesslog = config.errorlog = None
    app = Upstream()
    with start_blocking_portal("trio") as portal:
        served, (url,) = portal.start_task(partial(serve, app, config))
        given = (read_upstream(f"fake={url}"),)
        with contextlib.closing(Provider()) as unused, running(unused, http2=True, upstreams=given) as world:
            yield app, world
        app.go_on.set()
        served.cancel()


def test_a_conversation_is_guarded_over_http2(upstream: tuple[Upstream, World]) -> None:
    """Edited, under the same headers, and the reply byte for byte; no header about a connection goes up."""
    app, world = upstream
    first = world.client.post(PATHS["anthropic"], json=body_of("anthropic", RUN), headers={"x-api-key": "k"})
    world.settled()
    later = [*RUN, *ANSWER.message("anthropic"), {"role": "user", "content": "And what does it say?"}]
    second = world.client.post(
        PATHS["anthropic"], json=body_of("anthropic", later), headers={"x-api-key": "k", "te": "trailers"}
    )
    assert [b"".join(PIECES)] * 2 == [first.content, second.content]
    scope, body = app.asked[-1]
    assert "2" == scope["http_version"]
    assert MARKER in body.decode()
    names = dict(scope["headers"])
    assert (b"k", str(len(body)).encode()) == (names[b"x-api-key"], names[b"content-length"])
    assert {b"connection", b"te", b"transfer-encoding"}.isdisjoint(names)


def test_what_is_not_edited_goes_up_piece_by_piece(upstream: tuple[Upstream, World]) -> None:
    app, world = upstream
    sent = [b"a" * 70_000, b"b" * 70_000, b"c"]
    world.client.post("/v1/files", content=iter(sent))
    assert b"".join(sent) == app.asked[-1][1]


def test_many_share_a_connection_and_one_that_leaves_costs_no_other(upstream: tuple[Upstream, World]) -> None:
    """Events come as they are sent. Whoever hangs up ends one stream of the connection, not the connection."""
    app, world = upstream
    world.client.post(PATHS["anthropic"], json=body_of("anthropic", RUN))  # the connection is there
    app.go_on.clear()
    body = body_of("anthropic", RUN)
    replies: list[bytes] = []

    def ask() -> None:
        with httpx.Client(base_url=world.url, timeout=WAIT, trust_env=False) as client:
            replies.append(client.post(PATHS["anthropic"], json=body).content)

    others = [threading.Thread(target=ask) for _ in range(20)]
    for it in others:
        it.start()
    with world.client.stream("POST", PATHS["anthropic"], json=body) as reply:
        assert PIECES[0] == next(reply.iter_raw())
    until(lambda: app.left == 1)
    app.go_on.set()
    for it in others:
        it.join(WAIT)
    assert [b"".join(PIECES)] * 20 == replies
    assert 1 == len(app.connections)
