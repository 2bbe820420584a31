"""A recording at other times: what its session would have met in the provider's cache."""

from msgspec.structs import replace

from context_guard.cost.recording import MINUTE, Recording, is_prompt
from context_guard.runs import is_queued


def warm(recording: Recording) -> Recording:
    """With no more than a minute between any two entries: the cache never expires."""
    return _with_gaps(recording, None)


def prompts_apart(recording: Recording, minutes: int) -> Recording:
    """With every prompt so long after the answer before it, and no more than a minute between all else."""
    return _with_gaps(recording, minutes * MINUTE)


def _with_gaps(recording: Recording, between_prompts: int | None) -> Recording:
    times: list[int] = []
    before = now = None
    for place, entry in enumerate(recording.entries):
        at = entry.time if entry.time is not None else (before or 0)
        if before is None or now is None:
            before = now = at
        elif is_queued(recording.entries, place) and entry.role == "user":
            times.append(now + max(at - before, -MINUTE))
            continue
        else:
            gap = min(max(at - before, 0), MINUTE)
            if between_prompts is not None and is_prompt(recording.entries, place):
                gap = between_prompts
            before, now = max(before, at), now + gap
        times.append(now)
    entries = (replace(entry, time=time) for entry, time in zip(recording.entries, times, strict=True))
    return replace(recording, entries=tuple(entries))
