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
        self._token: trio.lowlevel.TrioToken | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def portal(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal(backend="trio", name="context-guard"))
                self._token = self._portal.call(trio.lowlevel.current_trio_token)
            return self._portal

    def is_here(self) -> bool:
        """Whether the caller runs in this loop, which would wait for itself."""
        try:
            return self._token is not None and trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._portal = self._token = None
        self._stack = contextlib.ExitStack()


_LOOP = _Loop()


async def run_in_trio(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """`await work(*args)`, from Trio or asyncio. Cancelling the caller cancels the work."""
    if trio.lowlevel.in_trio_task():
        return await work(*args)
    return await asyncio.wrap_future(_LOOP.portal().start_task_soon(work, *args))


def run_in_trio_sync(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """The same for code without a loop; it blocks the thread that calls."""
    if _LOOP.is_here():
        raise RuntimeError("This would wait for itself: await the guard's async method here.")
    return _LOOP.portal().call(work, *args)
