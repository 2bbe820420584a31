"""An audit as a table: a row for each session, and one for each file without any."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby

import msgspec

from context_guard.config import Config
from context_guard.cost.audit import Audited, Terms
from context_guard_effects.audit.pool import killed
from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.audit.work import Outcome, audit_unit
from context_guard_effects.fleet.run import Task
from context_guard_effects.fleet.table import Columns, Row, columns_of, from_row, to_row

COLUMNS: Columns = {
    "path": str,
    "inside": str,
    "outcome": str,
    "error": str,
    **columns_of(Audited),
    "bill": float,
    "kept_out_tokens": int,
}
"""`inside`: the session in a database. `outcome`: audited, empty, unknown or unreadable; of the last, `error`."""


def audit_task(terms: Terms, told: dict[str, object]) -> Task[Outcome]:
    return Task(
        command="audit",
        told={**told, "settings": settings_told(terms.config), "prices": [list(it) for it in terms.prices]},
        work=partial(audit_unit, terms=terms),
        died=killed,
        columns=COLUMNS,
        rows=audit_rows,
    )


def settings_told(config: Config) -> dict[str, object]:
    """Those that are not as they come."""
    usual = msgspec.to_builtins(Config())
    return {key: value for key, value in msgspec.to_builtins(config).items() if value != usual[key]}


def audit_rows(outcome: Outcome) -> list[Row]:
    unit = outcome.unit
    place: Row = {"path": unit.path, "inside": unit.session or None}
    if outcome.sessions:
        return [
            {**place, "outcome": "audited", **to_row(it), "bill": it.bill, "kept_out_tokens": it.kept_out_tokens}
            for it in outcome.sessions
        ]
    if outcome.problem:
        return [{**place, "outcome": "unreadable", "error": outcome.problem.reason}]
    return [{**place, "outcome": "unknown" if outcome.is_unknown else "empty"}]


def read_outcomes(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Rows as they were written, one unit behind the other."""
    for (path, inside), own in groupby(rows, lambda row: (row["path"], row["inside"])):
        found = list(own)
        unit = Unit(path, session=inside or "")
        error = found[0]["error"]
        yield Outcome(
            unit,
            tuple(from_row(row, Audited) for row in found if row["outcome"] == "audited"),
            problem=Problem(path, error) if error is not None else None,
            is_unknown=found[0]["outcome"] == "unknown",
        )
