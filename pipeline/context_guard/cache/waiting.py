"""Old exchanges whose edit does not pay yet: whether it still cannot, by bounds that a turn is added to.

What `checkpoint.py` asks of `break_even.py` for the items as they are, this answers for all items that they can have
become since: by the most that they can save and the least that they make the cache write again.
"""

from msgspec import Struct
from msgspec.structs import replace

from context_guard.boundary import Boundary
from context_guard.cache.costs import CHARS_PER_1K_TOKENS
from context_guard.cache.layout import Layout, last_answer, sure_requests
from context_guard.cache.ledger import Ledger, grow_ledger, read_ledger, saved_by_carried
from context_guard.cache.prices import prices_for
from context_guard.config import Config
from context_guard.sizes import CHARS_PER_TOKEN
from context_guard.transcript import Entry, Model, Transcript


class Waiting(Struct, frozen=True):
    model: Model | None
    ledger: Ledger
    saved: int
    """What the edits so far save in each request."""
    chars: int
    """Of the exchanges, which are all among the items."""
    before: int
    """Characters of the context in front of the first of them."""
    overhead: int
    turns: int
    """Of the run."""
    answers: int
    """Of the context."""
    last: int | None
    """Time of the last answer."""


def begin_waiting(
    transcript: Transcript, layout: Layout, prompts: frozenset[str], chars: int, turns: int
) -> "Waiting | None":
    """`prompts` and `chars` are of the exchanges; None without any, and before the last edits have been paid for."""
    saved = saved_by_carried(transcript)
    first = next((place for place, entry_id in enumerate(layout.ids) if entry_id in prompts), None)
    if first is None or saved is None:
        return None
    return Waiting(
        model=transcript.model,
        ledger=read_ledger(transcript, layout.chars, layout.prices),
        saved=saved,
        chars=chars,
        before=sum(layout.chars[:first]),
        overhead=layout.overhead,
        turns=turns,
        answers=layout.requests,
        last=last_answer(transcript.entries),
    )


def wait_on(waiting: Waiting, new: tuple[Entry, ...]) -> Waiting:
    """When these came to the end of the branch: turns of the same run, no edit among them."""
    answers = sum(1 for entry in new if entry.role == "assistant" and entry.visible is not None)
    times = [time for time in (waiting.last, last_answer(new)) if time is not None]
    return replace(
        waiting,
        ledger=grow_ledger(waiting.ledger, new, waiting.saved),
        turns=waiting.turns + answers,
        answers=waiting.answers + answers,
        last=max(times, default=None),
    )


def cannot_pay(waiting: Waiting, most: int, model: Model | None, boundary: Boundary, config: Config) -> bool:
    """Whether edits of the exchanges, and of what makes them up to `most` characters, are not expected to pay.

    The more they save the better, and the less is written again: at least what stands behind the first of them. The
    re-run penalty is the least at one end of what they may save. A character apart, for the sake of rounding.
    """
    prices = waiting.ledger.prices
    if config.original_costs or model != waiting.model or prices_for(model, boundary.cost) != prices:
        return False
    if boundary.now is not None and waiting.last is not None and boundary.now - waiting.last > prices.ttl_ms:
        return False
    least, saved = (int(chars * config.assumed_share) for chars in (waiting.chars, most))
    whole = waiting.ledger.total + waiting.overhead
    if whole - saved < prices.min_tokens * CHARS_PER_TOKEN or prices.write < prices.read:
        return False
    rewrite = waiting.ledger.total - waiting.before
    later_request = saved * prices.read
    first = rewrite * (prices.write - prices.read) - saved * prices.write
    rerun = min(
        config.rerun_steps_per_1k_tokens * chars / CHARS_PER_1K_TOKENS * (whole - chars) * prices.read
        for chars in (least, saved)
    )
    net = (max(1, waiting.turns) - 1) * later_request - first - rerun
    sure = sure_requests(waiting.answers, config)
    after = first - later_request * (sure - 1)
    return net < -1 or after > waiting.ledger.at_risk(config) + 1
