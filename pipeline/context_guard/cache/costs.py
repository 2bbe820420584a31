"""What an edit costs and earns, in characters at the price of plain input: one sum for every provider."""

from collections.abc import Collection

from msgspec import Struct

from context_guard.cache.layout import Layout, rewrite_chars
from context_guard.config import Config
from context_guard.sizes import CHARS_PER_TOKEN
from context_guard.text import format_chars, plural

CHARS_PER_1K_TOKENS = 4_000


class CostSum(Struct, frozen=True):
    """The bill of a set of edits against the bill without them."""

    saved: int
    """Characters that every later request does without."""
    rewrite: int
    """Characters behind the point up to which the cache still holds, as they are now."""
    requests: int
    """Later requests reckoned with."""
    is_cold: bool
    """The cache has expired: the next request writes everything in any case."""
    first: float
    """What the next request costs more; below 0 what it costs less."""
    later: float
    """What the requests after it cost less, together."""
    rerun: float
    """Price of the extra steps in which the agent fetches something again."""

    @property
    def net(self) -> float:
        return self.later - self.first - self.rerun

    def after(self, requests: int) -> float:
        """What the edits have cost, all told, once so many requests were answered; below 0 what they have earned."""
        return self.first - self.later * max(0, requests - 1) / max(1, self.requests - 1)

    @property
    def words(self) -> str:
        """The sum in one line, in characters at the price of plain input."""
        if self.is_cold:
            return f"the cache has expired, {format_chars(self.saved)} characters less in every request"
        would_cost = f"would cost you {format_chars(round(-self.net))}, " if self.net < 0 else ""
        return (
            f"{would_cost}{format_chars(round(self.later))} saved over {plural(self.requests, 'request')}, "
            f"{format_chars(max(0, round(self.first)))} more for the next, "
            f"{format_chars(round(self.rerun))} for re-runs"
        )


def sum_up(layout: Layout, targets: Collection[str], saved: int, requests: int, config: Config) -> CostSum:
    """The sum for edits of `targets` that take `saved` characters out of the context."""
    write, read = layout.prices.write, layout.prices.read
    before = layout.total + layout.overhead
    after = max(0, before - saved)
    # Without the overhead known, a short context does not tell that the prompt is too short to be cached.
    least = layout.prices.min_tokens * CHARS_PER_TOKEN if layout.overhead else 0
    rewrite = rewrite_chars(layout, targets)
    if before - rewrite < least:  # what stands in front of the edits is too short to be found again
        rewrite = before
    expected = max(1, requests)
    first = (rewrite - saved) * write - rewrite * (write if layout.is_cold else read)
    later = saved * read
    if after < least:  # too short for the provider to cache it at all
        first = after - before * (write if layout.is_cold else read)
        later = before * read - after
    return CostSum(
        saved=saved,
        rewrite=rewrite,
        requests=expected,
        is_cold=layout.is_cold,
        first=first,
        later=(expected - 1) * later,
        rerun=config.rerun_steps_per_1k_tokens * saved / CHARS_PER_1K_TOKENS * after * read,
    )
