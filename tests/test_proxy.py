"""The proxy: what it changes in a request, and all that it leaves alone."""

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

import brotli
import httpx
import pytest
import trio
import zstandard
from proxy_world import (
    KEYS,
    PATHS,
    Answer,
    Asked,
    Provider,
    Turn,
    World,
    body_of,
    events,
    plain,
    result_of,
    running,
    streamed,
    until,
    whole,
)
from returns.result import Result

from context_guard.answers import Answers, Unanswered
from context_guard.config import Config
from context_guard.edit_log import LoggedPass, RawOutput
from context_guard.formats.codec import Provider as Api
from context_guard.requests import Request
from context_guard.text import MARKER
from context_guard_effects.kit import Guard
from context_guard_effects.proxy.upstream import read_upstream
from context_guard_effects.store import SqliteStore, StoreError, memory_store, open_store
from context_guard_effects.testing import assert_guard_invariants, made_output
from context_guard_effects.testing.hosts import Conversation, Recall, Say, Search, noted_id
from context_guard_effects.testing.hosts import Turn as HostTurn

Json = dict[str, Any]
APIS: tuple[Api, ...] = get_args(Api)
RAW = made_output("one")
CALL = Turn(call_id="call_1", args=(("q", "needle"),))
ANSWER = Turn("Line 142 holds the NEEDLE.")
USER = {"role": "user", "content": "Where is the needle?"}
MORE = {"role": "user", "content": "And what does it say?"}


def run_of(api: Api, raw: str = RAW) -> list[Json]:
    """A run up to the request whose answer ends it."""
    return [USER, *CALL.message(api), *result_of(api, "call_1", raw)]


def next_of(api: Api, raw: str = RAW) -> list[Json]:
    """The same, one prompt later."""
    return [*run_of(api, raw), *ANSWER.message(api), MORE]


def guarded(world: World, api: Api = "anthropic", raw: str = RAW) -> None:
    """One run, judged."""
    world.provider.script[:] = [streamed(events(api, ANSWER))]
    world.post(api, run_of(api, raw), stream=True)
    world.settled()


def sent(world: World, place: int = -1) -> str:
    return world.provider.asked[place].body.decode()


class Agent:
    """An agent that keeps its list raw, behind a proxy, as a host that has to hold to the guard's invariants."""

    def __init__(self, host: "ProxyHost", guard: Guard, messages: list[Json]) -> None:
        self._host = host
        self._guard = guard
        self._messages = messages
        self._world = host.world_of(guard)
        self._requests: list[list[Json]] = []

    def run(self, prompt: str, turns: Sequence[HostTurn]) -> None:
        api = self._host.provider
        self._messages.append({"role": "user", "content": prompt})
        for turn in turns:
            said = self._send(turn)
            self._messages += said.message(api)
            match turn:
                case Search(output=output, call_id=call_id):
                    self._messages += result_of(api, call_id, output)
                case Recall(call_id=call_id):
                    page = self._guard.recall_tool().page(dict(said.args))
                    self._messages += result_of(api, call_id, page.text)
        self._world.settled()

    def requests(self) -> list[list[Json]]:
        return self._requests

    def history(self) -> list[Json]:
        return deepcopy(self._messages)

    def reopen(self, guard: Guard) -> Conversation:
        return Agent(self._host, guard, deepcopy(self._messages))

    def fork(self) -> Conversation:
        return Agent(self._host, self._guard, deepcopy(self._messages))

    def _send(self, turn: HostTurn) -> Turn:
        api = self._host.provider
        said: list[Turn] = []

        def answer(asked: Asked) -> Answer:
            self._requests.append(asked.json[KEYS[api]])
            said.append(self._scripted(turn))
            return streamed(events(api, said[-1]))

        self._world.provider.script[:] = [answer]
        reply = self._world.post(api, self._messages, stream=True)
        assert reply.content == b"".join(events(api, said[-1]))
        return said[-1]

    def _scripted(self, turn: HostTurn) -> Turn:
        match turn:
            case Search(call_id=call_id, query=query):
                return Turn(call_id=call_id, args=(("q", query),))
            case Recall(call_id=call_id):
                noted = noted_id(self._requests[-1], self._host.provider)
                return Turn(call_id=call_id, args=(("entryId", noted), ("limit", "1000")), name="recall")
            case Say(text=text):
                return Turn(text)


