"""The whole page about one session, as values: nothing in it acts, hides or breaks a line."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from context_guard.answers import Unanswered
from context_guard.bill import bill_lines
from context_guard.config import Config
from context_guard.explain import LEFT_ALONE, Way
from context_guard.idle import why_nothing
from context_guard.printable import visible
from context_guard.report.chart import Chart, draw
from context_guard.report.outputs import COMPACTED, EDITED, Output, read_outputs
from context_guard.report.timeline import Point, find_points
from context_guard.savings import count_savings, format_cost
from context_guard.settings import config_schema
from context_guard.stages import Plan, Settlement
from context_guard.text import estimate_tokens, format_chars, plural, recall_call
from context_guard.transcript import Transcript

OUTCOMES = ("distilled", "removed", "kept", EDITED, LEFT_ALONE, COMPACTED)
"""In the order in which a page counts them."""


class Figure(Struct, frozen=True):
    name: str
    value: str
    note: str = ""


class Setting(Struct, frozen=True):
    name: str
    value: str
    is_default: bool


class Page(Struct, frozen=True, rename="camel"):
    session: str
    host: str
    model: str
    figures: tuple[Figure, ...]
    counts: tuple[tuple[str, int], ...]
    """Outputs by outcome, only outcomes that occur."""
    summary: str
    """The timeline in a sentence."""
    chart: Chart
    nothing: str
    """Why no item has a decision; empty when one has."""
    costs: tuple[str, ...]
    outputs: tuple[Output, ...]
    settings: tuple[Setting, ...]


def build_page(transcript: Transcript, plan: Plan, settlement: Settlement, way: Way = recall_call) -> Page:
    outputs = tuple(read_outputs(transcript, plan, settlement, way))
    points = find_points(transcript, plan, settlement)
    found = [output.outcome for output in outputs]
    return Page(
        session=transcript.session,
        host=transcript.host,
        model=transcript.model.ref if transcript.model else "",
        figures=tuple(_figures(transcript, outputs, points, settlement)),
        counts=tuple((name, found.count(name)) for name in OUTCOMES if name in found),
        summary=_summary(points),
        chart=draw(points),
        nothing=why_nothing(plan, settlement),
        costs=bill_lines(settlement.gates),
        outputs=outputs,
        settings=tuple(_settings(plan.config)),
    )


def page_values(page: Page) -> dict[str, Any]:
    """The page as plain values; control, invisible and bidirectional characters of every text as symbols or escapes."""
    values: dict[str, Any] = _visible(msgspec.to_builtins(page))
    return values


def _visible(value: Any) -> Any:
    match value:
        case str():
            return visible(value)
        case list() | tuple():
            return [_visible(item) for item in value]
        case dict():
            return {key: _visible(item) for key, item in value.items()}
        case _:
            return value


def _figures(
    transcript: Transcript, outputs: tuple[Output, ...], points: tuple[Point, ...], settlement: Settlement
) -> Iterator[Figure]:
    record = settlement.record
    saved = record.saved_chars
    whole = sum(output.before_chars for output in outputs if output.outcome != COMPACTED)
    share = f", {100 * saved / whole:.0f}\u00a0% of what the outputs take" if whole else ""
    yield Figure(
        "This pass keeps out",
        f"{format_chars(saved)} characters",
        f"about {format_chars(estimate_tokens(saved))} tokens at 4 characters each{share}",
    )
    before = count_savings(transcript)
    if before.chars:
        yield Figure(
            "Kept out already",
            f"{format_chars(before.chars)} characters",
            f"by the edits on the branch; passes recorded: {before.runs + before.checkpoints}",
        )
    last = points[-1]
    yield Figure(
        "Next request",
        f"{format_chars(last.guarded)} characters",
        f"of messages, in place of {format_chars(last.without)}",
    )
    silent = sum(isinstance(outcome, Unanswered) for outcome in settlement.outcomes)
    yield Figure(
        "Judge",
        record.model,
        f"{plural(record.requests, 'request')}{f', {silent} unanswered' if silent else ''}, "
        f"{format_cost(record.cost_usd)}",
    )
    yield from _recorded(transcript)


def _recorded(transcript: Transcript) -> Iterator[Figure]:
    """What the provider counted, as far as the host wrote it down."""
    usages = [entry.usage for entry in transcript.entries if entry.usage is not None]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    read = sum(usage.cache_read for usage in usages)
    fresh = sum(usage.input + usage.cache_write for usage in usages)
    if read + fresh:
        yield Figure(
            "Session as recorded",
            format_cost(sum(costs)) if any(costs) else f"{format_chars(read + fresh)} tokens in",
            f"{plural(len(usages), 'answer')}: {format_chars(read)} tokens read from the cache, "
            f"{format_chars(fresh)} written or fresh, {format_chars(sum(usage.output for usage in usages))} out",
        )


def _summary(points: tuple[Point, ...]) -> str:
    peak, guarded = max(point.without for point in points), max(point.guarded for point in points)
    return (
        f"Context of {plural(len(points) - 1, 'request')} and the next one. At its largest {format_chars(peak)} "
        f"characters without the guard, {format_chars(guarded)} with it."
    )


def _settings(config: Config) -> Iterator[Setting]:
    values, defaults = msgspec.to_builtins(config), msgspec.to_builtins(Config())
    for name in config_schema()["$defs"]["Config"]["properties"]:
        value = values[name]
        printed = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if isinstance(value, bool):
            printed = printed.lower()
        yield Setting(name=name, value=printed, is_default=value == defaults[name])
