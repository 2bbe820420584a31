"""When a pass takes place."""

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from context_guard.boundary import Boundary
    from context_guard.records import Phase
    from context_guard.transcript import Transcript


def read_moment(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Milliseconds since the epoch, given as such or as ISO 8601."""
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        return int(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        said = f"{value!r} is neither ISO 8601 (2026-12-01T08:00:00Z) nor milliseconds since 1970."
        raise click.BadParameter(said) from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000)


def boundary_at(transcript: "Transcript", phase: "Phase", now: int | None, last_run: bool) -> "Boundary":
    """A session at rest, or a run that goes on after the leaf."""
    from context_guard.boundary import Boundary

    if now is None and phase == "mid-run":
        now = next((entry.time for entry in reversed(transcript.entries) if entry.time is not None), None)
    return Boundary(phase=phase, now=now, every_run=not last_run and phase == "run-end")
