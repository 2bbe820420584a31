"""The proxy as a program: its socket, its signals, its end."""

import gc
import signal
import sys
import time

import trio
from msgspec import Struct

from context_guard_effects.cli.exits import UNWRITABLE, Stop
from context_guard_effects.proxy.app import Settings
from context_guard_effects.proxy.logs import Log
from context_guard_effects.proxy.server import Plan, serve
from context_guard_effects.proxy.worker import Setup, Worker
from context_guard_effects.store import Place, given_as, open_store

SWITCH_SECONDS = 0.001
"""How long a thread that edits a request may keep the interpreter from the one that hands on what streams by."""

COLLECT = (20_000, 20, 20)
"""The collector's thresholds: requests are large and leave no cycles, so it need not look often."""


class Start(Struct, frozen=True):
    host: str
    port: int
    store: Place
    judge: str
    settings: Settings
    http2: bool
    level: str


def run(start: Start) -> None:
    """Until an interrupt, or until what is on the way has been answered after a request to terminate."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # modules stay: a collection that looks at them too keeps every request waiting
    gc.set_threshold(*COLLECT)
    trio.run(_run, start)


async def _run(start: Start) -> None:
    try:
        listeners = await trio.open_tcp_listeners(start.port, host=start.host)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise Stop(f"cannot listen on {start.host}:{start.port}: {said}", UNWRITABLE) from error
    worker = Worker(Setup(given_as(start.store), start.judge, start.settings.config))
    log = Log(level=start.level)
    with open_store(start.store) as store:
        plan = Plan(start.settings, store, worker.run, log, start.http2)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_stop_on_signal, nursery.cancel_scope, plan.drain)
                nursery.start_soon(_serve_to_the_end, nursery.cancel_scope, plan, listeners)
        finally:
            await worker.stop()


async def _serve_to_the_end(scope: trio.CancelScope, plan: Plan, listeners: list[trio.SocketListener]) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, plan, listeners, _now)
        _say_where(listeners)
    scope.cancel()


async def _stop_on_signal(scope: trio.CancelScope, drain: trio.Event) -> None:
    """The first SIGTERM lets what is on the way come to its end; an interrupt, or a second one, does not."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for given in signals:
            if given == signal.SIGTERM and not drain.is_set():
                drain.set()
            else:
                scope.cancel()


def _say_where(listeners: list[trio.SocketListener]) -> None:
    for listener in listeners:
        host, port = listener.socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        sys.stdout.write(f"http://{shown}:{port}\n")
    sys.stdout.flush()


def _now() -> int:
    return time.time_ns() // 1_000_000
