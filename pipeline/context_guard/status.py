"""What the guard did on a branch, in lines for people: `savings.py` in words, and the results of the last pass."""

from collections.abc import Iterator

from context_guard.printable import visible_line
from context_guard.records import ItemResult, Kind, Record
from context_guard.savings import Savings, format_cost, status_text
from context_guard.text import estimate_tokens, format_chars, plural

KINDS: tuple[Kind, ...] = ("large", "small", "exchange", "image")
OUTCOME_WIDTH = 9
KIND_WIDTH = 8
SIZES_WIDTH = 15
NOT_JUDGED = "Nothing has been judged on this branch."
UNRECORDED = "No record of a pass stands on this branch: another program made these edits, or the record is elsewhere."


def status_lines(savings: Savings) -> tuple[str, ...]:
    """First the line of a status bar, then what is kept out, what judging took, and the last pass item by item."""
    return tuple(visible_line(line) for line in _lines(savings))


def record_lines(record: Record) -> tuple[str, ...]:
    """One pass, item by item."""
    return tuple(visible_line(line) for line in _pass(record, "A {name}"))


def without_records(savings: Savings) -> str:
    """For a branch without the record of a pass: nobody judged it, or edits came in by another way."""
    return UNRECORDED if savings.outputs + savings.images + savings.exchanges else NOT_JUDGED


def _lines(savings: Savings) -> Iterator[str]:
    yield status_text(savings)
    yield _kept_out(savings)
    if savings.last is None:
        yield without_records(savings)
        return
    yield _lifetime(savings)
    yield (
        f"Passes: {savings.runs} at run end, {plural(savings.checkpoints, 'checkpoint')}; "
        f"{plural(savings.requests, 'request')} to a judge, {format_cost(savings.cost_usd)}."
    )
    yield from _pass(savings.last, "Last {name}")


def _kept_out(savings: Savings) -> str:
    if savings.outputs + savings.images + savings.exchanges == 0:
        return "Kept out of the context now: nothing."
    parts = (
        (savings.outputs, "tool output"),
        (savings.exchanges, "whole exchange"),
        (savings.images, "output without its images"),
    )
    told = [_count(count, noun) for count, noun in parts if count]
    return (
        f"Kept out of the context now: about {format_chars(savings.tokens)} tokens ({savings.chars:,} characters), "
        f"{', '.join(told)}."
    )


def _count(count: int, noun: str) -> str:
    return f"{count} outputs without their images" if count > 1 and "images" in noun else plural(count, noun)


def _lifetime(savings: Savings) -> str:
    tokens = format_chars(estimate_tokens(savings.lifetime_chars))
    folded = "; a compaction has since taken in some of it" if savings.compacted else ""
    return f"Saved by all passes of this branch: about {tokens} tokens ({savings.lifetime_chars:,} characters){folded}."


def _pass(record: Record, heading: str) -> Iterator[str]:
    counts = {kind: sum(1 for result in record.results if result.kind == kind) for kind in KINDS}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "no item"
    late = ", time ran out" if record.timed_out else ""
    head = heading.format(name="checkpoint" if record.phase == "mid-run" else "run")
    yield f"{head} by {record.model or 'an unnamed judge'} ({record.ms / 1_000:.1f} s{late}; {told}):"
    for result in record.results:
        yield from result_lines(result)


def result_lines(result: ItemResult) -> Iterator[str]:
    """What became of one item, and under it why its edit waits, and what the judge said."""
    yield _result(result)
    if result.weighed:
        yield f"      waits: {result.weighed}"
    yield from (f"      judge: {trace}" for trace in result.jev)


def _result(result: ItemResult) -> str:
    sizes = format_chars(result.before_chars)
    if result.outcome != "kept":
        sizes += f" → {format_chars(result.after_chars)}"
    columns = f"  {result.outcome:{OUTCOME_WIDTH}} {result.kind:{KIND_WIDTH}} {sizes:{SIZES_WIDTH}}"
    return f"{columns} {result.entry_id} {result.label} ({result.reason})"
