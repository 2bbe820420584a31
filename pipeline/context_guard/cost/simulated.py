"""The providers' prompt caches, simulated: what a request reads, writes and pays for in full."""

from typing import Protocol

from context_guard.cache.prices import CachePrices
from context_guard.cost.prompt import Prompt
from context_guard.transcript import Model, Usage

STEP = 128
"""OpenAI caches in steps of so many tokens from its minimum on."""


class Cache(Protocol):
    """One provider's cache of one conversation."""

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        """The bill of a request with marks at these blocks; what it writes and reads lives on from now."""
        ...


def new_cache(model: Model, prices: CachePrices) -> Cache:
    """An empty cache of the kind that this model's provider keeps."""
    if prices.breakpoints:
        return MarkedCache(prices)
    if model.provider == "openai-codex":
        return ContinuedCache(prices)
    return PrefixCache(prices, STEP if model.provider == "openai" else 1)


class MarkedCache:
    """Anthropic: entries end at marks and are found up to 20 positions in front of one."""

    def __init__(self, prices: CachePrices) -> None:
        self._prices = prices
        self._entries = _Entries(prices.ttl_ms)

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        found = [place for mark in marks if (place := self._find(prompt, mark, now)) is not None]
        read = max(found, default=None)
        if read is not None:
            self._entries.refresh(prompt, read, now)
        for mark in marks:
            if prompt.tokens[mark] >= self._prices.min_tokens:
                self._entries.add(prompt.prefixes[mark], now)
        last = prompt.tokens[marks[-1]] if marks else 0.0
        return _bill(
            prompt,
            prompt.tokens[read] if read is not None else 0.0,
            last if last >= self._prices.min_tokens else 0.0,
        )

    def _find(self, prompt: Prompt, mark: int, now: int) -> int | None:
        first = mark
        while first > 0 and prompt.positions[mark] - prompt.positions[first - 1] <= (self._prices.lookback or 0):
            first -= 1
        return self._entries.longest(prompt, first, mark, now)


class PrefixCache:
    """OpenAI and Gemini: the longest common beginning with any request that is still remembered."""

    def __init__(self, prices: CachePrices, step: int) -> None:
        self._prices = prices
        self._step = step
        self._entries = _Entries(prices.ttl_ms)

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        place = self._entries.longest(prompt, 0, len(prompt.prefixes) - 1, now)
        common = prompt.tokens[place] if place is not None else 0.0
        read = common // self._step * self._step if common >= self._prices.min_tokens else 0.0
        for prefix in prompt.prefixes:
            self._entries.add(prefix, now)
        return _bill(prompt, read, prompt.total if prompt.total >= self._prices.min_tokens else 0.0)


class ContinuedCache:
    """Codex: a request that continues the one before reads it; after an edit nothing is read.

    Measured were 0 or 2,560 tokens (behaviour.md M3); this is the worse one.
    """

    def __init__(self, prices: CachePrices) -> None:
        self._prices = prices
        self._continued = PrefixCache(prices, STEP)
        self._before: int | None = None

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        if self._before is not None and self._before not in prompt.prefixes:
            self._continued = PrefixCache(self._prices, STEP)
        self._before = prompt.prefixes[-1]
        return self._continued.send(prompt, marks, now)


class _Entries:
    """Prefixes that a cache holds, each until it expires."""

    def __init__(self, ttl_ms: int) -> None:
        self._ttl_ms = ttl_ms
        self._expires: dict[int, int] = {}

    def add(self, prefix: int, now: int) -> None:
        self._expires[prefix] = now + self._ttl_ms

    def longest(self, prompt: Prompt, start: int, end: int, now: int) -> int | None:
        """The last block in start … end whose prefix is held."""
        return next((place for place in range(end, start - 1, -1) if self._holds(prompt.prefixes[place], now)), None)

    def refresh(self, prompt: Prompt, end: int, now: int) -> None:
        """Reading a prefix keeps the shorter entries in it alive: measured, behaviour.md M3."""
        for prefix in prompt.prefixes[: end + 1]:
            if self._holds(prefix, now):
                self.add(prefix, now)

    def _holds(self, prefix: int, now: int) -> bool:
        return self._expires.get(prefix, -1) >= now


def _bill(prompt: Prompt, read: float, cached: float) -> Usage:
    """`cached` tokens are in the cache afterwards, `read` of them came from it."""
    written = max(0.0, cached - read)
    return Usage(input=round(prompt.total - read - written), cache_read=round(read), cache_write=round(written))
