"""Stage 2, all kinds: what one pass may judge. Large outputs are `candidates.py`; the others have a module each."""

from msgspec import Struct

from context_guard.boundary import Boundary
from context_guard.candidates import Candidate, pick_aged, pick_candidates
from context_guard.config import Config
from context_guard.exchanges import OldExchange, exchanges_with, pick_exchanges
from context_guard.images import OldImages, pick_images
from context_guard.memory import deferred_outputs, judged_exchanges, judged_mid_run
from context_guard.small import SmallOutput, pick_small
from context_guard.span import Span, find_earlier_spans
from context_guard.transcript import Transcript, shown


class Items(Struct, frozen=True):
    large: tuple[Candidate, ...] = ()
    small: tuple[SmallOutput, ...] = ()
    exchanges: tuple[OldExchange, ...] = ()
    images: tuple[OldImages, ...] = ()


def collect_items(transcript: Transcript, spans: tuple[Span, ...], boundary: Boundary, config: Config) -> Items:
    """Mid-run only what is old enough and not judged at an earlier checkpoint; at run end all of the finished runs.

    When the last run was cut short or failed, nothing is touched.
    """
    if boundary.phase == "run-end":
        if not spans or not spans[-1].is_finished:
            return Items()
        spans = tuple(span for span in spans if span.is_finished)
    context, cwd, phase = shown(transcript), transcript.cwd, boundary.phase
    judged = judged_mid_run(transcript) if phase == "mid-run" else frozenset()
    settled = judged_exchanges(transcript, spans[-1].start_id) if spans else frozenset()
    if spans and transcript.pinned:
        settled |= exchanges_with(context, spans[-1].start, transcript.pinned)
    return Items(
        large=tuple(
            candidate
            for span in spans
            for candidate in (
                pick_aged(span, config, judged, cwd) if phase == "mid-run" else pick_candidates(span, config)
            )
        ),
        small=tuple(item for span in spans for item in pick_small(span, config, phase, judged, cwd)),
        exchanges=pick_exchanges(context, spans, config, settled),
        images=tuple(it for it in pick_images(context, config) if it.entry_id not in transcript.pinned)
        if spans
        else (),
    )


def collect_deferred(
    transcript: Transcript, spans: tuple[Span, ...], boundary: Boundary, config: Config
) -> tuple[tuple[Span, ...], Items]:
    """At run end: outputs of earlier runs whose edit did not pay when they were judged, and those runs."""
    wanted = deferred_outputs(transcript)
    if boundary.phase == "mid-run" or not config.run_end_break_even or not spans[-1].is_finished or not wanted:
        return (), Items()
    earlier = find_earlier_spans(transcript, config, spans[0], wanted)
    return earlier, Items(
        large=tuple(item for span in earlier for item in pick_candidates(span, config) if item.entry_id in wanted),
        small=tuple(
            item
            for span in earlier
            for item in pick_small(span, config, boundary.phase, frozenset(), transcript.cwd)
            if item.entry_id in wanted
        ),
    )


def add_items(one: Items, other: Items) -> Items:
    return Items(
        large=one.large + other.large,
        small=one.small + other.small,
        exchanges=one.exchanges + other.exchanges,
        images=one.images + other.images,
    )
