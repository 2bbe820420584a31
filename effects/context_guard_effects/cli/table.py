"""What a pass came to: as a table and a sentence for people, as a JSON value for programs."""

import io
import shutil
import sys
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from context_guard.decisions import Decision
from context_guard.drafts import Omit, Replace
from context_guard.idle import why_nothing
from context_guard.printable import visible_line
from context_guard.text import estimate_tokens, format_chars, plural
from context_guard_effects.guard import Distilled

WIDTH = 120
"""Of a table that no terminal shows."""

MAX_TRACES = 8
"""Of one output; `--json` has all."""

STYLES = {"distilled": "green", "removed": "cyan", "kept": "dim"}


def edits_of(distilled: Distilled) -> tuple[Replace | Omit, ...]:
    return tuple(draft for draft in distilled.settlement.drafts if isinstance(draft, Replace | Omit))


def as_table(distilled: Distilled) -> str:
    """One row an item; empty when there is none."""
    decisions = distilled.settlement.decisions
    if not decisions:
        return ""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("entry", no_wrap=True, style="dim")
    table.add_column("output", overflow="fold", ratio=3)
    table.add_column("characters", no_wrap=True, justify="right")
    table.add_column("outcome", no_wrap=True)
    table.add_column("reason", overflow="fold")
    table.add_column("judge", overflow="fold", ratio=2)
    for decision in decisions:
        table.add_row(*_row(decision))
    return printed(table)


def summary(distilled: Distilled, written: int | None) -> str:
    """The total and what to do next, on one line. `written`: edits that were appended, None when none was to be."""
    decisions = distilled.settlement.decisions
    if not decisions:
        return f"Nothing to do: {why_nothing(distilled.plan, distilled.settlement)}"
    edits = len(edits_of(distilled))
    if not edits:
        return "Kept out of context: nothing. Every output stays, for the reason beside it; nothing was changed."
    saved = distilled.settlement.record.saved_chars
    total = f"Kept out of context: {saved:,} characters, about {format_chars(estimate_tokens(saved))} tokens"
    if written is None:
        done = f"Nothing was changed; add --write to append {plural(edits, 'edit')}."
    else:
        done = f"{plural(written, 'edit')} and the record were appended."
    return f"{total} (estimate: 4 characters each). {done}"


def to_json(distilled: Distilled, written: int) -> dict[str, Any]:
    """Keys stay as they are; nothing in it varies between two passes over the same session."""
    record = distilled.settlement.record
    decisions = distilled.settlement.decisions
    return {
        "phase": record.phase,
        "judge": record.model,
        "requests": record.requests,
        "timedOut": record.timed_out,
        "savedChars": record.saved_chars,
        "savedTokensEstimate": estimate_tokens(record.saved_chars),
        "edits": len(edits_of(distilled)),
        "written": written,
        "nothing": why_nothing(distilled.plan, distilled.settlement),
        "items": [_item(decision) for decision in decisions],
    }


def printed(table: Table) -> str:
    """The table as wide as the terminal, in colour only there."""
    out = io.StringIO()
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if is_terminal else WIDTH
    Console(file=out, width=width, force_terminal=is_terminal, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def cell(text: str, style: str = "") -> Text:
    """Text of a session or a settings file: no markup, nothing that a terminal would act on."""
    return Text(visible_line(text), style=style)


def _traces(traces: tuple[str, ...]) -> Text:
    """A line for each request, equal neighbours together."""
    counted = [(trace, len(list(group))) for trace, group in groupby(traces)]
    lines = [trace if count == 1 else f"{trace} ×{count}" for trace, count in counted]
    hidden = [f"… {len(lines) - MAX_TRACES} more"] if len(lines) > MAX_TRACES else []
    return Text("\n").join(map(cell, [*lines[:MAX_TRACES], *hidden]))


def _row(decision: Decision) -> tuple[Text, ...]:
    edited = decision.replacement is not None
    sizes = format_chars(decision.before_chars) + (f" → {format_chars(decision.after_chars)}" if edited else "")
    return (
        cell(decision.entry_id),
        cell(decision.label),
        cell(sizes),
        cell(decision.outcome, STYLES.get(decision.outcome, "")),
        cell(decision.reason),
        _traces(decision.traces),
    )


def _item(decision: Decision) -> dict[str, Any]:
    return {
        "kind": decision.kind,
        "entryId": decision.entry_id,
        "tool": decision.tool,
        "label": decision.label,
        "outcome": decision.outcome,
        "reason": decision.reason,
        "beforeChars": decision.before_chars,
        "afterChars": decision.after_chars,
        "keptLines": decision.kept_lines,
        "totalLines": decision.total_lines,
        "omitted": list(decision.omitted or ()),
        "traces": list(decision.traces),
    }