class ProxyHost:
    """A proxy for each guard: reopened is a proxy that has started anew on the same store."""

    def __init__(self, provider: Api, stack: contextlib.ExitStack) -> None:
        self.provider = provider
        self._stack = stack
        self._worlds: dict[int, World] = {}
        self._guards: list[Guard] = []

    def open(self, guard: Guard) -> Conversation:
        return Agent(self, guard, [])

    def world_of(self, guard: Guard) -> World:
        if id(guard) not in self._worlds:
            self._guards.append(guard)  # its id stays its own
            world = self._stack.enter_context(running(store=guard.store, judge=guard.judge, config=guard.config))
            self._worlds[id(guard)] = world
        return self._worlds[id(guard)]


@pytest.mark.parametrize("api", APIS)
def test_an_agent_behind_the_proxy_is_guarded(api: Api) -> None:
    """What holds for every host holds for an agent that knows of no guard: raw history, sticky edits across requests,
    restarts and forks, exact recall, silence that keeps everything; and its replies come byte for byte."""
    with contextlib.ExitStack() as stack:
        assert_guard_invariants(ProxyHost(api, stack), memory_store())


@pytest.mark.parametrize("api", APIS)
def test_a_prefix_keeps_its_bytes(api: Api) -> None:
    """Up to the first edit a request is what the agent sent, and what one request sent begins the next."""
    with running() as world:
        guarded(world, api)
        later = [*next_of(api), *Turn("It says so.").message(api), {"role": "user", "content": "Thanks. 🙂 \ud83d"}]
        for messages in (next_of(api), later, next_of(api)):
            # spaces, escapes and unknown fields as this agent likes them
            body = json.dumps(body_of(api, messages, unknown={"a": [1.0, 1e7]}), indent=1).encode()
            world.client.post(PATHS[api], content=body, headers={"x-api-key": "k"})
            edited = world.provider.asked[-1].body
            assert MARKER in edited.decode()
            first = next(at for at, (ours, theirs) in enumerate(zip(edited, body, strict=False)) if ours != theirs)
            assert b"call_1" in body[:first]
        one, two, again = (asked.body for asked in world.provider.asked[-3:])
        shared = json.dumps(MORE["content"]).encode()
        assert one == again
        assert one[: one.index(shared)] == two[: two.index(shared)]


UNKNOWN = [
    ("GET", "/v1/models?limit=1000&x=%2F%7e[]", b""),
    ("POST", "/v1/messages/count_tokens", json.dumps(body_of("anthropic", next_of("anthropic"))).encode()),
    ("POST", "/v1/messages/batches", b'{"requests": [ ]}'),
    ("POST", "/v1/messages", b"no json"),
    ("POST", "/v1/messages", b"\xff\xfe\x00"),
    ("POST", "/v1/messages", b'{"messages": "text", "a": 1}'),
    ("POST", "/v1/messages", b'{"messages": [1, null, {"role": 5}]}'),
    ("POST", "/v1/messages", b'{"messages": []}'),
    ("POST", "/v1/responses", b'{"input": "a bare text" }'),
    ("PUT", "/some/where;x=1/%E2%82%AC", b"\x00\x01"),
    ("DELETE", "/v1/files/1", b""),
    ("POST", "/v1/responses/compact", b'{"input": [ ]}'),
]


