"""What the providers' caches cost, by model and by the host's own price list."""

import pytest

from context_guard.cache import prices
from context_guard.cache.prices import CachePrices, ModelCost, prices_for
from context_guard.transcript import Model

SONNET = Model(provider="anthropic", id="claude-sonnet-5-5", api="anthropic-messages")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (SONNET, prices.ANTHROPIC_5_5),
        (Model("proxy", "anthropic/claude-opus-5.5", "anthropic-messages"), prices.ANTHROPIC_5_5),
        (Model("anthropic", "claude-opus-4-5"), prices.ANTHROPIC),
        (Model("openai", "gpt-5.6-mini"), prices.OPENAI_5_6),
        (Model("openrouter", "openai/gpt-6-luna"), prices.OPENAI_5_6),
        (Model("openai", "gpt-5.5"), prices.OPENAI),
        (Model("openai", "gpt-4o"), prices.OPENAI),
        (Model("openai-codex", "gpt-6-luna", "openai-codex-responses"), prices.OPENAI_CODEX),
        (Model("google", "gemini-3-pro"), prices.GEMINI),
        (Model("local", "qwen"), prices.OTHER),
        (None, prices.OTHER),
    ],
)
def test_a_model_has_the_rules_of_its_provider(model: Model | None, expected: CachePrices) -> None:
    assert prices_for(model) == expected


def test_the_hosts_own_prices_win() -> None:
    """As multiples of its input price; all else stays the provider's."""
    own = prices_for(SONNET, ModelCost(input=2, output=10, cache_read=0.2, cache_write=3))
    assert (own.read, own.write) == (0.1, 1.5)
    assert (own.lookback, own.min_tokens) == (20, 512)


def test_prices_that_say_nothing_leave_the_table() -> None:
    """A free model has no multiples; a cache price of 0 means that the host knows none."""
    assert prices_for(SONNET, ModelCost(input=0, cache_read=1, cache_write=1)) == prices.ANTHROPIC_5_5
    assert prices_for(Model("openai", "gpt-5"), ModelCost(input=1.25, output=10, cache_read=0.125)) == prices.OPENAI


def test_an_hour_costs_twice_the_input_to_write() -> None:
    """Only where breakpoints have a life; a host's price for five minutes grows in proportion."""
    hour = prices_for(SONNET, life="1h")
    assert (hour.write, hour.read, hour.ttl_ms) == (2.0, 0.05, 60 * 60 * 1_000)
    assert prices_for(SONNET, ModelCost(input=2, cache_write=2.5), "1h").write == 2.0
    assert prices_for(None, life="1h") == prices.OTHER
