"""The moment at which a host asks for a pass, and what only the host knows about it."""

from msgspec import Struct

from context_guard.cache.points import CachePoint
from context_guard.records import Phase


class Boundary(Struct, frozen=True):
    phase: Phase = "run-end"
    now: int | None = None
    """Milliseconds since the epoch; None when the host has no clock to offer, as for a session at rest."""
    written: tuple[CachePoint, ...] = ()
    """Cache entries that this process saw itself write."""
    has_judge: bool = True
    """Without one, a pass only removes old images."""


RUN_END = Boundary()
MID_RUN = Boundary(phase="mid-run")
