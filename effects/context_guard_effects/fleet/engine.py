"""The port to whatever runs a pure call over many items: it only maps, and decides nothing about them."""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Protocol, TypeVar

from context_guard_effects.audit.units import Unit

Item = TypeVar("Item")
Done = TypeVar("Done")
Batch = tuple[Item, ...]

BATCH = 100
"""Units of a batch: enough that handing it out costs nothing beside the work."""
BATCH_BYTES = 8_000_000
"""A batch of large sessions ends here. A unit is never divided."""


class Engine(Protocol):
    def map(
        self, work: Callable[[Item], Done], batches: Iterable[Batch[Item]], died: Callable[[Item], Done]
    ) -> Generator[tuple[Batch[Item], tuple[Done, ...]]]:
        """Every batch with what came of its items, in the order in which batches get done.

        Batches are taken a few ahead of the work, however many there are. `work` does not raise. An item of which a
        process dies, alone and again, comes out as `died` says, and costs no other item. Closing ends the work.
        """
        ...


class FleetError(Exception):
    """What the engine, the place or the table cannot do, and what to do about it, on one line."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Unlisted(FleetError):
    """A place of sessions that cannot be opened."""


class Unreachable(FleetError):
    """No cluster, or none that could do the work."""


def run_batch(work: Callable[[Item], Done], batch: Batch[Item]) -> tuple[Done, ...]:
    return tuple(map(work, batch))


def cut_batches(units: Iterable[Unit]) -> Iterator[Batch[Unit]]:
    """The same units in the same order give the same batches."""
    batch: list[Unit] = []
    size = 0
    for unit in units:
        if batch and (len(batch) == BATCH or size + unit.size > BATCH_BYTES):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(unit)
        size += unit.size
    if batch:
        yield tuple(batch)
