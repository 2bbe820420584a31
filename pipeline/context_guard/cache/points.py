"""Cache entries that this process saw itself write, and which of them the next request may still read."""

from msgspec import Struct

from context_guard.transcript import Transcript

TTL_MS = 5 * 60 * 1_000
MAX_POINTS = 200


class CachePoint(Struct, frozen=True):
    """A cache entry that ends at a tool result, or at a prompt."""

    entry_id: str
    model: str
    """`provider/id` of the model that wrote it."""
    time: int
    """Milliseconds: when it was written, or last read through."""
    leaf_id: str
    """Last entry of the branch when it was written."""


def trusted_points(
    transcript: Transcript, written: tuple[CachePoint, ...], now: int | None
) -> tuple[tuple[str, int], ...]:
    """Entry id and place on the branch of every point that the next request can count on.

    Written by the same model within the time to live, with nothing changed at or before it since.
    """
    if not written:
        return ()
    places = {entry.id: at for at, entry in enumerate(transcript.entries)}
    model = transcript.model.ref if transcript.model else None
    return tuple(
        (point.entry_id, places[point.entry_id])
        for point in written
        if now is not None
        and point.model == model
        and now - point.time <= TTL_MS
        and unchanged_since(transcript, point, places)
        and transcript.entries[places[point.entry_id]].role in ("tool", "user")
    )


def unchanged_since(transcript: Transcript, point: CachePoint, places: dict[str, int]) -> bool:
    """Whether the prefix up to the point is still what it was when the point was written."""
    if point.entry_id not in places or point.leaf_id not in places:
        return False
    at, leaf = places[point.entry_id], places[point.leaf_id]
    if any(entry.role == "summary" for entry in transcript.entries[leaf + 1 :]):
        return False
    return all(places.get(edit.target, -1) > at for edit in transcript.edits if edit.at > leaf)
