"""The moment at which a host asks for a pass, and what only the host knows about it."""

from msgspec import Struct

from context_guard.cache.points import CachePoint
from context_guard.cache.prices import ModelCost
from context_guard.records import Phase


class Boundary(Struct, frozen=True):
    phase: Phase = "run-end"
    now: int | None = None
    """Milliseconds since the epoch. None for a session at rest, whose cache has expired; a live host has to give it."""
    written: tuple[CachePoint, ...] = ()
    """Cache entries that this process saw itself write."""
    cost: ModelCost | None = None
    """The host's own prices for the model."""
    every_run: bool = False
    """Judge every finished run of the branch by its own answer, not only the last: for a session at rest."""
    has_judge: bool = True
    """Without one, a pass only removes old images."""


RUN_END = Boundary()
MID_RUN = Boundary(phase="mid-run")
