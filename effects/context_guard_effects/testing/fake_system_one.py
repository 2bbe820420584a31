"""A System One server on loopback, for tests: `POST /v1/systemone`, `GET /v1/models`, `POST /v1/chat/completions`.

Its answers are made from the words of the question and the part it names, so they are the same every time; a test may
give its own. Faults come from a queue, one a request, or always.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import Any

import h11
import trio

from context_guard.servers import Server
from context_guard_effects.testing.faults import FAULTS, LATE_SECONDS, Fault, spoil
from context_guard_effects.testing.made_up import chat_reply, choice_answer, make_up, score_answer

KEY = "test-key-Zm9yIHRlc3Rz"
MODEL = "jev-1.13.0"
READ = 65_536

Answering = Callable[[str, dict[str, Any]], float | str | None]
"""Question id and question → P(yes), the option to choose, or None for no answer."""


class FakeRequest:
    """What arrived."""

    def __init__(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> None:
        self.method, self.path, self.headers, self.raw = method, path, headers, raw

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.raw)
        return body


class FakeSystemOne:
    def __init__(
        self, answers: Mapping[str, float | str] | Answering | None, faults: Iterable[str | Fault], key: str
    ) -> None:
        self.key = key
        self.requests: list[FakeRequest] = []
        self.open = 0
        """Connections that are open now."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.always: Fault | None = None
        """A fault for every request that has none of its own."""
        self.delay = 0.0
        """Seconds before each answer."""
        self.port = 0
        self._answers = answers
        self._faults = [FAULTS[fault] if isinstance(fault, str) else fault for fault in faults]

    @property
    def url(self) -> str:
        """What a client takes for its root, as `TYPESAFE_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def server(self) -> Server:
        """For `SystemOneJudge`."""
        return Server(
            name=f"fake/{MODEL}",
            wire="system-one",
            url=f"{self.url}/v1/systemone",
            model=MODEL,
            key_name="FAKE_API_KEY",
            usd_per_million=0.042,
        )

    def fail(self, *faults: str | Fault) -> None:
        """Puts faults into the queue, one for each request to come."""
        self._faults += [FAULTS[fault] if isinstance(fault, str) else fault for fault in faults]

    async def serve(self, stream: trio.SocketStream) -> None:
        """One connection, until either side closes it."""
        self.open += 1
        try:
            await self._converse(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.ProtocolError):
            pass
        finally:
            self.open -= 1
            await trio.aclose_forcefully(stream)

    async def _converse(self, stream: trio.SocketStream) -> None:
        wire = h11.Connection(h11.SERVER)
        while True:
            request = await _read_request(wire, stream)
            if request is None:
                return
            self.requests.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                goes_on = await self._reply(wire, stream, request)
            finally:
                self.in_flight -= 1
            if not goes_on or wire.our_state is h11.MUST_CLOSE:
                return
            wire.start_next_cycle()

    async def _reply(self, wire: h11.Connection, stream: trio.SocketStream, request: FakeRequest) -> bool:
        refused = self._check(request)
        fault = refused or (self._faults.pop(0) if self._faults else self.always) or Fault("none")
        seconds = {"never": inf, "late": self.delay + LATE_SECONDS}.get(fault.how, self.delay)
        if fault.how == "drop before" or not await _stays(stream, seconds):
            return False
        body = fault.body
        if body is None:
            reply = self._true_reply(request)
            body = spoil(reply, fault.answers) if "answers" in reply else json.dumps(reply).encode()
        headers = [
            ("content-type", fault.content_type),
            *([("content-length", str(len(body)))] if fault.repeat == 1 else []),
            ("x-typesafe-request-id", f"req_{len(self.requests):04}"),
            *fault.headers,
        ]
        await stream.send_all(wire.send(h11.Response(status_code=fault.status, headers=headers)) or b"")
        if fault.how == "drop inside":
            await stream.send_all(body[: len(body) // 2])
            return False
        if fault.how == "slow body":
            for byte in body:
                await stream.send_all(bytes([byte]))
                if not await _stays(stream, 0.05):
                    break
            return False
        for _ in range(fault.repeat):
            await stream.send_all(wire.send(h11.Data(data=body)) or b"")
        await stream.send_all(wire.send(h11.EndOfMessage()) or b"")
        return True

    def _check(self, request: FakeRequest) -> Fault | None:
        """As the real servers do it: path, key, JSON, fields, in this order."""
        if request.path not in (
            "/v1/systemone",
            "/api/v1/systemone",
            "/api/alpha/decisions",
            "/v1/chat/completions",
            "/v1/models",
        ):
            return FAULTS["http 404"]
        given = request.headers.get("authorization")
        if self.key and given != f"Bearer {self.key}":
            return FAULTS["http 403" if given is None else "http 401"]
        if request.method == "GET":
            return None
        try:
            body = json.loads(request.raw)
        except ValueError:
            return FAULTS["http 422"]
        fields = ("model", "messages") if request.path.endswith("completions") else ("model", "state", "questions")
        return None if all(body.get(field) for field in fields) else FAULTS["http 422"]

    def _true_reply(self, request: FakeRequest) -> dict[str, Any]:
        if request.method == "GET":
            return {
                "models": [
                    {"name": name, "description": "", "release_date": "2026-09-15"} for name in ("jev-latest", MODEL)
                ]
            }
        if request.path.endswith("completions"):
            return chat_reply(request.body)
        body = request.body
        answers = {name: self._answer(name, question, body["state"]) for name, question in body["questions"].items()}
        reply = {
            "model": MODEL,
            "answers": {name: answer for name, answer in answers.items() if answer is not None},
            "usage": {"input_tokens": len(request.raw) // 4, "output_tokens": 17 * len(answers)},
        }
        if request.path.startswith("/api/"):
            tokens = len(request.raw) // 4
            reply |= {"id": "gen-1-abc", "provider": "TypeSafe", "model": "typesafe/jev-1.13-20260917"}
            reply["usage"] = {"input_tokens": tokens, "output_tokens": 17, "cost": tokens * 5e-8}
        return reply

    def _answer(self, name: str, question: dict[str, Any], state: Any) -> dict[str, Any] | None:
        given: float | str | None
        if callable(self._answers):
            given = self._answers(name, question)
        elif self._answers is not None:
            given = self._answers.get(name)
        else:
            given = make_up(name, question, state)
        if given is None:
            return None
        if question["type"] == "noul":
            return {"type": "noul", "noul": given}
        if question["type"] == "score":
            return score_answer(question["criteria"])
        return choice_answer(list(question["criteria"]), str(given))


@asynccontextmanager
async def fake_system_one(
    answers: Mapping[str, float | str] | Answering | None = None,
    faults: Iterable[str | Fault] = (),
    key: str = KEY,
) -> AsyncIterator[FakeSystemOne]:
    """The server, for as long as the block runs. `key=""` asks for none."""
    fake = FakeSystemOne(answers, faults, key)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        fake.port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(partial(trio.serve_listeners, fake.serve, listeners))
        try:
            yield fake
        finally:
            nursery.cancel_scope.cancel()


async def _stays(stream: trio.SocketStream, seconds: float) -> bool:
    """Waits; False as soon as the client is gone."""
    with trio.move_on_after(seconds):
        await stream.receive_some(1)
        return False
    return True


async def _read_request(wire: h11.Connection, stream: trio.SocketStream) -> FakeRequest | None:
    head: h11.Request | None = None
    raw = bytearray()
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            wire.receive_data(await stream.receive_some(READ))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            raw += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
            return FakeRequest(head.method.decode(), head.target.decode(), headers, bytes(raw))
        else:
            return None
