"""Dollars for a million tokens of plain input, by the models' own names: what an audit reckons with unless told.

Every row names where its price was read. A model that is not here has no price: an audit then gives shares and no
dollars. Prices are those of a short prompt: some makers take more for all of a prompt that is longer than 100,000,
200,000 or 272,000 tokens, and a reduced price may end.
"""

import re
from collections.abc import Mapping

from context_guard.transcript import Model

PI = "the price list of Pi 1.6.0 (@earendil-works/pi-ai, providers/*.models.js)"
ANTHROPIC_PAGE = "docs.anthropic.com/en/docs/about-claude/pricing, as of Claude Opus 4.1"
OPENAI_PAGE = "developers.openai.com/api/docs/models/gpt-5-codex"
LITELLM = "LiteLLM 1.110.2, model_prices_and_context_window, which cites OpenAI's page of each of these models"

LIST_PRICES: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = (
    (
        PI,
        (
            *(("claude-fable-5", 10.0), ("claude-fable-5-1", 10.0), ("claude-fable-5-2", 8.0)),
            *(("claude-opus-4-5", 5.0), ("claude-opus-4-6", 5.0), ("claude-opus-4-7", 5.0), ("claude-opus-4-8", 5.0)),
            *(("claude-opus-5", 5.0), ("claude-opus-5-5", 4.0)),
            *(("claude-sonnet-4-5", 3.0), ("claude-sonnet-4-6", 3.0)),
            *(("claude-sonnet-5", 2.0), ("claude-sonnet-5-5", 2.0)),
            *(("claude-haiku-4-5", 1.0), ("claude-haiku-5-5", 0.10)),
            *(("gpt-4o", 2.5), ("gpt-4o-2024-05-13", 5.0), ("gpt-4o-mini", 0.15)),
            *(("gpt-4.1", 2.0), ("gpt-4.1-mini", 0.40), ("gpt-4.1-nano", 0.10)),
            *(("o3", 2.0), ("o4-mini", 1.1)),
            *(("gpt-5", 1.25), ("gpt-5-mini", 0.25), ("gpt-5-nano", 0.05), ("gpt-5-chat", 1.25)),
            *(("gpt-5.1", 1.25), ("gpt-5.2", 1.75), ("gpt-5.3-codex", 1.75)),
            *(("gpt-5.4", 2.5), ("gpt-5.4-mini", 0.75), ("gpt-5.4-nano", 0.20), ("gpt-5.5", 5.0)),
            *(("gpt-5.6-luna", 0.20), ("gpt-5.6-terra", 2.0), ("gpt-5.6-sol", 4.0)),
            *(("gpt-6-luna", 0.10), ("gpt-6-sol", 2.0), ("gpt-6-astra", 10.0)),
            *(("gpt-6.1-terra", 1.0), ("gpt-6.1-sol", 2.0), ("gpt-6.2-sol", 2.0), ("gpt-6.2-astra", 8.0)),
            *(("gemini-2.5-pro", 1.25), ("gemini-2.5-flash", 0.30), ("gemini-2.5-flash-lite", 0.10)),
            *(("gemini-3-flash-preview", 0.50), ("gemini-3.1-pro-preview", 2.0), ("gemini-3.1-flash-lite", 0.25)),
            *(("gemini-3.5-flash", 1.5), ("gemini-3.5-flash-lite", 0.30)),
            *(("gemini-3.6-flash", 0.75), ("gemini-3.7-flash", 0.75), ("gemini-3.8-flash", 0.75)),
        ),
    ),
    (
        ANTHROPIC_PAGE,
        (
            *(("claude-opus-4", 15.0), ("claude-opus-4-0", 15.0), ("claude-opus-4-1", 15.0)),
            *(("claude-sonnet-4", 3.0), ("claude-sonnet-4-0", 3.0)),
            *(("claude-3-7-sonnet", 3.0), ("claude-3-5-sonnet", 3.0), ("claude-3-5-haiku", 0.80)),
        ),
    ),
    (OPENAI_PAGE, (("gpt-5-codex", 1.25),)),
    (
        LITELLM,
        (
            *(("gpt-5.1-codex", 1.25), ("gpt-5.1-codex-max", 1.25), ("gpt-5.1-codex-mini", 0.25)),
            *(("gpt-5.1-chat", 1.25), ("gpt-5.2-codex", 1.75)),
        ),
    ),
)

_PRICES = {name.replace(".", "-"): price for _, rows in LIST_PRICES for name, price in rows}
_BEFORE = re.compile(r"^.*(?=claude-|gpt-|gemini-|\bo\d)")
_BEHIND = re.compile(r"(?:[-@]\d{8}|-\d{4}-\d\d-\d\d|-latest|-v\d+(?::\d+)?)+$")
"""What gateways and dates put around a model's own name: `us.anthropic.claude-…-20250929-v1:0`, `openai/gpt-5-…`."""


def list_price(model: Model | None, own: Mapping[str, float]) -> float | None:
    """`own` holds the user's prices by the name of the model, or by a part of it; the longest that fits wins."""
    if model is None:
        return None
    fitting = [name for name in own if name.lower() in model.ref.lower()]
    if fitting:
        return own[max(fitting, key=len)]
    name = _BEFORE.sub("", model.id.lower()).replace(".", "-")
    return _PRICES.get(name, _PRICES.get(_BEHIND.sub("", name)))
