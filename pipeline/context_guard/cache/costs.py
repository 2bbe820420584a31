"""What an edit costs and earns, in characters at the price of plain input: one sum for every provider."""

from collections.abc import Collection

from msgspec import Struct

from context_guard.cache.layout import Layout, rewrite_chars
from context_guard.config import Config
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

    @property
    def words(self) -> str:
        """The sum in one line, in characters at the price of plain input."""
        if self.is_cold:
            return f"the cache has expired, {format_chars(self.saved)} characters less in every request"
        would_cost = f"would cost you {format_chars(round(-self.net))}, " if self.net < 0 else ""
        return (
            f"{would_cost}{format_chars(round(self.later))} saved over {plural(self.requests, 'request')}, "
            f"{format_chars(max(0, round(self.first)))} more for the next, {format_chars(round(self.rerun))} for re-runs"
        )


def sum_up(layout: Layout, targets: Collection[str], saved: int, requests: int, config: Config) -> CostSum:
    """The sum for edits of `targets` that take `saved` characters out of the context."""
    write, read = layout.prices.write, layout.prices.read
    rewrite = rewrite_chars(layout, targets)
    expected = max(1, requests)
    kept = max(0, layout.total - saved)
    return CostSum(
        saved=saved,
        rewrite=rewrite,
        requests=expected,
        is_cold=layout.is_cold,
        first=(rewrite - saved) * write - rewrite * (write if layout.is_cold else read),
        later=(expected - 1) * saved * read,
        rerun=config.rerun_steps_per_1k_tokens * saved / CHARS_PER_1K_TOKENS * kept * read,
    )
