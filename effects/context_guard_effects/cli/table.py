"""What a pass came to: as a table and a sentence for people, as a JSON value for programs."""

import io
import shutil
import sys
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from context_guard.bill import bill_lines
from context_guard.checkpoint import Checkpoint, Due
from context_guard.decisions import Decision
from context_guard.drafts import Omit, Replace
from context_guard.idle import why_nothing
from context_guard.printable import visible_line
from context_guard.text import estimate_tokens, format_chars, plural
from context_guard_effects.guard import Distilled

WIDTH = 120
"""Of a table that no terminal shows."""

NARROW = 100
"""Below that kind and reason have no columns of their own."""

MIN_WIDTH = 60
"""Below that the columns fold to a few letters; a terminal then breaks the lines by itself."""

MAX_TRACES = 8
"""Of one output; `--json` has all."""

STYLES = {"distilled": "green", "removed": "cyan", "kept": "dim"}


def edits_of(distilled: Distilled) -> tuple[Replace | Omit, ...]:
    return tuple(draft for draft in distilled.settlement.drafts if isinstance(draft, Replace | Omit))


def as_table(distilled: Distilled) -> str:
    """One row an item, what the judge said under its label; empty when there is none."""
    decisions = distilled.settlement.decisions
    if not decisions:
        return ""
    with_kind = any(decision.kind != "large" for decision in decisions)
    is_narrow = _width() < NARROW
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("entry, kind" if with_kind and is_narrow else "entry", no_wrap=True)
    if with_kind and not is_narrow:
        table.add_column("kind", no_wrap=True)
    table.add_column("output, judge", overflow="fold", ratio=1)
    table.add_column("characters", no_wrap=True, justify="right")
    table.add_column("outcome", overflow="fold", max_width=14)
    if not is_narrow:
        table.add_column("reason", overflow="fold", max_width=20)
    for decision in decisions:
        entry = [cell(decision.entry_id, "dim"), *([cell(decision.kind)] if with_kind else [])]
        label = Text("\n").join([cell(decision.label), *_traces(decision.traces)])
        outcome = [cell(decision.outcome, STYLES.get(decision.outcome, "")), cell(decision.reason)]
        if is_narrow:
            entry, outcome = [Text("\n").join(entry)], [Text("\n").join(outcome)]
        table.add_row(*entry, label, cell(_sizes(decision)), *outcome)
    return printed(table)


def below(distilled: Distilled) -> str:
    """A line each: that a checkpoint is due, and what the edits cost."""
    checkpoint = distilled.plan.checkpoint
    due = [f"Checkpoint {checkpoint.reason} characters."] if isinstance(checkpoint, Due) else []
    return "".join(f"{line}\n" for line in [*due, *bill_lines(distilled.settlement.gates)])


def summary(distilled: Distilled, written: int | None, host: str) -> str:
    """The total and what to do next, on one line. `written`: edits that were appended, None when none was to be;
    `host`: whose session it is."""
    decisions = distilled.settlement.decisions
    if not decisions:
        return f"Nothing to do: {why_nothing(distilled.plan, distilled.settlement)}"
    edits = len(edits_of(distilled))
    if not edits:
        return "Kept out of context: nothing. Every output stays, for the reason beside it; nothing was changed."
    saved = distilled.settlement.record.saved_chars
    total = f"Kept out of context: {saved:,} characters, about {format_chars(estimate_tokens(saved))} tokens"
    if written is None and host != "pi":
        done = f"Nothing was changed: a session of {visible_line(host)} has no room for edits."
    elif written is None:
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
        "checkpoint": _checkpoint(distilled.plan.checkpoint),
        "costs": list(bill_lines(distilled.settlement.gates)),
        "items": [_item(decision) for decision in decisions],
    }


def printed(table: RenderableType) -> str:
    """The table as wide as the terminal, in colour only there."""
    out = io.StringIO()
    Console(file=out, width=_width(), force_terminal=_is_terminal(), legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _width() -> int:
    return max(MIN_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) if _is_terminal() else WIDTH


def cell(text: str, style: str = "") -> Text:
    """Text of a session or a settings file: no markup, nothing that a terminal would act on."""
    return Text(visible_line(text), style=style)


def _traces(traces: tuple[str, ...]) -> list[Text]:
    """A line for each request, equal neighbours together."""
    counted = [(trace, len(list(group))) for trace, group in groupby(traces)]
    lines = [trace if count == 1 else f"{trace} ×{count}" for trace, count in counted]
    hidden = [f"… {len(lines) - MAX_TRACES} more"] if len(lines) > MAX_TRACES else []
    return [cell(f"  {line}", "dim") for line in [*lines[:MAX_TRACES], *hidden]]


def _sizes(decision: Decision) -> str:
    edited = decision.replacement is not None
    return format_chars(decision.before_chars) + (f" → {format_chars(decision.after_chars)}" if edited else "")


def _checkpoint(checkpoint: Checkpoint | None) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    tier = checkpoint.tier if isinstance(checkpoint, Due) else None
    return {"due": tier is not None, "tier": tier, "reason": checkpoint.reason}


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
