"""`context-guard diff`: two traces, or two judges or settings over sessions, as a report for a reviewer."""

from pathlib import Path
from typing import Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import DIFFERENT, EXIT_CODES
from context_guard_effects.cli.output import write_file

LINES = 40


@click.command(epilog=EXIT_CODES)
@click.argument("old", type=options.PATH)
@click.argument("new", type=options.PATH, required=False)
@click.option("--labels", type=options.PATH, metavar="FILE", help="JSON: entry → lines that are needed.")
@click.option("--html", "page", type=options.PATH, metavar="FILE", help="Write the report as a page for a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@click.option(
    "--lines", type=click.IntRange(min=0), default=LINES, show_default=True, help="Lines printed of one item's diff."
)
@click.option("--old-judge", metavar="JUDGE", help="Over sessions: the judge of the old side. [default: as --judge]")
@click.option("--old-set", "old_settings", metavar="KEY=VALUE", multiple=True, help="A setting of the old side.")
@options.config_file
@options.settings
@options.judge
@options.now
@options.phase
@options.last_run
@click.pass_context
def command(
    ctx: click.Context,
    /,
    old: Path,
    new: Path | None,
    labels: Path | None,
    page: Path | None,
    as_json: bool,
    lines: int,
    **how: Any,
) -> None:
    """Show which outputs come out otherwise, line by line.

    OLD and NEW are traces, or folders of them with the same names. OLD alone is a session of
    any host, a trace, or a folder of both: the old side has the settings of --config and --old-set (a trace its own),
    the new side those of --set on top. What is left out of a folder is told. A trace is asked again only with --judge.
    Exits with 1 where something changed.
    """
    from context_guard.comparison import compare
    from context_guard.comparison_lines import Named
    from context_guard_effects.cli.pairs import pair_up, pair_with_itself
    from context_guard_effects.cli.traces import open_labels, print_comparison

    needs = open_labels(labels)
    pairs = pair_with_itself(old, **how) if new is None else pair_up(old, new, ctx)
    named = tuple(Named(name, compare(one, other, needs.of(Path(name).name))) for name, one, other in pairs)
    if page is not None:
        from context_guard_effects.review import review_page

        write_file(page, review_page(named))
    ctx.exit(DIFFERENT if print_comparison(named, as_json, lines) else 0)
