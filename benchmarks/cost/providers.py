"""The providers whose rules the benchmark goes by."""

from context_guard.cost.provider import Provider
from context_guard.transcript import Model

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
