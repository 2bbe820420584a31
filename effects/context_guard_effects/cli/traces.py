"""The traces that a command is given, and what it prints about two of them."""

from pathlib import Path
from typing import Any

import msgspec
from returns.result import Failure

from context_guard.comparison_lines import Named, add_up, comparison_lines
from context_guard.needs import Labels, as_pairs, read_labels
from context_guard.printable import visible_line
from context_guard.saved_trace import Trace, decode_trace
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.output import write, write_json
from context_guard_effects.cli.sources import read_file

NAME = "trace.json"
"""Of the trace in a folder that `trace -o DIR` wrote."""


def open_trace(path: Path) -> Trace:
    """A trace, or the one in a folder that `trace -o` wrote."""
    path = path / NAME if path.is_dir() else path
    found = decode_trace(read_file(path))
    if isinstance(found, Failure):
        raise Stop(f"{path}: {found.failure().message}", UNREADABLE)
    return found.unwrap()


def open_labels(path: Path | None) -> Labels:
    if path is None:
        return Labels(())
    found = read_labels(read_file(path))
    if isinstance(found, Failure):
        raise Stop(f"{path}: {found.failure().message}", UNREADABLE)
    return found.unwrap()


def print_comparison(named: tuple[Named, ...], as_json: bool, lines: int) -> bool:
    """Whether anything changed. `lines`: shown of one item's diff."""
    totals = add_up(named)
    if as_json:
        write_json(comparison_json(named))
    else:
        write("".join(f"{line}\n" for line in comparison_lines(named, lines)))
    return totals.changed > 0


def comparison_json(named: tuple[Named, ...]) -> dict[str, Any]:
    """Lines are counted from 1, both ends included."""
    totals = add_up(named)
    return {
        **msgspec.to_builtins(totals),
        "old_share": totals.old_share,
        "new_share": totals.new_share,
        "by_session": [_session(each) for each in named],
    }


def _session(each: Named) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(each.comparison)
    for change in plain["changes"]:
        for place, key in ((change, "gained"), (change, "lost"), (change["old"], "lines"), (change["new"], "lines")):
            place[key] = as_pairs(place[key])
    return {"name": visible_line(each.name), **plain}
