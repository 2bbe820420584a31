"""Where passes are judged: in this process, or in one of their own, so that no request waits for the processor."""

import contextlib
import sys
from collections.abc import Awaitable, Callable
from typing import BinaryIO

import msgspec
import trio
from msgspec import Struct

from context_guard.config import Config
from context_guard_effects.judges.limited import limited
from context_guard_effects.judges.port import Judge
from context_guard_effects.proxy.jobs import Done, Job, run_job
from context_guard_effects.store import LateStore, Store, StoreError

Run = Callable[[Job], Awaitable[Done]]
"""Judges one job after the other. Never raises."""

SLACK_SECONDS = 60.0
"""Beside the judge's own budget, what a pass may take before its process is given up."""
LENGTH_BYTES = 8
PIPE_BYTES = 2**20


class Setup(Struct, frozen=True):
    """The first thing that the process is told."""

    store: str
    """As `given_as` says it: it may hold a password, which goes over the pipe alone."""
    judge: str
    config: Config


def run_here(store: Store, judge: Judge, config: Config) -> Run:
    async def run(job: Job) -> Done:
        return await run_job(job, store, judge, config)

    return run


def _run_late(store: LateStore, judge: Judge, config: Config) -> Run:
    """A server that is down costs the passes of that time alone."""

    async def run(job: Job) -> Done:
        try:
            opened = await trio.to_thread.run_sync(store.get)
        except StoreError as error:
            return Done(problem=f"a pass changed nothing: {error.message}")
        return await run_job(job, opened, limited(judge, opened, config), config)

    return run


class Worker:
    """A process that judges, started with the first job, and anew when it has died."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._process: trio.Process | None = None

    async def run(self, job: Job) -> Done:
        """A cancelled job ends the process: its answer would be read as that of the next."""
        said = "took too long"
        is_done = False
        try:
            with trio.move_on_after(self._setup.config.timeout_ms / 1_000 + SLACK_SECONDS):
                done = await self._ask(job)
                is_done = True
                return done
        except (OSError, EOFError, trio.BrokenResourceError, trio.ClosedResourceError, msgspec.MsgspecError):
            said = "ended"
        except UnicodeEncodeError:
            said = "cannot be told half of a surrogate pair"
        finally:
            if not is_done:
                await self.stop()
        return Done(problem=f"a pass changed nothing: the process that judges {said}")

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with trio.CancelScope(shield=True):
            if process.stdin is not None:
                await process.stdin.aclose()
            process.kill()
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()

    async def _ask(self, job: Job) -> Done:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        await _send(process.stdin, msgspec.msgpack.encode(job))
        return msgspec.msgpack.decode(await _receive(process.stdout), type=Done)

    async def _started(self) -> trio.Process:
        if self._process is not None and self._process.poll() is None:
            return self._process
        await self.stop()
        command = [sys.executable, "-m", "context_guard_effects.proxy.worker"]
        self._process = await trio.lowlevel.open_process(
            command, stdin=-1, stdout=-1, env=_environment(), start_new_session=True
        )
        assert self._process.stdin is not None
        _widen(self._process.stdin)
        await _send(self._process.stdin, msgspec.msgpack.encode(self._setup))
        return self._process


def _widen(pipe: trio.abc.SendStream) -> None:
    """Where the system lets a pipe hold more: a job goes over in one piece rather than in sixteen."""
    try:
        import fcntl
    except ImportError:
        return
    resize = getattr(fcntl, "F_SETPIPE_SZ", None)
    if resize is not None and isinstance(pipe, trio.lowlevel.FdStream):
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), resize, PIPE_BYTES)


async def _send(stream: trio.abc.SendStream, data: bytes) -> None:
    await stream.send_all(len(data).to_bytes(LENGTH_BYTES, "big"))
    await stream.send_all(data)


async def _receive(stream: trio.abc.ReceiveStream) -> bytes:
    buffer = bytearray()
    wanted = LENGTH_BYTES
    while len(buffer) < wanted:
        piece = await stream.receive_some()
        if not piece:
            raise EOFError
        buffer += piece
        if len(buffer) >= LENGTH_BYTES:
            wanted = LENGTH_BYTES + int.from_bytes(buffer[:LENGTH_BYTES], "big")
    return bytes(buffer[LENGTH_BYTES:])


def _environment() -> dict[str, str]:
    """With the path on which this process found its modules."""
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def serve(given: BinaryIO, taken: BinaryIO) -> None:
    """The process: a setup, then jobs, until the proxy that started it is gone."""
    import os

    from context_guard_effects.cli.judging import choose_judge
    from context_guard_effects.store import read_place

    os.nice(10) if hasattr(os, "nice") else None  # requests come first
    setup = msgspec.msgpack.decode(_read(given), type=Setup)
    judge = choose_judge(setup.judge, setup.config)
    store = LateStore(read_place(setup.store))
    # An OSError: the proxy is gone, and nobody waits for the answer.
    with contextlib.closing(store), contextlib.suppress(OSError):
        trio.run(_serve, given, taken, _run_late(store, judge, setup.config))


async def _serve(given: BinaryIO, taken: BinaryIO, run: Run) -> None:
    while data := await trio.to_thread.run_sync(_read, given):
        done = await run(msgspec.msgpack.decode(data, type=Job))
        answer = msgspec.msgpack.encode(done)
        taken.write(len(answer).to_bytes(LENGTH_BYTES, "big") + answer)
        taken.flush()


def _read(stream: BinaryIO) -> bytes:
    """Empty when the other side is gone."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else b""


if __name__ == "__main__":
    import os

    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed goes where it disturbs no answer
    serve(sys.stdin.buffer, out)
