"""A session judged twice, or a trace run again, as one call for each file; and the counts of it as a table."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct
from returns.result import Failure

from context_guard.answers import Asked, Unanswered
from context_guard.boundary import Boundary
from context_guard.comparison import Recall, compare
from context_guard.comparison_lines import Named, Totals, add_up
from context_guard.config import Config
from context_guard.formats.transcripts import UNKNOWN
from context_guard.local_judge import JUDGE, Settings, judge_locally
from context_guard.needs import Labels
from context_guard.requests import Request
from context_guard.rerun import Stage, rerun
from context_guard.saved_trace import HEAD, Trace, decode_trace
from context_guard.settings import apply_settings
from context_guard.stages import plan, settle
from context_guard.transcript import Transcript
from context_guard_effects.audit.pool import killed
from context_guard_effects.audit.reading import read_unit
from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.fleet.run import Task
from context_guard_effects.fleet.table import Columns, Row
from context_guard_effects.fleet.urls import is_url

LARGEST_TRACE = 512 * 1024 * 1024


class How(Struct, frozen=True):
    """The two sides. A judge, where one is asked, is the embedded one."""

    boundary: Callable[[Transcript], Boundary]
    old: Config | None
    """Of sessions; without it only traces are read, whose old side is what they hold."""
    base: Config | None
    """In place of the old side's settings, where the new side starts from a file."""
    changes: str
    """Settings of the new side, over those: a JSON object, keys as on disk."""
    start: Stage
    asks: bool
    """Traces too, whose recorded answers count otherwise."""
    labels: Labels
    root: str
    """The place that was given: names leave it out."""
    has_lines: bool
    """Whether each change is wanted with its lines, or only counts."""


class Counts(Struct, frozen=True):
    """Of one session."""

    session: str
    totals: Totals
    requests: int
    unanswered: int


class Compared(Struct, frozen=True):
    unit: Unit
    found: tuple[Counts, ...] = ()
    named: tuple[Named, ...] = ()
    problem: Problem | None = None
    is_unknown: bool = False


COLUMNS: Columns = {
    **dict.fromkeys(("path", "inside", "outcome", "error", "session"), str),
    **dict.fromkeys(("items", "changed", "gained", "lost", "before_chars", "old_chars", "new_chars"), int),
    **dict.fromkeys(("labelled", "old_labelled", "new_labelled", "requests", "unanswered"), int),
}
"""`gained`, `lost`: lines. `labelled`: lines that --labels names, and how many of them each side shows. `requests` and
`unanswered` are of the new side."""


def compare_task(command: str, how: How, told: dict[str, object]) -> Task[Compared]:
    return Task(
        command=command,
        told=told,
        work=partial(compare_unit, how=how),
        died=_killed,
        columns=COLUMNS,
        rows=compared_rows,
    )


def _killed(unit: Unit) -> Compared:
    return Compared(unit, problem=killed(unit).problem)


def compare_unit(unit: Unit, how: How) -> Compared:
    """Never raises: whatever a file holds, it costs nothing but its own row."""
    try:
        trace = _read_trace(unit)
        if isinstance(trace, Problem):
            return Compared(unit, problem=trace)
        if trace is not None:
            return _compared(unit, [(trace, _again(trace, how, asks=how.asks))], how)
        if how.old is None:
            return Compared(unit, is_unknown=True)
        read = read_unit(unit)
        if isinstance(read, Failure):
            error = read.failure()
            if error is UNKNOWN and not unit.is_named:
                return Compared(unit, is_unknown=True)
            return Compared(unit, problem=Problem(unit.path, error.message))
        olds = [_judged(it, how.old, how.boundary(it)) for it in read.unwrap() if it.entries]
        return _compared(unit, [(old, _again(old, how, asks=True)) for old in olds], how)
    except MemoryError:
        return Compared(unit, problem=Problem(unit.path, "It does not fit into memory."))
    except OSError as error:
        said = getattr(error, "strerror", None) or str(error)
        return Compared(unit, problem=Problem(unit.path, f"{said.capitalize()}."))
    except Exception as error:  # one file must not end the comparison of all others
        said = f"A defect of context-guard, please report it: {type(error).__name__}: {error}"
        return Compared(unit, problem=Problem(unit.path, said))


