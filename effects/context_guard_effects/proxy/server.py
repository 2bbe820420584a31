"""The proxy on its socket: strict framing in front of hypercorn, the settler beside it."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import trio
from hypercorn.config import Config as ServerConfig
from hypercorn.events import Closed, RawData
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app
from msgspec import Struct, field

from context_guard_effects.proxy.app import Parts, Proxy, Settings
from context_guard_effects.proxy.applied import AppliedLog
from context_guard_effects.proxy.dashboard import Dashboard
from context_guard_effects.proxy.framing import MAX_HEAD, BadFraming, Framing
from context_guard_effects.proxy.jobs import Done, Job
from context_guard_effects.proxy.logs import Log
from context_guard_effects.proxy.metrics import Metrics
from context_guard_effects.proxy.notes import Notes
from context_guard_effects.proxy.pins import Pins
from context_guard_effects.proxy.rewrite import Rewriter
from context_guard_effects.proxy.settling import Clock, Settler
from context_guard_effects.proxy.upstream import Client
from context_guard_effects.proxy.worker import Run
from context_guard_effects.store import Store

NOT_HTTP = b"\0\r\n\r\n"
"""What the server refuses with 400, and closes the connection."""
KEEP_ALIVE_SECONDS = 75
DRAIN_SECONDS = 20.0
"""What is on the way when the proxy is told to end may take so long."""
DRAIN_PAUSE = 0.02
PIECE = 512 * 1024
"""Bytes read at a time: with fewer, most of a large body's time goes into handing it on."""


class Plan(Struct, frozen=True):
    """What a proxy is started with."""

    settings: Settings
    store: Store
    """For requests. Whoever judges has another connection, so that no request waits behind a pass that is kept."""
    run: Run
    log: Log
    http2: bool = False
    drain: trio.Event = field(default_factory=trio.Event)
    """Set it, and nothing new is accepted: what is on the way is answered, and runs that have ended are judged."""


async def serve(
    plan: Plan,
    listeners: Sequence[trio.SocketListener],
    now: Clock,
    task_status: trio.TaskStatus[Proxy] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Until cancelled, or drained. `now` in milliseconds since the epoch."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log addresses with their queries
    metrics, board = Metrics(), Dashboard(now())

    def tell(said: str) -> None:
        metrics.problems.inc()
        if board.problem(said, now()):
            plan.log.warning("problem", says=said)

    def judged(job: Job, done: Done) -> None:
        metrics.count_pass(done)
        board.judged(job, done, now())
        for said in filter(None, (done.problem, done.unanswered)):
            tell(said)
        plan.log.info("pass", api=job.api, phase=job.phase, edits=done.edits, saved=done.saved_chars, waits=done.waits)

    def dropped() -> None:
        metrics.dropped.inc()
        tell("more runs end than can be judged: what waited longest keeps everything until its next prompt")

    settler = Settler(plan.run, now, judged, dropped)
    pins = Pins(now) if plan.settings.config.pin_anthropic_cache else None
    rewriter = Rewriter(AppliedLog(plan.store, tell), tell, pins)
    notes = Notes(metrics, board, plan.log, settler, now, tell)
    async with Client(plan.http2) as client:
        proxy = Proxy(plan.settings, Parts(client, rewriter, notes))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settler.run)
            try:
                async with trio.open_nursery() as connections:
                    app = wrap_app(cast(Any, proxy), 0, "asgi")
                    accept = partial(_accept, app, _server_config(), WorkerContext(None), metrics)
                    async with trio.open_nursery() as accepting:
                        listen = partial(trio.serve_listeners, handler_nursery=connections)
                        accepting.start_soon(listen, accept, list(listeners))
                        plan.log.info("started", upstreams=[it.name for it in plan.settings.upstreams])
                        task_status.started(proxy)
                        await plan.drain.wait()
                        accepting.cancel_scope.cancel()
                    with trio.move_on_after(DRAIN_SECONDS):
                        while proxy.open_requests or settler.unfinished:
                            await trio.sleep(DRAIN_PAUSE)
                    plan.log.info("ended", cut_off=proxy.open_requests, not_judged=settler.unfinished)
                    connections.cancel_scope.cancel()
            finally:
                nursery.cancel_scope.cancel()


async def _accept(
    app: Any, config: ServerConfig, context: WorkerContext, metrics: Metrics, stream: trio.SocketStream
) -> None:
    await _Server(app, config, context, ConnectionState({}), _Framed(stream, metrics))  # type: ignore[arg-type]


def _server_config() -> ServerConfig:
    config = ServerConfig()
    config.include_server_header = False
    config.include_date_header = False
    config.accesslog = config.errorlog = None
    config.h11_max_incomplete_size = 2 * MAX_HEAD
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.keep_alive_max_requests = 1_000_000
    return config


class _Server(TCPServer):
    """One request at a time on a connection, so what is sent needs no lock."""

    async def protocol_send(self, event: Any) -> None:
        if isinstance(event, RawData):
            try:
                await self.stream.send_all(event.data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                await self.protocol.handle(Closed())
        else:
            await super().protocol_send(event)


class _Framed:
    """A connection from which nothing comes that could be read in two ways."""

    def __init__(self, stream: trio.SocketStream, metrics: Metrics) -> None:
        self._stream = stream
        self._metrics = metrics
        self._framing = Framing()
        self._is_bad = False
        self.socket = stream.socket
        self.send_all = stream.send_all
        self.send_eof = stream.send_eof
        self.aclose = stream.aclose

    async def receive_some(self, max_bytes: int) -> bytes:
        while not self._is_bad:
            data = await self._stream.receive_some(max(max_bytes, PIECE))
            if not data:
                return b""
            passed: list[bytes] = []
            try:
                passed.extend(self._framing.feed(bytes(data)))
            except BadFraming:
                self._metrics.refusals.labels("framing").inc()
                self._is_bad = True
                passed.append(NOT_HTTP)
            if found := b"".join(passed):
                return found
        return b""
