"""The log of edits as requests need it: at once, and also when the store cannot be asked."""

from collections import OrderedDict
from collections.abc import Callable

import trio

from context_guard.edit_log import LoggedPass, Omitted, Replaced
from context_guard_effects.store import Store, StoreError

WAIT_SECONDS = 2.0
"""How long a request waits for the store."""
PAUSE_SECONDS = 10.0
"""After the store has failed, how long it is not asked again."""
THREADS = 8
"""That ask the store at once: one that hangs takes no thread from anything else."""
REMEMBERED = 4_000
"""Passes, the latest used."""


class AppliedLog:
    """What was once applied stays applied: a copy of the passes that the store has given answers for it where it
    cannot, so that a conversation's prefix keeps its bytes. A pass that no request has carried yet may wait."""

    def __init__(self, store: Store, tell: Callable[[str], None]) -> None:
        self._store = store
        self._tell = tell
        self._passes: OrderedDict[int, LoggedPass] = OrderedDict()
        self._not_before = 0.0
        self._limiter = trio.CapacityLimiter(THREADS)

    async def find(self, ids: tuple[str, ...]) -> tuple[LoggedPass, ...]:
        """Never raises, and never takes much longer than WAIT_SECONDS."""
        if trio.current_time() < self._not_before:
            return self._remembered(ids)
        found: tuple[LoggedPass, ...] | None = None
        said = f"it has not answered for {WAIT_SECONDS:g} seconds"
        with trio.move_on_after(WAIT_SECONDS):
            try:
                found = await trio.to_thread.run_sync(
                    self._store.find, ids, abandon_on_cancel=True, limiter=self._limiter
                )
            except StoreError as error:
                said = error.message
        if found is None:
            self._not_before = trio.current_time() + PAUSE_SECONDS
            self._tell(f"the store cannot be read, so only known edits are applied: {said}")
            return self._remembered(ids)
        self._remember(found)
        return found

    def _remember(self, passes: tuple[LoggedPass, ...]) -> None:
        for logged in passes:
            self._passes[logged.seq] = logged
            self._passes.move_to_end(logged.seq)
        while len(self._passes) > REMEMBERED:
            self._passes.popitem(last=False)

    def _remembered(self, ids: tuple[str, ...]) -> tuple[LoggedPass, ...]:
        wanted = frozenset(ids)
        found = (logged for logged in self._passes.values() if not wanted.isdisjoint(_targets(logged)))
        return tuple(sorted(found, key=lambda logged: logged.seq))


def _targets(logged: LoggedPass) -> list[str]:
    """Also the user's words: a pin takes an edit back."""
    kinds = (Replaced, Omitted)
    return [edit.target for edit in logged.edits if isinstance(edit, kinds) or not logged.witness]
