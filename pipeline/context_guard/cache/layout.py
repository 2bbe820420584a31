"""The context as the provider's cache sees it: sizes in order, and how much an edit makes it write again."""

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from context_guard.boundary import Boundary
from context_guard.cache.ledger import read_ledger
from context_guard.cache.points import trusted_points
from context_guard.cache.prices import CachePrices, prices_for
from context_guard.config import Config
from context_guard.sizes import CHARS_PER_TOKEN, blocks_chars, visible_chars
from context_guard.transcript import Entry, Model, Transcript, shown

CachePolicy = Literal["full", "prefix", "pinned", "unpinned"]
"""How an edit hits the cache. full: any edit loses all of it; prefix: all from the edit on; pinned: all after the
latest readable breakpoint, the question's at least; unpinned: breakpoints, but none that an edit leaves readable."""


class Layout(Struct, frozen=True):
    policy: CachePolicy
    ids: tuple[str, ...]
    """Entries of the context, in its order."""
    chars: tuple[int, ...]
    """What each takes."""
    last_user: int
    """Place of the last prompt or steering message; -1 without one."""
    branch: tuple[str, ...]
    """All entries of the branch, where there is a readable cache entry to find among them."""
    trusted: tuple[tuple[str, int], ...]
    """Readable cache entries: entry id, place on the branch."""
    requests: int
    """Answers so far: as many are taken to come."""
    prices: CachePrices
    is_cold: bool = False
    """Whether the cache has expired since the last answer."""
    sure: int = 1
    """Of the requests to come, those that can be counted on."""
    at_risk: float = 0.0
    """What edits may make the next request cost more, in characters at the price of plain input."""
    overhead: int = 0
    """System prompt and tools, where known; an edit makes the cache write them again only for the policy `full`."""

    @property
    def total(self) -> int:
        return sum(self.chars)


def read_layout(transcript: Transcript, config: Config, boundary: Boundary) -> Layout:
    context = shown(transcript)
    prices = prices_for(transcript.model, boundary.cost)
    answers = sum(1 for entry in context if entry.role == "assistant" and entry.visible is not None)
    users = [place for place, entry in enumerate(context) if entry.role == "user" and entry.visible is not None]
    chars = tuple(map(visible_chars, context))
    trusted = trusted_points(transcript, boundary.written, boundary.now)
    return Layout(
        policy=policy_of(transcript.model, config),
        ids=tuple(entry.id for entry in context),
        chars=chars,
        last_user=users[-1] if users else -1,
        branch=tuple(entry.id for entry in transcript.entries) if trusted else (),
        trusted=trusted,
        requests=answers,
        sure=_sure(transcript, answers, boundary, config),
        prices=prices,
        is_cold=_is_cold(transcript, prices, boundary),
        at_risk=0.0 if config.original_costs else read_ledger(transcript, chars, prices).at_risk(config),
        overhead=0 if config.original_costs else _overhead(transcript),
    )


def _is_cold(transcript: Transcript, prices: CachePrices, boundary: Boundary) -> bool:
    """The last answer marks the last time the cache was touched; while a run goes on it stays warm."""
    if boundary.now is None:
        return boundary.phase == "run-end"
    last = last_answer(transcript.entries)
    return last is not None and boundary.now - last > prices.ttl_ms


def last_answer(entries: tuple[Entry, ...]) -> int | None:
    """Its time, of the latest by the clock."""
    return max([entry.time for entry in entries if entry.role == "assistant" and entry.time is not None], default=None)


def sure_requests(answers: int, config: Config) -> int:
    """Mid-run a share of the answers so far."""
    return max(1, int(answers * config.sure_share))


def _sure(transcript: Transcript, answers: int, boundary: Boundary, config: Config) -> int:
    """At run end that share of the prompts, each as short as the shortest."""
    if boundary.phase == "mid-run":
        return sure_requests(answers, config)
    runs: list[int] = []
    for entry in transcript.entries:
        if entry.role == "user":
            runs.append(0)
        elif entry.role == "assistant" and runs:
            runs[-1] += 1
    return max(1, int(len(runs) * config.sure_share) * min(filter(None, runs), default=1))


def _overhead(transcript: Transcript) -> int:
    """As the host says, else what the first answer's usage counts beyond the messages before it."""
    if transcript.overhead_chars is not None:
        return transcript.overhead_chars
    first = next((at for at, entry in enumerate(transcript.entries) if entry.role == "assistant"), None)
    usage = transcript.entries[first].usage if first is not None else None
    if usage is None:
        return 0
    tokens = usage.input + usage.cache_read + usage.cache_write
    return max(0, tokens * CHARS_PER_TOKEN - sum(blocks_chars(entry.raw) for entry in transcript.entries[:first]))


def policy_of(model: Model | None, config: Config) -> CachePolicy:
    if model is not None and model.provider == "openai-codex":
        return "full"
    if model is not None and model.api == "anthropic-messages":
        return "pinned" if config.pin_anthropic_cache else "unpinned"
    return "prefix"


def rewrite_chars(layout: Layout, targets: Collection[str]) -> int:
    """Characters that the next request must write to the cache when these entries change; 0 when none is in sight."""
    wanted = frozenset(targets)
    first = next((place for place, entry_id in enumerate(layout.ids) if entry_id in wanted), None)
    if first is None:
        return 0
    if layout.policy == "full":
        return layout.total + layout.overhead
    if layout.policy == "unpinned":
        return layout.total
    if layout.policy == "prefix":
        return sum(layout.chars[first:])
    read = read_point(layout, wanted)
    if read is not None and read in layout.ids:
        return sum(layout.chars[layout.ids.index(read) + 1 :])
    return layout.total if first <= layout.last_user else sum(layout.chars[layout.last_user + 1 :])


def read_point(layout: Layout, targets: Collection[str]) -> str | None:
    """The latest trusted cache entry in front of everything that changes."""
    if not layout.trusted:
        return None
    first = next((place for place, entry_id in enumerate(layout.branch) if entry_id in targets), None)
    before = [point for point in layout.trusted if first is not None and point[1] < first]
    return max(before, key=lambda point: point[1])[0] if before else None
