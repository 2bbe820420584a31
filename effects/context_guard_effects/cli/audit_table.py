"""An audit for people: the sessions that matter most, hosts and models, and what all of it comes to."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path, PurePath

from rich import box
from rich.table import Table

from context_guard.cost.audit import PLAUSIBLE, Audited, Idle
from context_guard.cost.totals import MUCH, Totals
from context_guard.text import format_chars, plural
from context_guard_effects.audit.summary import Found, Summary
from context_guard_effects.cli.table import cell, printed

FIRST_FEW = 8
IDLE: dict[Idle, str] = {
    "put-off": "edits were put off: none was expected to earn back what the cache would have to write again",
    "kept": "all of every large output was found needed",
    "left-alone": "a large output was never judged (`context-guard explain SESSION ENTRY` says why)",
    "small": "no output was large",
}


def as_text(summary: Summary, top: int) -> str:
    if not summary.sessions:
        return "".join(f"{line}\n" for line in ["No session in which a model answered was found.", *_left_out(summary)])
    shown = summary.sessions[: top or None]
    parts = [printed(_sessions(shown)), printed(_groups(summary.groups))]
    more = summary.total.sessions - len(shown)
    below = [f"{plural(more, 'more session')}: --top 0 shows all."] if more else []
    return parts[0] + "".join(f"{line}\n" for line in below) + parts[1] + "".join(f"{it}\n" for it in _told(summary))


def looked_in(places: list[Path]) -> str:
    """For an audit that nobody gave a path, and that found nothing."""
    return f"Looked in {', '.join(cell(str(it)).plain for it in places)}. Give a PATH where sessions lie elsewhere."


def running(total: Totals) -> str:
    """What is done so far, in a few words."""
    kept_out, band = _tokens(total.kept_out_tokens), _band(total.low, total.high)
    return f"{plural(total.sessions, 'session')}, kept out {kept_out}, {band}"


def _sessions(found: tuple[Found, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("last answer", "session", "host, model"):
        table.add_column(name, overflow="fold")
    for name in ("requests", "bill", "with a guard", "kept out", "peak context"):
        table.add_column(name, justify="right", no_wrap=True)
    for it in found:
        one = it.audited
        table.add_row(
            cell(_day(one.ended)),
            cell(_name(it)),
            cell(f"{one.host}, {one.model.rpartition('/')[2] or 'unknown model'}"),
            cell(str(one.requests)),
            cell(_bill(one.bill, one.price)),
            cell(_band(one.low, one.high), _style(one)),
            cell(_tokens(one.kept_out_tokens)),
            cell(f"{_tokens(one.peak_without)} → {_tokens(one.peak_with)}"),
        )
    return table


def _groups(groups: tuple[Totals, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("host, model", overflow="fold")
    for name in ("sessions", "bill", "with a guard", "kept out", "cache read", "cache written"):
        table.add_column(name, justify="right", no_wrap=True)
    for it in groups:
        table.add_row(
            cell(f"{it.host}, {it.model or 'unknown model'}"),
            cell(str(it.sessions)),
            cell(_dollars(it.dollars) if not it.unpriced else _units(it.units)),
            cell(_band(it.low, it.high)),
            cell(_tokens(it.kept_out_tokens)),
            cell(f"{_tokens(it.without.cache_read)} → {_tokens(it.with_guard.cache_read)}"),
            cell(f"{_tokens(it.without.cache_write)} → {_tokens(it.with_guard.cache_write)}"),
        )
    return table


def _told(summary: Summary) -> Iterator[str]:
    yield from _figures(summary, summary.total)
    yield from _left_out(summary)
    if summary.is_interrupted:
        yield "Interrupted: these are the sessions that were done."


def _figures(summary: Summary, total: Totals) -> Iterator[str]:
    count = f"{plural(total.sessions, 'session')}, {plural(total.requests, 'request')}"
    if not total.edits:
        yield f"{count}: a guard would have edited nothing."
        yield from _why_nothing(summary)
        return
    yield (
        f"{count}: a guard would have kept {total.kept_out_chars:,} characters out of context, about "
        f"{_tokens(total.kept_out_tokens)} tokens, by {plural(total.edits, 'edit')} in "
        f"{plural(total.edited, 'session')}."
    )
    yield f"Sent over all requests: {_tokens(total.without.tokens)} → {_tokens(total.with_guard.tokens)} tokens."
    yield f"Input side of the bill with a guard: {_band(total.low, total.high)}{_saved(total)}."
    yield (
        f"The embedded judge took {summary.judge_seconds:.1f} s and no money; a remote one would have taken about "
        f"{_dollars(total.remote_judge_dollars)}."
    )
    if total.dearer or total.maybe_dearer:
        yield (
            f"More than {100 * MUCH:.0f} % dearer: {plural(total.dearer, 'session')}; with the extra steps assumed "
            f"{plural(total.maybe_dearer, 'session')}."
        )
    yield from _check(total)


def _why_nothing(summary: Summary) -> Iterator[str]:
    counts = Counter(it.audited.idle for it in summary.sessions)
    for idle, why in IDLE.items():
        if counts[idle]:
            yield f"  In {plural(counts[idle], 'session')} {why}."


def _check(total: Totals) -> Iterator[str]:
    if total.recorded and total.simulated:
        off = _percent(total.simulated / total.recorded - 1)
        yield f"Check: the simulated bill against the usage that sessions recorded: {off}."
    if total.undercounted:
        yield (
            f"Left out of the check and billed as simulated: {plural(total.undercounted, 'session')}, whose recorded "
            f"input is less than {100 * PLAUSIBLE:.0f} % of what the texts come to."
        )


def _saved(total: Totals) -> str:
    if total.unpriced == total.sessions:
        return "; no model has a known price: give --price MODEL=DOLLARS"
    low, high = total.dollars_saved_low, total.dollars_saved_high
    priced = "" if not total.unpriced else f" where the price is known ({plural(total.unpriced, 'session')} without)"
    return f", {_dollars(low)} to {_dollars(high)} saved of {_dollars(total.dollars)}{priced}"


def _left_out(summary: Summary) -> Iterator[str]:
    if summary.empty:
        yield f"Without an answer in it: {plural(summary.empty, 'file')}."
    if summary.unknown:
        yield f"No known host's: {plural(summary.unknown, 'file')}."
    if summary.problems:
        yield f"Could not be read: {len(summary.problems)}."
        for problem in summary.problems[:FIRST_FEW]:
            yield f"  {cell(f'{problem.path}: {problem.reason}').plain}"
        if len(summary.problems) > FIRST_FEW:
            yield f"  … {len(summary.problems) - FIRST_FEW} more; --json has all"


def _name(found: Found) -> str:
    """The folder that it worked in, and enough of its name to find the file."""
    one = found.audited
    name = one.session or PurePath(found.path).name
    return f"{PurePath(one.cwd).name[:18]} {name[:8]}" if one.cwd else name[:24]


def _day(ms: int | None) -> str:
    if ms is None or not 0 < ms < 253_402_300_800_000:
        return "–"
    return f"{datetime(1970, 1, 1) + timedelta(milliseconds=ms):%Y-%m-%d}"


def _band(low: float, high: float) -> str:
    """Best to worst; one figure where both read the same."""
    best, worst = _percent(low), _percent(high)
    return best if best == worst else f"{best} … {worst}"


def _percent(share: float) -> str:
    rounded = round(100 * share, 1)
    return "no change" if rounded == 0 else f"{rounded:+.1f} %".replace("-", "−")


def _style(one: Audited) -> str:
    return "green" if one.high < 0 else "yellow" if one.low > 0 else ""


def _bill(units: float, price: float | None) -> str:
    return _units(units) if price is None else _dollars(units * price / 1e6)


def _units(units: float) -> str:
    return f"{_tokens(units)} units"


def _dollars(value: float) -> str:
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{'−' if value < 0 else ''}${abs(value):,.{digits}f}"


def _tokens(count: float) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1e6 else format_chars(round(count))
