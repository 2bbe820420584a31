"""`context-guard diff`: two traces, or two judges or settings over sessions, as a report for a reviewer."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import DIFFERENT, EXIT_CODES
from context_guard_effects.cli.output import write_file

if TYPE_CHECKING:
    from context_guard.comparison_lines import Named
    from context_guard.needs import Labels
    from context_guard_effects.cli.comparing import Spread

LINES = 40


@click.command(epilog=EXIT_CODES)
@click.argument("old", type=options.place)
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
@options.jobs
@options.spread
@click.pass_context
def command(
    ctx: click.Context,
    /,
    old: str,
    new: Path | None,
    labels: Path | None,
    page: Path | None,
    as_json: bool,
    lines: int,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
    out: str | None,
    **how: Any,
) -> None:
    """Show which outputs come out otherwise, line by line.

    OLD and NEW are traces, or folders of them with the same names. OLD alone is a session of any host, a trace, or a
    folder of both: the old side has the settings of --config and --old-set (a trace its own), the new side those of
    --set on top. What is left out of a folder is told. A trace is asked again only with --judge. Exits with 1 where
    something changed. --engine, --out and a URL as OLD are for many sessions or traces, each file on both sides.
    """
    from context_guard.comparison import compare
    from context_guard.comparison_lines import Named
    from context_guard_effects.cli.comparing import Spread
    from context_guard_effects.cli.pairs import pair_up, pair_with_itself
    from context_guard_effects.cli.traces import open_labels, print_comparison

    needs = open_labels(labels)
    spread = Spread(engine, scheduler, out, jobs)
    if spread.is_wanted(old):
        if new is not None or (page is not None and out is not None):
            raise click.UsageError("--engine, --out and URLs are for one place: leave NEW out, and --html with --out.")
        found = _spread(old, needs, spread, **how)
        if isinstance(found, bool):
            ctx.exit(DIFFERENT if found else 0)
        named = found
    else:
        pairs = pair_with_itself(Path(old), **how) if new is None else pair_up(Path(old), new, ctx)
        named = tuple(Named(name, compare(one, other, needs.of(Path(name).name))) for name, one, other in pairs)
    if page is not None:
        from context_guard_effects.review import review_page

        write_file(page, review_page(named))
    ctx.exit(DIFFERENT if print_comparison(named, as_json, lines) else 0)


def _spread(
    old: str,
    labels: "Labels",
    spread: "Spread",
    *,
    settings: tuple[str, ...],
    old_settings: tuple[str, ...],
    judge: str | None,
    old_judge: str | None,
    config_file: Path | None,
    **moment: Any,
) -> "tuple[Named, ...] | bool":
    import json
    from functools import partial

    from context_guard_effects.cli.comparing import check_embedded, compare_all
    from context_guard_effects.cli.moment import boundary_at
    from context_guard_effects.cli.settings import read_assignments, read_settings
    from context_guard_effects.cli.spreading import absolute
    from context_guard_effects.fleet.auditing import settings_told
    from context_guard_effects.fleet.comparing import How

    base = read_settings(config_file, old_settings)
    changed = read_settings(None, settings, base)
    check_embedded(old_judge or judge or base.model, judge or changed.model)
    place = absolute(old)
    changes = json.dumps(read_assignments(settings), sort_keys=True)
    how = How(
        boundary=partial(boundary_at, **moment),
        old=base,
        base=None,
        changes=changes,
        start="span",
        asks=judge is not None,
        labels=labels,
        root=place,
        has_lines=spread.out is None,
    )
    told = {"old": settings_told(base), "new": changes, "asks": how.asks, "labels": repr(labels), **moment}
    return compare_all("diff", place, how, told, spread)
