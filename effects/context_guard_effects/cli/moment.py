"""When a pass takes place."""

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from context_guard.boundary import Boundary
    from context_guard.records import Phase
    from context_guard.transcript import Transcript

EARLIEST = 946_684_800_000
LATEST = 4_102_444_800_000
"""No agent has run before 2000; what lies outside of the two, in milliseconds, is a slip of the hand."""


def read_moment(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch, given as such or as ISO 8601."""
    if value is None:
        return None
    try:
        found = _milliseconds(value)
    except (ValueError, OverflowError) as error:
        said = f"{value!r} is neither ISO 8601 (2026-12-01T08:00:00Z) nor milliseconds since 1970."
        raise click.BadParameter(said) from error
    if not EARLIEST <= found < LATEST:
        unit = (
            " It looks like seconds: milliseconds have three digits more." if EARLIEST <= found * 1_000 < LATEST else ""
        )
        raise click.BadParameter(f"{value!r} is no time between the years 2000 and 2100.{unit}")
    return found


def _milliseconds(value: str) -> int:
    with contextlib.suppress(ValueError):
        return int(value)
    moment = datetime.fromisoformat(value)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000)


def boundary_at(transcript: "Transcript", phase: "Phase", now: int | None, last_run: bool) -> "Boundary":
    """A session at rest, or a run that goes on after the leaf."""
    from context_guard.boundary import Boundary

    if now is None and phase == "mid-run":
        now = next((entry.time for entry in reversed(transcript.entries) if entry.time is not None), None)
    return Boundary(phase=phase, now=now, every_run=not last_run and phase == "run-end")
