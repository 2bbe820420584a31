"""What the session has cost so far and what earlier edits earned: how much a further edit may put at risk.

An edit costs at once and earns over requests that may never come. So at worst it may lose a small share of the bill
so far, or of what earlier edits have won: then no session costs much more than it would without a guard, however soon
it ends. All figures are characters at the price of plain input, from the branch alone.
"""

from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from context_guard.cache.prices import CachePrices
from context_guard.config import Config
from context_guard.records import StoredRecord
from context_guard.sizes import CHARS_PER_TOKEN, visible_chars
from context_guard.transcript import Entry, Transcript

LEAST_CHARS_PER_TOKEN = 2.5
"""Of real sessions: so the bill is rather too small."""


class Ledger(Struct, frozen=True):
    prices: CachePrices
    reads: int
    """Characters in front of every answer, together."""
    total: int
    """Characters of the context."""
    charged: float
    """Tokens at the price of plain input, as the provider counted them, also those of before a compaction."""
    earned: float
    """What the edits so far saved, less what they made the cache write again; below 0 until they have paid."""

    @property
    def bill(self) -> float:
        """All requests so far, by their usage or by the context: each read what was before it, all was written once."""
        by_context = self.reads * self.prices.read + self.total * self.prices.write
        return max(by_context, self.charged * LEAST_CHARS_PER_TOKEN)

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
    return Ledger(prices=prices, reads=reads, total=total, charged=_charged(transcript.entries, prices), earned=earned)


def grow_ledger(ledger: Ledger, new: tuple[Entry, ...], saved: int) -> Ledger:
    """The ledger when these came to the end of the context, none of them an edit's; `saved` is what the edits of
    before save in each request, all of which an answered one has carried."""
    reads, total = ledger.reads, ledger.total
    answers = 0
    for entry in new:
        if _is_answer(entry):
            reads += total
            answers += 1
        total += visible_chars(entry)
    prices = ledger.prices
    return replace(
        ledger,
        reads=reads,
        total=total,
        charged=ledger.charged + _charged(new, prices),
        earned=ledger.earned + answers * saved * prices.read,
    )


def saved_by_carried(transcript: Transcript) -> int | None:
    """What the edits so far save in each request, in characters; None when no answered request has carried the last."""
    saving = [stored for stored in transcript.records if stored.record.saved_chars > 0]
    behind = transcript.entries[saving[-1].at :] if saving else ()
    if saving and not any(_is_answer(entry) and entry.time is not None for entry in behind):
        return None
    return sum(stored.record.saved_chars for stored in saving)


def _charged(entries: tuple[Entry, ...], prices: CachePrices) -> float:
    return sum(
        usage.input + usage.cache_write * prices.write + usage.cache_read * prices.read
        for entry in entries
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
