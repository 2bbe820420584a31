"""When a pass may run in the middle of a run, and over which items: one decision that names its reason."""

from collections.abc import Iterator

from msgspec import Struct

from context_guard.cache.break_even import expect
from context_guard.cache.layout import Layout
from context_guard.config import Config
from context_guard.items import Items
from context_guard.span import Span
from context_guard.text import format_chars, plural
from context_guard.transcript import Model


class Tier(Struct, frozen=True):
    """One choice of items, and the sum for it in characters."""

    items: Items
    chars: int
    rewrite: int | None = None
    """What the cache would write again; None when the batch is too small or break-even is off."""
    pays_off: bool | None = None


class Due(Struct, frozen=True, tag="due"):
    tier: int
    """0 everything; 1 without exchanges; 2 also without images from before the last prompt."""
    items: Items
    tried: tuple[Tier, ...]
    batch_chars: int

    @property
    def reason(self) -> str:
        return f"due: {format_chars(self.tried[-1].chars)} of {format_chars(self.batch_chars)}"


class NotDue(Struct, frozen=True, tag="not-due"):
    reason: str
    tried: tuple[Tier, ...]
    batch_chars: int

    @property
    def items(self) -> Items:
        """Nothing is judged."""
        return Items()


Checkpoint = Due | NotDue


def decide_checkpoint(items: Items, span: Span, layout: Layout, model: Model | None, config: Config) -> Checkpoint:
    """The first tier that fills a batch and is likely to earn back its cache rewrite."""
    batch = batch_chars(model, config)
    tried: list[Tier] = []
    for number, choice in enumerate(_tiers(items, layout)):
        tier = _weigh(choice, batch, span.turns, layout, config)
        tried.append(tier)
        is_due = tier.pays_off or (tier.chars >= batch and not config.mid_run_break_even)
        if is_due and choice != Items():
            return Due(tier=number, items=choice, tried=tuple(tried), batch_chars=batch)
    return NotDue(reason=_why_not(tried, batch, span.turns), tried=tuple(tried), batch_chars=batch)


def batch_chars(model: Model | None, config: Config) -> int:
    """As many characters a checkpoint waits for."""
    is_codex = model is not None and model.provider == "openai-codex"
    return config.mid_run_batch_chars_openai if is_codex else config.mid_run_batch_chars


def item_chars(items: Items) -> int:
    """Outputs and exchanges by their size, images by what their removal saves."""
    return (
        sum(len(output.text) for output in items.large)
        + sum(len(output.text) for output in items.small)
        + sum(item.before_chars - item.after_chars for item in items.images)
        + sum(item.chars for item in items.exchanges)
    )


def item_targets(items: Items) -> frozenset[str]:
    """Every entry that edits of these items could touch."""
    outputs = [
        *(item.entry_id for item in items.large),
        *(item.entry_id for item in items.small),
        *(item.entry_id for item in items.images),
    ]
    return frozenset(outputs).union(*((item.prompt_id, *item.entry_ids) for item in items.exchanges))


def _tiers(items: Items, layout: Layout) -> Iterator[Items]:
    yield items
    yield Items(large=items.large, small=items.small, images=items.images)
    recent = tuple(item for item in items.images if item.place > layout.last_user)
    yield Items(large=items.large, small=items.small, images=recent)


def _weigh(items: Items, batch: int, turns: int, layout: Layout, config: Config) -> Tier:
    chars = item_chars(items)
    if chars < batch or not config.mid_run_break_even:
        return Tier(items=items, chars=chars)
    rewrite, pays = expect(layout, item_targets(items), chars, turns, config)
    return Tier(items=items, chars=chars, rewrite=rewrite, pays_off=pays)


def _why_not(tried: list[Tier], batch: int, turns: int) -> str:
    """The nearest miss in words."""
    best = max(tried, key=lambda tier: tier.chars)
    if best.chars < batch:
        return f"not due: {format_chars(best.chars)} of {format_chars(batch)} characters"
    if best.items == Items():
        return "not due: nothing to judge"
    missed = min((tier for tier in tried if tier.rewrite is not None), key=lambda tier: tier.rewrite or 0)
    return (
        f"would cost you more than it saves, with {format_chars(missed.chars)} characters to judge, "
        f"{plural(turns, 'turn')} to come and {format_chars(missed.rewrite or 0)} that the cache writes again"
    )
