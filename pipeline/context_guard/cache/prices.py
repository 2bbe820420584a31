"""What providers charge for their prompt caches and how long these live, as data.

Multipliers are relative to the price of an input token. Sources, all read 2026-10-06 unless said otherwise: the
original's CACHE.md, which quotes the providers' own pages; figures that another project published; the price list of
Pi 1.6.0; what the original measured. A figure that none of these gives is marked as assumed.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from context_guard.transcript import CacheLife, Model

MINUTE = 60 * 1_000


class CachePrices(Struct, frozen=True, kw_only=True):
    write: float
    """A token written to the cache; 1 where writing costs no more than plain input."""
    read: float
    """A token read from it."""
    ttl_ms: int
    """Since the entry was written or last read."""
    min_tokens: int
    """A shorter prompt is not cached."""
    lookback: int | None = None
    """Positions before a breakpoint in which an entry is found; None where the whole prefix is searched."""
    breakpoints: int = 0
    """At most so many in a request; 0 where there are none."""
    automatic: bool = True
    """Whether the provider caches without being told where."""


class ModelCost(Struct, frozen=True):
    """A host's own price entry, dollars for a million tokens. A cache price of 0 says that there is none of its own."""

    input: float
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    """For the shorter life, where there are two."""


ANTHROPIC = CachePrices(
    write=1.25, read=0.1, ttl_ms=5 * MINUTE, min_tokens=1_024, lookback=20, breakpoints=4, automatic=False
)
"""CACHE.md; the minimum before the 5.5 generation is 1,024 or 4,096 by model (Anthropic's prompt-caching page as
quoted in anthropic-sdk-python#1194): the smaller, since an entry wrongly expected only makes edits rarer."""

ANTHROPIC_5_5 = replace(ANTHROPIC, read=0.05, min_tokens=512)
"""CACHE.md for the minimum and for Opus; Sonnet 5.5 reads at 0.05 in Pi 1.6.0's list, at 0.1 in 1.0.3's."""

HOUR_WRITE = 2.0
HOUR_MS = 60 * MINUTE
"""A mark with a life of one hour on Anthropic. CACHE.md."""

OPENAI_5_6 = CachePrices(write=1.25, read=0.1, ttl_ms=30 * MINUTE, min_tokens=1_024)
"""GPT-5.6 and later: published (write, read, life), CACHE.md (life, read, minimum)."""

OPENAI = CachePrices(write=1.0, read=0.1, ttl_ms=5 * MINUTE, min_tokens=1_024)
"""Before GPT-5.6, published: no charge for writing. Read multiplier and life assumed."""

OPENAI_CODEX = replace(OPENAI, ttl_ms=30 * MINUTE)
"""By subscription: no charge for writing, by the original. An edit loses what follows and in practice
nearly all: 0 or 2,560 tokens were read after it instead of 13,824 (CACHE.md) or of 35k–72k (measured)."""

GEMINI = CachePrices(write=1.0, read=0.1, ttl_ms=5 * MINUTE, min_tokens=4_096)
"""Implicit caching, published: the minimum. The rest assumed."""

OTHER = OPENAI
"""Assumed: a prefix cache like OpenAI's."""


def prices_for(model: Model | None, cost: ModelCost | None = None, life: CacheLife = "5m") -> CachePrices:
    """The rules for this model; multipliers from the host's own prices where it has them.

    `life` is that of the breakpoints, and matters only to providers that have them.
    """
    table = _table(model)
    own = _with_cost(table, cost) if cost is not None and cost.input > 0 else table
    if life == "1h" and table.breakpoints:
        return replace(own, write=own.write * HOUR_WRITE / ANTHROPIC.write, ttl_ms=HOUR_MS)
    return own


def _with_cost(table: CachePrices, cost: ModelCost) -> CachePrices:
    return replace(
        table,
        read=cost.cache_read / cost.input if cost.cache_read > 0 else table.read,
        write=cost.cache_write / cost.input if cost.cache_write > 0 else table.write,
    )


def _table(model: Model | None) -> CachePrices:
    if model is None:
        return OTHER
    name = model.id.lower()
    if model.api == "anthropic-messages" or model.provider == "anthropic":
        return ANTHROPIC_5_5 if re.search(r"(sonnet|opus|haiku)-5[.-]5", name) else ANTHROPIC
    if model.provider == "openai-codex":
        return OPENAI_CODEX
    if version := re.search(r"gpt-(\d+)(?:\.(\d+))?", name):
        return OPENAI_5_6 if (int(version[1]), int(version[2] or 0)) >= (5, 6) else OPENAI
    if "gemini" in name or model.provider.startswith("google"):
        return GEMINI
    return OTHER
