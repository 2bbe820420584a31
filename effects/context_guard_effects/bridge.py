"""From any host into Trio: as it is under Trio, else through one loop in a thread that all guards of a process share.

The thread starts with the first call and ends with the process. Context variables do not cross it.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import trio
from anyio.from_thread import BlockingPortal, start_blocking_portal

T = TypeVar("T")


class _Loop:
    """The loop of this process; a fork has none of its parent's threads and starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._stack = contextlib.ExitStack()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def portal(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal(backend="trio", name="context-guard"))
            return self._portal

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._portal = None
        self._stack = contextlib.ExitStack()


_LOOP = _Loop()


async def run_in_trio(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """`await work(*args)`, from Trio or asyncio. Cancelling the caller cancels the work."""
    if trio.lowlevel.in_trio_task():
        return await work(*args)
    return await asyncio.wrap_future(_LOOP.portal().start_task_soon(work, *args))


def run_in_trio_sync(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """The same for code without a loop; it blocks the thread that calls. Raises RuntimeError in a thread of Trio's."""
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("This blocks, which Trio does not allow: await the guard's async method here.")
    return _LOOP.portal().call(work, *args)