def compared_rows(compared: Compared) -> list[Row]:
    unit = compared.unit
    place: Row = {"path": unit.path, "inside": unit.session or None}
    if compared.problem:
        return [{**place, "outcome": "unreadable", "error": compared.problem.reason}]
    if not compared.found:
        return [{**place, "outcome": "unknown" if compared.is_unknown else "empty"}]
    return [{**place, "outcome": "compared", **_count_row(it)} for it in compared.found]


def _count_row(counts: Counts) -> Row:
    totals, recall = counts.totals, counts.totals.recall
    return {
        **{name: getattr(totals, name) for name in ("items", "changed", "gained", "lost")},
        **{name: getattr(totals, name) for name in ("before_chars", "old_chars", "new_chars")},
        **({"labelled": recall.needed, "old_labelled": recall.old, "new_labelled": recall.new} if recall else {}),
        "session": counts.session,
        "requests": counts.requests,
        "unanswered": counts.unanswered,
    }


def sum_rows(rows: Iterable[Row]) -> Row:
    """Of every column that counts its sum over all sessions, `sessions`, and `unreadable` files."""
    total: Row = dict.fromkeys(("sessions", "unreadable", *(name for name, kind in COLUMNS.items() if kind is int)), 0)
    for row in rows:
        total["sessions"] += row["outcome"] == "compared"
        total["unreadable"] += row["outcome"] == "unreadable"
        for name, kind in COLUMNS.items():
            if kind is int:
                total[name] += row[name] or 0
    return total


def totals_of(sums: Row) -> Totals:
    names = ("sessions", "items", "changed", "gained", "lost", "before_chars", "old_chars", "new_chars")
    recall = Recall(sums["labelled"], sums["old_labelled"], sums["new_labelled"]) if sums["labelled"] else None
    return Totals(**{name: sums[name] for name in names}, recall=recall)


def _judged(transcript: Transcript, config: Config, boundary: Boundary) -> Trace:
    planned = plan(transcript, config, boundary)
    asked = _asked(planned.requests, config)
    return Trace(transcript, config, planned, asked, settle(planned, asked))


def _again(old: Trace, how: How, asks: bool) -> Trace:
    config = apply_settings(json.loads(how.changes), how.base or old.config).config
    return rerun(old, config, how.start, _asked if asks else None)


def _asked(requests: tuple[Request, ...], config: Config) -> Asked:
    settings = Settings(keep_share=config.keep_share)
    return Asked(tuple(judge_locally(request, settings) for request in requests), judge=JUDGE)


def _compared(unit: Unit, pairs: list[tuple[Trace, Trace]], how: How) -> Compared:
    name = unit.path.removeprefix(how.root).lstrip("/") or Path(unit.path).name
    needs = how.labels.of(Path(unit.path).name)
    many = len(pairs) > 1 or bool(unit.session)
    named = tuple(
        Named(f"{name} {old.transcript.session}" if many else name, compare(old, new, needs)) for old, new in pairs
    )
    return Compared(
        unit,
        found=tuple(_counts(old, new, it) for (old, new), it in zip(pairs, named, strict=True)),
        named=named if how.has_lines else (),
    )


def _counts(old: Trace, new: Trace, named: Named) -> Counts:
    outcomes = new.settlement.outcomes
    unanswered = sum(isinstance(it, Unanswered) for it in outcomes)
    return Counts(old.transcript.session, add_up((named,)), len(outcomes), unanswered)


def _read_trace(unit: Unit) -> Trace | Problem | None:
    """None where the file is no trace."""
    if not unit.path.endswith(".json"):
        return None
    data = _read_if_trace(unit)
    if data is None:
        return None
    if len(data) > LARGEST_TRACE:
        return Problem(unit.path, f"It is larger than {LARGEST_TRACE // 1024**2} MB, too large for one JSON value.")
    found = decode_trace(data)
    if isinstance(found, Failure):
        message = found.failure().message
        return Problem(unit.path, f"{message[:1].upper()}{message[1:]}.")
    return found.unwrap()


def _read_if_trace(unit: Unit) -> bytes | None:
    if is_url(unit.path):
        from context_guard_effects.fleet.objects import fetch

        return fetch(unit.path) if fetch(unit.path, len(HEAD)) == HEAD else None
    path = Path(unit.path)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return HEAD + file.read(LARGEST_TRACE) if file.read(len(HEAD)) == HEAD else None
