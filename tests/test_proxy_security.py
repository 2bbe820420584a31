"""What the proxy refuses, and closes."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proxy_world import PATHS, World, body_of, plain, running

from context_guard_effects.proxy.checks import Access, check_path
from context_guard_effects.proxy.framing import MAX_HEAD, BadFraming, Framing

OK = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with running(max_body=10_000) as made:
        made.provider.script[:] = [plain(b"{}")]
        yield made


GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SMUGGLED = {
    "length beside chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    "a list of lengths": POST + b"Content-Length: 4, 4\r\n\r\nabcd",
    "a length with a sign": POST + b"Content-Length: +4\r\n\r\nabcd",
    "two encodings": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an encoding with a tail": POST + b"Transfer-Encoding: chunked\x0b\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "bare line feeds": b"GET /a HTTP/1.1\nHost: localhost\n\n",
    "one bare line feed": b"GET /a HTTP/1.1\r\nHost: localhost\nX: 1\r\n\r\n",
    "a bare carriage return": GET + b"X: 1\rY: 2\r\n\r\n",
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an address for a path": b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no path": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a folded header": GET + b"X: 1\r\n 2\r\n\r\n",
    "a space before the colon": GET + b"X : 1\r\n\r\n",
    "a null": GET + b"X: \x00\r\n\r\n",
    "two hosts": GET + b"Host: evil.example\r\n\r\n",
    "no host": b"GET /a HTTP/1.1\r\n\r\n",
    "HTTP/2 at once": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an upgrade to HTTP/2": GET + b"Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
    "headers without end": GET + b"X: " + b"a" * MAX_HEAD + b"\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a chunk that is longer": CHUNKED + b"1\r\nab\r\n0\r\n\r\n",
    "a chunk's size that is none": CHUNKED + b"0x1\r\na\r\n",
    "a bare line feed behind a size": CHUNKED + b"0\n\r\n",
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_what_could_be_read_in_two_ways_is_refused_and_closed(world: World, name: str) -> None:
    """Nothing of it reaches the provider, nor does the request that follows it on the same connection."""
    before = len(world.provider.asked)
    answer = world.raw(SMUGGLED[name] + OK)
    assert b"" == answer or answer.startswith(b"HTTP/1.1 4")
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert [] == [asked.first for asked in world.provider.asked[before:] if asked.first.startswith("GET /v1/models")]


def test_a_good_request_behind_another_is_answered(world: World) -> None:
    """The connection stays open between them, and a body may hold whatever it likes."""
    body = b"\n\n\r\nGET / HTTP/1.1\r\n\r\n"
    first = b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    chunked = b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    second = chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    last = OK.replace(b"Host", b"Connection: close\r\nHost")
    assert 3 == world.raw(first + second + last).count(b"HTTP/1.1 200")
    assert [body, body] == [asked.body for asked in world.provider.asked[-3:-1]]


@settings(deadline=None)
@given(st.data())
def test_framing_passes_every_byte_of_what_is_good(data: st.DataObject) -> None:
    """However a connection's bytes are cut."""
    bodies = data.draw(st.lists(st.binary(max_size=40), max_size=3))
    stream = OK
    for body in bodies:
        is_chunked = data.draw(st.booleans())
        head = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(body)
        shown = (b"%x;a=b\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n" if is_chunked else body
        stream += b"POST /a?b HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n\r\n" + shown
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=9)))
    framing = Framing()
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert stream == b"".join(passed for piece in pieces for passed in framing.feed(piece))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_framing_of_anything_raises_nothing_else(pieces: list[bytes]) -> None:
    framing = Framing()
    try:
        for piece in pieces:
            list(framing.feed(piece))
    except BadFraming:
        pass


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/healthz", "/context-guard/status"])
def test_a_page_of_another_origin_gets_nothing(world: World, headers: dict[str, str], path: str) -> None:
    """DNS rebinding and cross-site requests: refused before anything is looked at, and closed."""
    before = len(world.provider.asked)
    reply = world.client.get(path, headers=headers)
    assert (403, "close") == (reply.status_code, reply.headers["connection"])
    assert before == len(world.provider.asked)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8484", "[::1]:8484", "127.1.2.3"])
def test_this_machine_is_asked_by_its_own_names(host: str) -> None:
    assert Access().check({"host": host, "origin": "http://localhost:3000"}) is None


def test_with_a_token_every_request_needs_it() -> None:
    """On an address that others can reach, whatever name it is called by."""
    access = Access("secret")
    refused = access.check({"host": "guard.example"})
    assert refused is not None
    assert 401 == refused.status
    assert access.check({"host": "guard.example", "x-context-guard-token": "wrong"}) == refused
    assert access.check({"host": "guard.example", "x-context-guard-token": "secret"}) is None
    assert access.check({"host": "10.0.0.7:8484"}, is_health=True) is None


@pytest.mark.parametrize("path", ["/fake/../x", "/%2e%2e/x", "/a/%2E%2e%2fb", "/a/..;/b", "/a/./b", "/a%5c..%5cb"])
def test_a_path_that_leads_out_is_refused(world: World, path: str) -> None:
    before = len(world.provider.asked)
    answer = world.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"why=path" in answer
    assert before == len(world.provider.asked)


@pytest.mark.parametrize("path", ["/v1/models/a..b", "/v1/...", "/v1/models/org%2Fname", "/v1//models"])
def test_a_path_that_only_looks_odd_passes(path: str) -> None:
    assert check_path(path) is None


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_what_is_too_large_or_opens_to_too_much_is_refused(world: World, encoding: str) -> None:
    """A decompression bomb costs no more memory than the limit."""
    body = json.dumps(body_of("anthropic", [{"role": "user", "content": "a" * 1_000_000}])).encode()
    sent = gzip.compress(body) if encoding == "gzip" else body
    head: dict[str, Any] = {"content-encoding": encoding, "content-length": len(sent), "host": "localhost"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    answer = world.raw(f"POST {PATHS['anthropic']} HTTP/1.1\r\n{lines}\r\n".encode() + sent)
    assert b"" == answer or answer.startswith(b"HTTP/1.1 413")
    assert not any("aaa" in asked.body.decode("latin-1") for asked in world.provider.asked)


def test_a_websocket_is_refused_with_a_status(world: World) -> None:
    """An agent that tries one first falls back to HTTP."""
    answer = world.raw(
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 426")
    assert b"why=websocket" in answer