@pytest.mark.parametrize(("method", "path", "body"), UNKNOWN)
def test_the_unknown_passes_byte_for_byte(method: str, path: str, body: bytes) -> None:
    """Path, query, headers and body; and the status, the headers and the body of its answer."""
    with running() as world:
        guarded(world)
        answer = b'{"error": {"type": "x"}}'
        world.provider.script[:] = [plain(answer, "418 I'm a teapot", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-Id: 7")]
        reply = world.raw(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: sk-1\r\nanthropic-beta: b1, b2\r\n"
            f"Connection: close, X-Hop\r\nX-Hop: 1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        asked = world.provider.asked[-1]
        assert (f"{method} {path} HTTP/1.1", body) == (asked.first, asked.body)
        assert {"x-api-key": "sk-1", "anthropic-beta": "b1, b2"}.items() <= asked.names.items()
        assert asked.names.keys().isdisjoint({"x-hop", "connection", "x-context-guard-token", "user-agent"})
        head, _, got = reply.partition(b"\r\n\r\n")
        assert answer == got
        assert b"HTTP/1.1 418" in head
        assert [b"a=1", b"b=2"] == [line[12:] for line in head.lower().split(b"\r\n") if line.startswith(b"set-cookie")]
        assert head.lower().count(b"server:") == head.lower().count(b"date:") == 0


def test_a_body_without_a_length_passes_as_it_comes() -> None:
    """Uploads are not gathered: the first piece is with the provider before the last is sent."""
    with running() as world:
        world.provider.script[:] = [plain(b"{}")]

        def pieces() -> Iterator[bytes]:
            yield b"one"
            yield b"two"

        assert 200 == world.client.post("/v1/files", content=pieces()).status_code
        assert b"onetwo" == world.provider.asked[-1].body


def test_pieces_of_a_reply_are_passed_on_as_they_come() -> None:
    """The agent reads the first event while the provider is still thinking about the second."""
    with running() as world:
        seen = threading.Event()
        one, two = b"data: 1\n\n", b"data: 2\n\n"
        world.provider.script[:] = [streamed([one, two], then=lambda: seen.wait(20))]
        with world.client.stream("POST", PATHS["anthropic"], json=body_of("anthropic", [USER])) as reply:
            pieces = reply.iter_raw()
            assert one == next(pieces)
            seen.set()
            assert two == b"".join(pieces)


def test_an_agent_that_hangs_up_closes_the_provider_too() -> None:
    with running() as world:
        left = threading.Event()
        many = [b"data: 1\n\n" * 10_000] * 400
        world.provider.script[:] = [streamed(many, then=lambda: left.wait(20))]
        with world.client.stream("POST", PATHS["anthropic"], json=body_of("anthropic", [USER])) as reply:
            next(reply.iter_raw())
        left.set()
        assert world.provider.gone.wait(20)


def test_a_provider_that_dies_midway_cuts_the_agent_off() -> None:
    """No end is made up: the agent sees the same broken stream as without a proxy."""
    with running() as world:
        world.provider.script[:] = [streamed(events("anthropic", ANSWER)[:3], dies=True)]
        with pytest.raises(httpx.RemoteProtocolError, match=r"incomplete|closed"):
            world.post("anthropic", run_of("anthropic"), stream=True)
        world.settled()
        assert 0 == world.store.status().passes


def test_a_provider_that_is_not_there_is_a_bad_gateway() -> None:
    with running(upstreams=(read_upstream("fake=http://127.0.0.1:9"),)) as world:
        reply = world.post("anthropic", [USER])
        assert (502, "refused; why=upstream") == (reply.status_code, reply.headers["x-context-guard"])


def test_upstreams_are_told_apart_by_name() -> None:
    """The path's first word names one, and never becomes part of the address."""
    one, two = Provider(), Provider()
    one.script[:] = two.script[:] = [plain(b"{}")]
    named = (read_upstream(f"one={one.url}/base"), read_upstream(f"two={two.url}"))
    with running(provider=one, upstreams=named) as world:
        assert 200 == world.client.get("/one/v1/models?a=1").status_code
        assert 200 == world.client.get("/two/@evil.example/x").status_code
        assert 404 == world.client.get("/three/v1/models").status_code
        assert ["GET /base/v1/models?a=1 HTTP/1.1"] == [asked.first for asked in one.asked]
        assert ["GET /@evil.example/x HTTP/1.1"] == [asked.first for asked in two.asked]


HELD = [
    ("anthropic", {"thread": {"type": "continue", "previous_message_id": "msg_1"}}),
    ("anthropic", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}),
    ("openai-responses", {"previous_response_id": "resp_1"}),
    ("openai-responses", {"conversation": "conv_1"}),
]


@pytest.mark.parametrize(("api", "field"), HELD)
def test_what_a_server_holds_is_refused_for_guarding_and_passed_on(api: Api, field: Json) -> None:
    with running() as world:
        guarded(world, api)
        reply = world.post(api, next_of(api), **field)
        assert "unedited; why=server-held" == reply.headers["x-context-guard"]
        assert MARKER not in sent(world)


COMPRESS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_request_is_opened_for_its_edits(encoding: str) -> None:
    """Without edits its very bytes are sent; with edits it goes out open."""
    with running() as world:
        body = json.dumps(body_of("anthropic", run_of("anthropic"))).encode()
        headers = {"content-encoding": encoding}
        world.provider.script[:] = [streamed(events("anthropic", ANSWER))]
        compressed = COMPRESS[encoding](body)
        world.client.post(PATHS["anthropic"], content=compressed, headers=headers)
        assert (compressed, encoding) == (
            world.provider.asked[-1].body,
            world.provider.asked[-1].names["content-encoding"],
        )
        world.settled()
        body = json.dumps(body_of("anthropic", next_of("anthropic"))).encode()
        world.client.post(PATHS["anthropic"], content=COMPRESS[encoding](body), headers=headers)
        assert "content-encoding" not in world.provider.asked[-1].names
        assert MARKER in sent(world)


@pytest.mark.parametrize(("encoding", "body"), [("br", brotli.compress(b"{}")), ("gzip", b"no gzip"), ("x", b"{}")])
def test_a_request_that_cannot_be_opened_passes_as_it_is(encoding: str, body: bytes) -> None:
    with running() as world:
        world.provider.script[:] = [plain(b"{}")]
        reply = world.client.post(PATHS["anthropic"], content=body, headers={"content-encoding": encoding})
        assert reply.headers["x-context-guard"].endswith("why=compressed")
        assert (body, encoding) == (world.provider.asked[-1].body, world.provider.asked[-1].names["content-encoding"])


@pytest.mark.parametrize("encoding", COMPRESS)
def test_a_compressed_reply_is_passed_on_as_it_is_and_read(encoding: str) -> None:
    with running() as world:
        body = COMPRESS[encoding](b"".join(events("anthropic", ANSWER)))
        answer = streamed([body[:50], body[50:]])
        world.provider.script[:] = [
            type(answer)(answer.head.replace(b"X-Own: 1", f"Content-Encoding: {encoding}".encode()), answer.pieces)
        ]
        with world.client.stream("POST", PATHS["anthropic"], json=body_of("anthropic", run_of("anthropic"))) as reply:
            assert body == b"".join(reply.iter_raw())
        world.settled()
        assert 1 == world.store.status().passes


class Hanging:
    name = "hanging"

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.sleep_forever()
        raise AssertionError


def test_a_judge_that_hangs_delays_nothing() -> None:
    """Requests go on while it hangs; those that find no room in the queue are kept, counted, and told."""
    config = Config(timeout_ms=600_000, run_end_break_even=False)
    with running(judge=Hanging(), config=config) as world:
        world.provider.script[:] = [streamed(events("anthropic", ANSWER))]
        for _ in range(40):
            reply = world.post("anthropic", run_of("anthropic"), stream=True)
            assert b"".join(events("anthropic", ANSWER)) == reply.content
        until(lambda: world.proxy.parts.notes.settler.unfinished == 33)
        until(lambda: world.metric("passes_dropped_total") == 40 - 1 - 32)
        assert "more runs end than can be judged" in world.client.get("/context-guard/status").text


class Broken(SqliteStore):
    """Can fail to find, to keep, or hang while it looks."""

    def __init__(self) -> None:
        super().__init__(None, lambda: 0)
        self.fails = ""
        self.waits = threading.Event()

    def find(self, ids: Any) -> tuple[LoggedPass, ...]:
        if self.fails == "find":
            raise StoreError("the disk has failed.")
        if self.fails == "hang":
            self.waits.wait(20)
        return super().find(ids)

    def keep(self, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> LoggedPass:
        if self.fails == "keep":
            raise StoreError("the disk is full: make room.")
        return super().keep(pass_, raws)


@pytest.mark.parametrize("fails", ["find", "hang"])
def test_what_was_applied_stays_applied_when_the_store_fails(fails: str) -> None:
    """An edit that a request has carried is in the next one too, byte for byte; what no request has carried waits."""
    store = Broken()
    with running(store=store) as world:
        guarded(world)
        world.post("anthropic", next_of("anthropic"))
        store.fails = fails
        world.post("anthropic", next_of("anthropic"))
        assert world.provider.asked[-1].body == world.provider.asked[-2].body
        assert MARKER in sent(world)
        other = made_output("two")
        reply = world.post("anthropic", run_of("anthropic", other))
        assert (200, "unedited") == (reply.status_code, reply.headers["x-context-guard"])
        assert "the store cannot be read" in world.client.get("/context-guard/status").text
        store.waits.set()


def test_a_full_disk_keeps_everything_and_says_so() -> None:
    store = Broken()
    store.fails = "keep"
    with running(store=store) as world:
        guarded(world)
        reply = world.post("anthropic", next_of("anthropic"))
        assert (200, "unedited") == (reply.status_code, reply.headers["x-context-guard"])
        assert "disk is full" in world.client.get("/context-guard/status").text
        assert '"event": "problem"' in world.log.getvalue()
        assert 1 <= world.metric("problems_total")


def test_an_edit_that_the_provider_would_refuse_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The original goes out instead, and the problem is recorded."""
    with running() as world:
        guarded(world)

        def refuse(*_: object) -> None:
            raise ValueError("the provider would refuse messages[2]: it is odd")

        monkeypatch.setattr("context_guard_effects.proxy.rewrite.check_edited", refuse)
        reply = world.post("anthropic", next_of("anthropic"))
        assert "unedited; why=invalid" == reply.headers["x-context-guard"]
        assert MARKER not in sent(world)
        assert "it is odd" in world.client.get("/context-guard/status").text


def test_edits_outlive_the_proxy(tmp_path: Path) -> None:
    """Another process on the same store sends the same bytes from its first request on."""
    bodies: list[bytes] = []
    for _ in range(2):
        with open_store(tmp_path / "store.db") as store, running(store=store) as world:
            if not bodies:
                guarded(world)
            world.provider.script[:] = [plain(whole("anthropic", ANSWER))]
            world.post("anthropic", next_of("anthropic"))
            bodies.append(world.provider.asked[-1].body)
    assert bodies[0] == bodies[1]
    assert MARKER in bodies[0].decode()


def test_a_reply_that_cannot_be_read_is_made_up_for_by_the_next_request() -> None:
    """A run whose end was not seen is judged when a prompt follows it; the request after that carries the edits."""
    with running() as world:
        world.provider.script[:] = [plain(b"not what this API says")]
        world.post("anthropic", run_of("anthropic"))
        world.settled()
        world.post("anthropic", next_of("anthropic"))
        assert MARKER not in sent(world)
        world.settled()
        world.post("anthropic", next_of("anthropic"))
        assert MARKER in sent(world)


def test_an_edited_history_meets_no_stale_edit() -> None:
    """The same call with another output is another output."""
    with running() as world:
        guarded(world)
        world.post("anthropic", next_of("anthropic", made_output("two")))
        assert MARKER not in sent(world)


def test_a_conversation_knows_nothing_of_another() -> None:
    """The same output under the same call, but another answer behind it: the pass of the first does not hold."""
    with running() as world:
        guarded(world)
        other = [*run_of("anthropic"), *Turn("I do not know.").message("anthropic"), MORE]
        world.post("anthropic", other)
        assert MARKER not in sent(world)


def long_run(turns: int) -> list[Json]:
    messages: list[Json] = [USER]
    for turn in range(turns):
        call = Turn(call_id=f"call_{turn}", args=(("q", str(turn)),))
        messages += [*call.message("anthropic"), *result_of("anthropic", f"call_{turn}", made_output(f"part{turn}"))]
    return messages


def test_a_long_run_is_judged_on_its_way() -> None:
    """A checkpoint behind a reply that calls a tool: old outputs of the run go, the latest stay."""
    with running() as world:
        messages = long_run(10)
        call = Turn(call_id="call_10", args=(("q", "10"),))
        world.provider.script[:] = [streamed(events("anthropic", call))]
        world.post("anthropic", messages, stream=True)
        world.settled()
        (judged,) = world.client.get("/context-guard/status").json()["judged"]
        assert "mid-run" == judged["phase"]
        messages += [*call.message("anthropic"), *result_of("anthropic", "call_10", "nothing")]
        world.post("anthropic", messages)
        shown = world.provider.asked[-1].json["messages"]
        marked = [MARKER in json.dumps(message) for message in shown]
        assert marked[2]
        assert not any(marked[-6:])


def test_a_checkpoint_that_does_not_pay_is_not_made() -> None:
    """The same cost rules as in any host: the provider's cache is warm, and the run is short."""
    with running(config=Config()) as world:
        world.provider.script[:] = [streamed(events("anthropic", Turn(call_id="call_10")))]
        marked = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
        world.post("anthropic", long_run(10), system=marked, stream=True)
        world.settled()
        assert 0 == world.store.status().passes


def test_what_nothing_is_cached_of_has_nothing_to_lose() -> None:
    """Without a mark Anthropic caches nothing: the edits of a run are made at its end, by the default settings."""
    with running(config=Config()) as world:
        world.provider.script[:] = [streamed(events("anthropic", ANSWER))]
        world.post("anthropic", long_run(10), stream=True)
        world.settled()
        assert 1 == world.metric("passes_total", outcome="edited")


def test_no_key_is_in_any_log_metric_or_record(tmp_path: Path) -> None:
    """Keys are forwarded and forgotten; so is all that was said, but for the outputs that recall needs."""
    key, secret = "sk-ant-0123456789", "the user's own secret words"
    with open_store(tmp_path / "store.db") as store, running(store=store, access=_access("tok-42")) as world:
        world.client.headers.update({"x-api-key": key, "x-context-guard-token": "tok-42"})
        world.provider.script[:] = [streamed(events("anthropic", ANSWER))]
        messages = [{"role": "user", "content": secret}, *run_of("anthropic")[1:]]
        world.client.post(f"{PATHS['anthropic']}?key={key}", json=body_of("anthropic", messages))
        world.settled()
        assert key in json.dumps(world.provider.asked[-1].headers)
        assert "tok-42" not in json.dumps(world.provider.asked[-1].headers)
        assert 1 == store.status().passes
        told = [world.log.getvalue(), world.client.get("/metrics").text, world.client.get("/context-guard/status").text]
        for text in told:
            assert all(hidden not in text for hidden in (key, "tok-42", secret, "NEEDLE", "part_1.py"))
        for file in tmp_path.iterdir():
            assert key.encode() not in file.read_bytes()


def _access(token: str) -> Any:
    from context_guard_effects.proxy.checks import Access

    return Access(token)


def test_metrics_tell_what_was_kept_out_and_what_the_cache_gave() -> None:
    with running() as world:
        guarded(world)
        world.post("anthropic", next_of("anthropic"))
        world.settled()
        assert 2.0 == world.metric("requests_total", api="anthropic", outcome="ok")
        assert 10_000 < world.metric("kept_out_bytes_total")
        assert 140.0 == world.metric("tokens_total", api="anthropic", kind="cache_read")
        assert 1.0 == world.metric("passes_total", outcome="edited")
        assert 2.0 == world.metric("added_seconds_count")
        assert 0.0 == world.metric("open_requests")
        assert "ok\n" == world.client.get("/healthz").text
        assert "context_guard_added_seconds_bucket" in world.client.get("/metrics").text
