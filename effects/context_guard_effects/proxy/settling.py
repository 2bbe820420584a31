"""Judging in the background: never in the way of a request, and what comes of it holds from a later request on."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import trio
from msgspec.structs import replace

from context_guard_effects.proxy.jobs import Done, Job
from context_guard_effects.proxy.worker import Run

QUEUED = 32
"""Jobs that wait; beside newer ones the oldest is not judged, hence kept."""
QUEUED_BYTES = 128_000_000
WAITING = 32
"""Conversations whose edits wait until the provider's cache has expired."""
ELSEWHERE_MS = 5_000
"""After which a run that another proxy was judging is looked at again: that one may have been lost."""
KNOWN = 4_000
"""Ends of runs that were judged."""

Tell = Callable[[Job, Done], None]
Clock = Callable[[], int]


class Settler:
    def __init__(self, run: Run, now: Clock, tell: Tell, drop: Callable[[], None]) -> None:
        """`now` in milliseconds since the epoch. `tell` hears of every pass, `drop` of every job that
        lost its room: the next prompt of its conversation brings it again, since its run is not known as judged."""
        self._run = run
        self._now = now
        self._tell = tell
        self._drop = drop
        self._queue: deque[Job] = deque()
        self._queued = trio.Event()
        self._waiting: OrderedDict[str, tuple[int, Job]] = OrderedDict()
        self._elsewhere: OrderedDict[str, tuple[int, Job]] = OrderedDict()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._changed = trio.Event()
        self.unfinished = 0
        """Jobs that wait or are being judged."""

    def add(self, job: Job) -> None:
        """Returns at once. A checkpoint that waits gives way to what goes on behind it, and in a burst the oldest job
        to the newest: its conversation is the least likely to go on while the cache is warm."""
        for waiting in [it for it in self._queue if it.phase == "mid-run" and it.head and it.head in job.path]:
            self._queue.remove(waiting)
            self.unfinished -= 1
        if len(job.body) > QUEUED_BYTES:
            self._drop()
            return
        while len(self._queue) >= QUEUED or sum(len(it.body) for it in self._queue) + len(job.body) > QUEUED_BYTES:
            self._queue.popleft()
            self.unfinished -= 1
            self._drop()
        self._queue.append(job)
        self.unfinished += 1
        self._queued.set()

    def knows(self, answer: str) -> bool:
        """Whether the run that this entry ended has been judged here."""
        return answer in self._known

    def came(self, answer: str) -> None:
        """A request goes on behind this entry: the provider's cache is warm again."""
        self._waiting.pop(answer, None)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._work)
            nursery.start_soon(self._wake)

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._queued = trio.Event()
                await self._queued.wait()
            job = self._queue.popleft()
            done = await self._run(job)
            if done.is_elsewhere:
                _keep(self._elsewhere, done.answer, (self._now() + ELSEWHERE_MS, job), WAITING)
                self._changed.set()
            elif done.answer:
                _keep(self._known, done.answer, None, KNOWN)
            if done.waits and job.now is None and done.expires > self._now():
                _keep(self._waiting, done.answer, (done.expires, job), WAITING)
                self._changed.set()
            if not done.is_elsewhere:
                self._tell(job, done)
            self.unfinished -= 1

    async def _wake(self) -> None:
        """Judges again what waits, as soon as an edit costs nothing, and what was being judged elsewhere."""
        while True:
            self._changed = trio.Event()
            due = min((due for due, _ in (*self._waiting.values(), *self._elsewhere.values())), default=None)
            with trio.move_on_after(float("inf") if due is None else max(0, due - self._now()) / 1_000):
                await self._changed.wait()
                continue
            for answer in [answer for answer, (due, _) in self._waiting.items() if due <= self._now()]:
                _, job = self._waiting.pop(answer)
                self.add(replace(job, now=self._now()))
            for answer in [answer for answer, (due, _) in self._elsewhere.items() if due <= self._now()]:
                _, job = self._elsewhere.pop(answer)
                self.add(job)


def _keep(kept: OrderedDict[str, Any], key: str, value: Any, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
