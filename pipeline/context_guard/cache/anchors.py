"""Where the first request after an edit may read the cache, and where it should write for the next edit."""

from msgspec import Struct

from context_guard.cache.points import CachePoint, trusted_points
from context_guard.memory import pending_edits
from context_guard.transcript import Entry, ToolResult, Transcript

BESIDE = ("meta", "note", "summary")
"""Entries that do not end a batch of tool results: the host adds them between messages."""


class Anchors(Struct, frozen=True):
    """Ids of tool calls at whose results the request should carry a cache mark; None for none."""

    read: str | None = None
    """The latest result in front of all that was edited whose cache entry can be counted on."""
    prompt: str | None = None
    """Id of the entry of a prompt that is such a place, later than any result."""
    write: str | None = None
    """The end of the batch that holds the first edited result: a later edit then has a place to read from."""


def cache_anchors(transcript: Transcript, written: tuple[CachePoint, ...], now: int | None) -> Anchors:
    """For a request that carries edits which no answered request has carried yet; without such edits, none."""
    targets = frozenset(pending_edits(transcript))
    edited = [at for at, entry in enumerate(transcript.entries) if entry.id in targets] if targets else []
    if not edited:
        return Anchors()
    first = min(edited)
    before = [place for _, place in trusted_points(transcript, written, now) if place < first]
    write = _batch_end(transcript, first)
    if not before:
        return Anchors(write=write)
    latest = transcript.entries[max(before)]
    if latest.role == "user":
        return Anchors(prompt=latest.id, write=write)
    return Anchors(read=end_of_results(transcript, max(before)), write=write)


def end_of_results(transcript: Transcript, place: int) -> str | None:
    """Id of the call that the last tool result of this entry answers."""
    return last_call(transcript.entries[place])


def last_call(entry: Entry) -> str | None:
    for block in reversed(entry.raw):
        if isinstance(block, ToolResult):
            return block.call_id
    return None


def _batch_end(transcript: Transcript, first: int) -> str | None:
    """The last result still shown among those that follow each other from here; None when this is no result."""
    end = None
    for place in range(first, len(transcript.entries)):
        entry = transcript.entries[place]
        if entry.role == "tool":
            end = place if entry.visible is not None else end
        elif entry.role not in BESIDE or place == first:
            break
    return None if end is None else end_of_results(transcript, end)
