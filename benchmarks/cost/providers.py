"""The providers' prompt caches, simulated: what a request reads, writes and pays for in full."""

from abc import ABC, abstractmethod

from benchmarks.cost.prompt import Prompt
from msgspec import Struct

from context_guard.cache.prices import CachePrices, ModelCost, prices_for
from context_guard.transcript import Model, Usage

STEP = 128
"""OpenAI caches in steps of so many tokens from its minimum on."""


class Provider(Struct, frozen=True):
    """A model with its provider's rules and price."""

    name: str
    model: Model
    input_price: float
    """Dollars for a million tokens of plain input."""
    cost: ModelCost | None = None

    @property
    def prices(self) -> CachePrices:
        return prices_for(self.model, self.cost)

    def dollars(self, usage: Usage) -> float:
        """The input side of one request; what the model writes costs the same with a guard and without."""
        prices = self.prices
        tokens = usage.input + usage.cache_write * prices.write + usage.cache_read * prices.read
        return tokens * self.input_price / 1e6

    def new_cache(self) -> "Cache":
        match self.model.provider:
            case "anthropic":
                return MarkedCache(self.prices)
            case "openai-codex":
                return ContinuedCache(self.prices)
            case "openai":
                return PrefixCache(self.prices, STEP)
            case _:
                return PrefixCache(self.prices, 1)


PROVIDERS = (
    Provider("Anthropic, read 0.1", Model("anthropic", "claude-sonnet-4-5", "anthropic-messages"), 3.0),
    Provider("Anthropic, read 0.05", Model("anthropic", "claude-sonnet-5-5", "anthropic-messages"), 2.0),
    Provider("OpenAI ≥ 5.6", Model("openai", "gpt-5.6", "openai-responses"), 1.25),
    Provider("OpenAI before", Model("openai", "gpt-5.1", "openai-responses"), 1.25),
    Provider("Codex", Model("openai-codex", "gpt-6-luna", "openai-codex-responses"), 0.10),
    Provider("Gemini implicit", Model("google", "gemini-2.5-pro", "google-generative-ai"), 1.25),
)
"""Prices: Sonnet 5.5 and Luna as in `spec/behaviour.md` M3, Sonnet 4.5's list price; the other three are assumed. They
scale the dollars of a row and leave its percentage alone."""


class Cache(ABC):
    """One provider's cache of one conversation."""

    def __init__(self, prices: CachePrices) -> None:
        self._prices = prices
        self._expires: dict[int, int] = {}

    @abstractmethod
    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        """The bill of a request with marks at these blocks; what it writes and reads lives on from now."""

    def _longest(self, prompt: Prompt, start: int, end: int, now: int) -> int | None:
        """The last block in start … end whose prefix the cache holds."""
        return next(
            (place for place in range(end, start - 1, -1) if self._expires.get(prompt.prefixes[place], -1) >= now), None
        )

    def _refresh(self, prompt: Prompt, end: int, now: int) -> None:
        """Reading a prefix keeps the shorter entries in it alive: measured, behaviour.md M3."""
        for prefix in prompt.prefixes[: end + 1]:
            if self._expires.get(prefix, -1) >= now:
                self._expires[prefix] = now + self._prices.ttl_ms

    def _bill(self, prompt: Prompt, read: float, cached: float) -> Usage:
        """`cached` tokens are in the cache afterwards, `read` of them came from it."""
        written = max(0.0, cached - read)
        return Usage(input=round(prompt.total - read - written), cache_read=round(read), cache_write=round(written))


class MarkedCache(Cache):
    """Anthropic: entries end at marks and are found up to 20 positions in front of one."""

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        found = [place for mark in marks if (place := self._find(prompt, mark, now)) is not None]
        read = max(found, default=None)
        if read is not None:
            self._refresh(prompt, read, now)
        for mark in marks:
            if prompt.tokens[mark] >= self._prices.min_tokens:
                self._expires[prompt.prefixes[mark]] = now + self._prices.ttl_ms
        last = prompt.tokens[marks[-1]] if marks else 0.0
        return self._bill(
            prompt,
            prompt.tokens[read] if read is not None else 0.0,
            last if last >= self._prices.min_tokens else 0.0,
        )

    def _find(self, prompt: Prompt, mark: int, now: int) -> int | None:
        first = mark
        while first > 0 and prompt.positions[mark] - prompt.positions[first - 1] <= (self._prices.lookback or 0):
            first -= 1
        return self._longest(prompt, first, mark, now)


class PrefixCache(Cache):
    """OpenAI and Gemini: the longest common beginning with any request that is still remembered."""

    def __init__(self, prices: CachePrices, step: int) -> None:
        super().__init__(prices)
        self._step = step

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        place = self._longest(prompt, 0, len(prompt.prefixes) - 1, now)
        common = prompt.tokens[place] if place is not None else 0.0
        read = common // self._step * self._step if common >= self._prices.min_tokens else 0.0
        for prefix in prompt.prefixes:
            self._expires[prefix] = now + self._prices.ttl_ms
        return self._bill(prompt, read, prompt.total if prompt.total >= self._prices.min_tokens else 0.0)


class ContinuedCache(PrefixCache):
    """Codex: a request that continues the one before reads it; after an edit nothing is read.

    Measured were 0 or 2,560 tokens (behaviour.md M3); this is the worse one.
    """

    def __init__(self, prices: CachePrices) -> None:
        super().__init__(prices, STEP)
        self._before: int | None = None

    def send(self, prompt: Prompt, marks: tuple[int, ...], now: int) -> Usage:
        if self._before is not None and self._before not in prompt.prefixes:
            self._expires.clear()
        self._before = prompt.prefixes[-1]
        return super().send(prompt, marks, now)
