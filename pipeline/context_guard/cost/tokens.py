"""How many characters of a session make a token, and what its system prompt and tools take: from its own usage."""

from math import sqrt

from context_guard.cost.branch import Branch
from context_guard.cost.prompt import Tokens
from context_guard.cost.recording import as_sent, is_request
from context_guard.sizes import CHARS_PER_TOKEN, visible_chars
from context_guard.transcript import Transcript, Usage, shown

PLAUSIBLE = (1.5, 8.0)
"""Characters per token; a fit outside of this is no measurement but a scripted provider's constant."""
LEAST_CORRELATION = 0.9
FEWEST_REQUESTS = 5
MOST_SAMPLES = 60


def fit_tokens(transcript: Transcript) -> Tokens:
    """By least squares over the requests whose usage is recorded; without enough of them 4 characters a token."""
    chars, tokens = _samples(transcript)
    slope, overhead, correlation = _regression(chars, tokens)
    if correlation <= LEAST_CORRELATION or not PLAUSIBLE[0] <= 1 / slope <= PLAUSIBLE[1]:
        told = transcript.overhead_chars
        return Tokens() if told is None else Tokens(overhead=max(Tokens().overhead, told // CHARS_PER_TOKEN))
    first = max(0, round(tokens[0] - chars[0] * slope))
    return Tokens(chars_per_token=1 / slope, overhead=first or max(0, round(overhead)), is_fitted=True)


def prompt_tokens(usage: Usage) -> int:
    return usage.input + usage.cache_read + usage.cache_write


def _samples(transcript: Transcript) -> tuple[list[float], list[float]]:
    """Characters of the context in front of an answer, and the tokens that its provider counted."""
    recording = as_sent("", transcript)
    places = [at for at, it in enumerate(recording.entries) if is_request(it) and it.usage and prompt_tokens(it.usage)]
    if len(places) < FEWEST_REQUESTS:
        return [], []
    wanted = frozenset(places[:: max(1, len(places) // MOST_SAMPLES)])
    branch = Branch(recording, None)
    chars: list[float] = []
    tokens: list[float] = []
    for at, entry in enumerate(recording.entries):
        if at in wanted and entry.usage is not None:
            chars.append(float(sum(map(visible_chars, shown(branch.transcript())))))
            tokens.append(float(prompt_tokens(entry.usage)))
        branch.add(entry)
    return chars, tokens


def _regression(xs: list[float], ys: list[float]) -> tuple[float, float, float]:
    """Slope, intercept, correlation; all 0 where nothing varies."""
    if not xs:
        return 0.0, 0.0, 0.0
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    xx = sum((x - x_mean) ** 2 for x in xs)
    yy = sum((y - y_mean) ** 2 for y in ys)
    xy = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    if xx <= 0 or yy <= 0:
        return 0.0, 0.0, 0.0
    return xy / xx, y_mean - xy / xx * x_mean, xy / sqrt(xx * yy)
