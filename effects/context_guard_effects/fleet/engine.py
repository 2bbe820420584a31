"""The port to whatever runs a pure call over many items: it only maps, and decides nothing about them."""

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from context_guard_effects.audit.units import Unit

Item = TypeVar("Item")
Done = TypeVar("Done")
Packed = TypeVar("Packed")
Batch = tuple[Item, ...]

BATCH = 100
"""Units of a batch: enough that handing it out costs nothing beside the work."""
BATCH_BYTES = 8_000_000
"""A batch of large sessions ends here. A unit is never divided."""


class Mapped(Struct, Generic[Item, Done, Packed], frozen=True):
    """What is done to every item; nothing of it raises."""

    work: Callable[[Item], Done]
    died: Callable[[Item], Done]
    pack: Callable[[tuple[Done, ...]], Packed]
    """What is made of a batch's outcomes, where they come about."""


Finished = Generator[tuple[Batch[Item], tuple[Done, ...], Packed]]


class Engine(Protocol):
    def map(self, task: "Mapped[Item, Done, Packed]", batches: Iterable[Batch[Item]]) -> "Finished[Item, Done, Packed]":
        """Every batch with what came of its items, in the order in which batches get done.

        Batches are taken a few ahead of the work, however many there are. An item of which a process dies, alone and
        again, comes out as `died` says, and costs no other item. Closing ends the work.
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


def run_batch(task: Mapped[Item, Done, Packed], batch: Batch[Item]) -> tuple[tuple[Done, ...], Packed]:
    outcomes = tuple(map(task.work, batch))
    return outcomes, task.pack(outcomes)


def unpacked(_: object) -> None:
    """Where nothing is made of them."""


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
