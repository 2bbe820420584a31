"""A remote judge on loopback in a thread of its own, as slow as a test wants it."""

import threading
from types import TracebackType
from typing import Self

import trio

from context_guard_effects.testing.fake_system_one import KEY, FakeSystemOne, fake_system_one

_START_SECONDS = 10.0


class SlowJudge:
    """`with SlowJudge(delay=1.5) as judge`: `judge.variables` is the environment of who shall ask it as `jev`."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._started = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,), daemon=True)
        self.server: FakeSystemOne

    @property
    def variables(self) -> dict[str, str]:
        return {"TYPESAFE_BASE_URL": self.server.url, "TYPESAFE_API_KEY": KEY}

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(_START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(_START_SECONDS)

    async def _run(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with fake_system_one(answers=_wants_little) as self.server:
            self.server.delay = self._delay
            with trio.CancelScope() as self._scope:
                self._started.set()
                await trio.sleep_forever()


def _wants_little(name: str, question: dict[str, object]) -> float | str:
    """The first part of an output, and nothing else."""
    wanted: dict[str, float | str] = {"chunk_1": 0.9, "focus": "chunk_1"}
    return wanted.get(name, 0.05)
