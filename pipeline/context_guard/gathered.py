"""Stage 2, mid-run, for a host that lives on: what a checkpoint can find at most, kept up as the branch grows.

A turn's end rarely has anything to do, and then most of its time would go into looking at all of a long context. What a
look has found is a bound; what a turn adds to it is read off the turn. As long as the bound is below a batch, or above
it only by old exchanges whose edit cannot pay yet, `plan` would come to nothing, so it need not be asked.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from context_guard.boundary import Boundary
from context_guard.cache.waiting import Waiting, begin_waiting, cannot_pay, wait_on
from context_guard.candidates import may_edit
from context_guard.checkpoint import batch_chars
from context_guard.config import Config
from context_guard.images import has_image
from context_guard.memory import judged_mid_run
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, for_phase
from context_guard.transcript import Entry, Transcript, shown, text_of


class Gathered(Struct, frozen=True):
    """A bound for the branch that ends at `head`, and by `grow` for what comes of it."""

    config: Config
    """As it holds for a checkpoint."""
    head: str | None
    entries: int
    context: int
    edits: int
    records: int
    pinned: frozenset[str]
    chars: int
    """The items of a checkpoint are no larger together, however old the outputs have become by then."""
    waiting: Waiting | None
    """The old exchanges among them."""


def gather(transcript: Transcript, planned: Plan) -> Gathered:
    """The bound after a look at all of the branch: the mid-run plan for it."""
    judged = judged_mid_run(transcript)
    outputs = (
        len(result.text)
        for span in planned.spans[-1:]
        for result in span.results
        if result.entry_id not in judged and may_edit(result, planned.config)
    )
    least = _least_chars(planned.config)
    exchanges = planned.collected.exchanges
    waiting = begin_waiting(
        transcript,
        planned.layout,
        frozenset(exchange.prompt_id for exchange in exchanges),
        sum(exchange.chars for exchange in exchanges),
        planned.spans[-1].turns if planned.spans else 0,
    )
    return Gathered(
        config=planned.config,
        head=transcript.head,
        entries=len(transcript.entries),
        context=len(transcript.context),
        edits=len(transcript.edits),
        records=len(transcript.records),
        pinned=transcript.pinned,
        chars=sum(chars for chars in outputs if chars >= least)
        + sum(exchange.chars for exchange in exchanges)
        + _image_chars(shown(transcript), planned.config),
        waiting=waiting,
    )


def grow(found: Gathered, transcript: Transcript, config: Config) -> Gathered | None:
    """The bound with what the branch has more; None where that may change more than its end, where it is another branch
    or where the settings are others.

    Ids are unique on a branch, and an entry has one parent: so a branch that has the head at the place of the head is
    the same up to there, unless an edit, a compaction or a pin came since.
    """
    count = found.entries
    if for_phase(config, "mid-run") != found.config:
        return None
    if len(transcript.entries) < count or (count > 0 and transcript.entries[count - 1].id != found.head):
        return None
    new = transcript.entries[count:]
    is_same_past = (
        len(transcript.edits) == found.edits
        and len(transcript.records) == found.records
        and transcript.pinned == found.pinned
        and len(transcript.context) == found.context + len(new)
    )
    if not is_same_past or any(entry.role in ("user", "summary") for entry in new):
        return None
    return replace(
        found,
        head=transcript.head,
        entries=len(transcript.entries),
        context=len(transcript.context),
        chars=found.chars + _output_chars(new, found.config) + _image_chars(new, found.config),
        waiting=wait_on(found.waiting, new) if found.waiting is not None else None,
    )


def cannot_be_due(found: Gathered, transcript: Transcript, boundary: Boundary) -> bool:
    """Whether a checkpoint on the branch that `found` is for would have nothing to judge and nothing to take out."""
    config, waiting = found.config, found.waiting
    batch = batch_chars(transcript.model, config)
    if not (config.enabled and config.mid_run) or found.chars < batch:
        return True
    return (
        config.mid_run_break_even
        and waiting is not None
        and found.chars - waiting.chars < batch
        and cannot_pay(waiting, found.chars, transcript.model, boundary, config)
    )


def _output_chars(entries: Iterable[Entry], config: Config) -> int:
    """Of the outputs that are long enough to be judged, whatever rule may still leave them out."""
    least = _least_chars(config)
    sizes = (len(text_of(entry.visible)) for entry in entries if entry.role == "tool")
    return sum(chars for chars in sizes if chars >= least)


def _least_chars(config: Config) -> int:
    return min(config.min_result_chars, config.small_result_min_chars or config.min_result_chars)


def _image_chars(entries: Iterable[Entry], config: Config) -> int:
    """Of the outputs with an image in them."""
    if config.image_keep_turns == 0:
        return 0
    return sum(visible_chars(entry) for entry in entries if has_image(entry))
