"""What the session has cost so far and what earlier edits earned: how much a further edit may put at risk.

An edit costs at once and earns over requests that may never come. So at worst it may lose a small share of the bill
so far, or of what earlier edits have won: then no session costs much more than it would without a guard, however soon
it ends. All figures are characters at the price of plain input, from the branch alone.
"""

from itertools import accumulate

from msgspec import Struct

from context_guard.cache.prices import CachePrices
from context_guard.config import Config
from context_guard.records import StoredRecord
from context_guard.sizes import CHARS_PER_TOKEN, visible_chars
from context_guard.transcript import Entry, Transcript

LEAST_CHARS_PER_TOKEN = 2.5
"""Of real sessions: so the bill is rather too small."""


class Ledger(Struct, frozen=True):
    bill: float
    """All requests so far, by their usage, or by the context: each read what was before it, all was written once."""
    earned: float
    """What the edits so far saved, less what they made the cache write again; below 0 until they have paid."""

    def at_risk(self, config: Config) -> float:
        """What the next request may cost more."""
        won = self.earned * (config.risk_of_earnings if self.earned > 0 else 1)
        return max(0.0, config.risk_of_bill * self.bill + won)


def read_ledger(transcript: Transcript, chars: tuple[int, ...], prices: CachePrices) -> Ledger:
    """`chars`: what each entry of the context takes."""
    *before, total = accumulate(chars, initial=0)
    reads = sum(
        read for read, index in zip(before, transcript.context, strict=True) if _is_answer(transcript.entries[index])
    )
    earned = sum(_earned(transcript, stored, prices) for stored in transcript.records if stored.record.saved_chars > 0)
    shown_bill = reads * prices.read + total * prices.write
    return Ledger(bill=max(shown_bill, _charged(transcript, prices) * LEAST_CHARS_PER_TOKEN), earned=earned)


def _charged(transcript: Transcript, prices: CachePrices) -> float:
    """Tokens at the price of plain input, as the provider counted them, also those of before a compaction."""
    return sum(
        usage.input + usage.cache_write * prices.write + usage.cache_read * prices.read
        for entry in transcript.entries
        if (usage := entry.usage) is not None
    )


def _earned(transcript: Transcript, stored: StoredRecord, prices: CachePrices) -> float:
    """One pass: what it saved in each request since, less what the first of them wrote again."""
    saved = stored.record.saved_chars
    since = sum(1 for entry in transcript.entries[stored.at :] if _is_answer(entry))
    if since == 0:
        return 0.0
    if _was_cold(transcript, stored, prices):
        return saved * (prices.write + (since - 1) * prices.read)
    again = _written_again(transcript, stored, prices)
    return saved * since * prices.read - again * (prices.write - prices.read)


def _written_again(transcript: Transcript, stored: StoredRecord, prices: CachePrices) -> float:
    """What the first request after the pass wrote beyond what was new in it, by its usage where the host tells."""
    entries = transcript.entries
    answered = next(place for place in range(stored.at, len(entries)) if _is_answer(entries[place]))
    usage = entries[answered].usage
    if usage is not None and usage.input + usage.cache_read + usage.cache_write:
        before = next((place for place in range(stored.at, -1, -1) if _is_answer(entries[place])), 0)
        fresh = sum(map(visible_chars, entries[before:answered]))
        return max(0.0, (usage.input + usage.cache_write) * CHARS_PER_TOKEN - fresh)
    return _behind_first_change(transcript, stored)


def _behind_first_change(transcript: Transcript, stored: StoredRecord) -> int:
    """From the first entry that the pass changed up to its record, as it is now."""
    targets = {
        target
        for result in stored.record.results
        if result.outcome != "kept"
        for target in (result.entry_id, *(result.omitted or ()))
    }
    entries = transcript.entries[: stored.at]
    first = next((place for place, entry in enumerate(entries) if entry.id in targets), stored.at)
    return sum(map(visible_chars, entries[first:]))


def _was_cold(transcript: Transcript, stored: StoredRecord, prices: CachePrices) -> bool:
    before = [entry.time for entry in transcript.entries[: stored.at] if _is_answer(entry) and entry.time is not None]
    after = (entry.time for entry in transcript.entries[stored.at :] if _is_answer(entry) and entry.time is not None)
    return bool(before) and next(after, max(before)) - max(before) > prices.ttl_ms


def _is_answer(entry: Entry) -> bool:
    return entry.role == "assistant" and entry.visible is not None
