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
    model = transcript.model.ref if transcript.model else None
    fresh = tuple(point for point in written if now is not None and point.model == model and now - point.time <= TTL_MS)
    return tuple(
        (point.entry_id, place)
        for point, place in unchanged_points(transcript, fresh)
        if transcript.entries[place].role in ("tool", "user")
    )


def unchanged_points(transcript: Transcript, points: tuple[CachePoint, ...]) -> tuple[tuple[CachePoint, int], ...]:
    """The points, each with its place, up to which the prefix is still what it was when they were written."""
    if not points:
        return ()
    entries = transcript.entries
    places = {entry.id: at for at, entry in enumerate(entries)}
    summary = next((at for at in range(len(entries) - 1, -1, -1) if entries[at].role == "summary"), -1)
    edits = tuple((edit.at, places.get(edit.target, -1)) for edit in transcript.edits)
    return tuple(
        (point, places[point.entry_id])
        for point in points
        if point.entry_id in places
        and summary <= places.get(point.leaf_id, -1)
        and point.leaf_id in places
        and all(target > places[point.entry_id] for at, target in edits if at > places[point.leaf_id])
    )
