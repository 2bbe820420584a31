"""The log of written cache entries: what a request adds to it, and whose time an answer moves on."""

from collections import Counter
from itertools import accumulate

from msgspec.structs import replace

from context_guard.cache.anchors import last_call
from context_guard.cache.marks import Body, marked_results, normal_id
from context_guard.cache.points import MAX_POINTS, TTL_MS, CachePoint, unchanged_points
from context_guard.sizes import visible_chars
from context_guard.transcript import Model, Transcript, Usage, shown

CHARS_PER_TOKEN_LEAST = 1.5
"""Code and logs run at about 2.3 characters a token, prose at 4: with this, the tokens of a text are over-estimated."""


def log_points(
    transcript: Transcript,
    written: tuple[CachePoint, ...],
    body: Body,
    now: int,
    model: Model,
    ttl_ms: int = TTL_MS,
) -> tuple[CachePoint, ...]:
    """The log after a request with this body was sent: its marked results added, the expired and the oldest dropped."""
    leaf = transcript.head or (transcript.entries[-1].id if transcript.entries else "")
    marked = tuple(map(normal_id, marked_results(body)))
    entries = _entries_of_calls(transcript, frozenset(marked))
    found = (entries.get(call_id) for call_id in marked)
    added = [CachePoint(entry_id, model.ref, now, leaf) for entry_id in found if entry_id is not None]
    again = {(point.entry_id, point.model, point.leaf_id) for point in added}
    kept = [
        point
        for point in written
        if now - point.time <= ttl_ms and (point.entry_id, point.model, point.leaf_id) not in again
    ]
    return (*kept, *added)[-MAX_POINTS:]


def refresh_points(
    transcript: Transcript,
    written: tuple[CachePoint, ...],
    request_time: int,
    usage: Usage,
    model: Model,
) -> tuple[CachePoint, ...]:
    """The log after an answer: a request that read far past an entry has refreshed it, as of when it was sent.

    `model` answered; the transcript is the branch that was sent. Counted as read past: at least the run's baseline
    and the text from the question up to the entry, its tokens over-estimated. With any doubt nothing moves.
    """
    baseline = run_baseline(transcript)
    if baseline is None or not usage.cache_read > baseline > 0:
        return written
    reach = _chars_after_question(transcript)
    read = tuple(
        point
        for point in written
        if point.model == model.ref
        and point.time < request_time
        and point.entry_id in reach
        and usage.cache_read >= baseline + reach[point.entry_id] / CHARS_PER_TOKEN_LEAST
    )
    moved = frozenset(point for point, _ in unchanged_points(transcript, read))
    return tuple(replace(point, time=request_time) if point in moved else point for point in written)


def run_baseline(transcript: Transcript) -> int | None:
    """Tokens of the run's first request, by the usage of the first answer after the last prompt or steering message."""
    entries = transcript.entries
    last = next((at for at in range(len(entries) - 1, -1, -1) if entries[at].role == "user"), -1)
    first = next((entry for entry in entries[last + 1 :] if entry.role == "assistant"), None)
    if first is None or first.usage is None:
        return None
    return first.usage.input + first.usage.cache_read + first.usage.cache_write


def _chars_after_question(transcript: Transcript) -> dict[str, int]:
    """For each entry behind the last prompt in sight: characters from there up to the entry's end."""
    context = shown(transcript)
    users = [place for place, entry in enumerate(context) if entry.role == "user" and entry.visible is not None]
    after = context[users[-1] + 1 :] if users else context
    return dict(zip((entry.id for entry in after), accumulate(map(visible_chars, after)), strict=True))


def _entries_of_calls(transcript: Transcript, wanted: frozenset[str]) -> dict[str, str]:
    """Wanted normal call id → the entry that ends with its result. An id that stands twice names nothing."""
    if not wanted:
        return {}
    ends = [
        (name, entry.id)
        for entry in transcript.entries
        if entry.raw and (call_id := last_call(entry)) is not None and (name := normal_id(call_id)) in wanted
    ]
    times = Counter(call_id for call_id, _ in ends)
    return {call_id: entry_id for call_id, entry_id in ends if times[call_id] == 1}
