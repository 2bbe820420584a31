"""`context-guard replay`: a traced pass again from one of its stages on, and what comes out otherwise."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import DIFFERENT, EXIT_CODES
from context_guard_effects.cli.nearest import NearestChoice
from context_guard_effects.cli.output import write_file

if TYPE_CHECKING:
    from context_guard.comparison_lines import Named
    from context_guard.rerun import Stage
    from context_guard_effects.cli.comparing import Spread

# As `rerun.STAGES`: naming them there would load the pipeline for `--help`. A test compares the two.
STAGES = ("span", "chunks", "segments", "requests", "answers", "keep-sets", "drafts")


@click.command(epilog=EXIT_CODES)
@click.argument("trace", type=options.place)
@click.option(
    "--from",
    "start",
    type=NearestChoice(STAGES),
    default="span",
    show_default=True,
    help="The first stage to run again; everything before it is the trace's. A setting counts only in what runs again.",
)
@click.option("--diff", "with_lines", is_flag=True, help="Show the lines gained and lost.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@click.option("-o", "--output", type=options.PATH, metavar="FILE", help="Write the new trace.")
@options.config_file
@options.settings
@options.judge_again
@options.jobs
@options.spread
@click.pass_context
def command(
    ctx: click.Context,
    trace: str,
    start: "Stage",
    with_lines: bool,
    as_json: bool,
    output: Path | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    judge: str | None,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
    out: str | None,
) -> None:
    """Run a traced pass again and show what changes.

    TRACE is a file or folder written by `trace`. Its settings hold but for those of --config or --set, and its answers
    but with --judge. A recorded answer counts only for a request that still asks the same: else everything is kept.
    With --engine, --out or a URL it is a folder of traces.
    """
    import sys

    from context_guard.comparison import compare
    from context_guard.comparison_lines import Named
    from context_guard.rerun import rerun
    from context_guard.saved_trace import encode_trace
    from context_guard_effects.cli.comparing import Spread
    from context_guard_effects.cli.judging import ask_judge, check_answered
    from context_guard_effects.cli.settings import DEFAULTS, read_settings
    from context_guard_effects.cli.traces import open_trace, print_comparison

    if judge is not None and start in ("keep-sets", "drafts"):
        raise click.UsageError(f"--judge asks anew, and --from {start} takes the answers as they are: leave one out.")
    spread = Spread(engine, scheduler, out, jobs)
    if spread.is_wanted(trace):
        if output is not None:
            raise click.UsageError("-o writes one new trace: leave it out with --engine, --out and URLs.")
        found = _spread(trace, start, spread, config_file, settings, judge)
        changed = found if isinstance(found, bool) else print_comparison(found, as_json, sys.maxsize * with_lines)
        ctx.exit(DIFFERENT if changed else 0)
    old = open_trace(Path(trace))
    config = read_settings(config_file, settings, DEFAULTS if config_file else old.config)
    new = rerun(old, config, start, None if judge is None else ask_judge(judge))
    if output is not None:
        write_file(output, encode_trace(new))
    is_changed = print_comparison((Named(trace, compare(old, new)),), as_json, sys.maxsize if with_lines else 0)
    check_answered(new)
    ctx.exit(DIFFERENT if is_changed else 0)


def _spread(
    trace: str,
    start: "Stage",
    spread: "Spread",
    config_file: Path | None,
    settings: tuple[str, ...],
    judge: str | None,
) -> "tuple[Named, ...] | bool":
    import json
    from functools import partial

    from context_guard.needs import Labels
    from context_guard_effects.cli.comparing import check_embedded, compare_all
    from context_guard_effects.cli.moment import boundary_at
    from context_guard_effects.cli.settings import read_assignments, read_settings
    from context_guard_effects.cli.spreading import absolute
    from context_guard_effects.fleet.auditing import settings_told
    from context_guard_effects.fleet.comparing import How

    check_embedded(judge or "local")
    base = read_settings(config_file, settings)  # a slip in them is told before anything is read
    place = absolute(trace)
    changes = json.dumps(read_assignments(settings), sort_keys=True)
    how = How(
        boundary=partial(boundary_at, phase="run-end", now=None, last_run=False),
        old=None,
        base=base if config_file else None,
        changes=changes,
        start=start,
        asks=judge is not None,
        labels=Labels(()),
        root=place,
        has_lines=spread.out is None,
    )
    told = {"base": settings_told(base) if config_file else None, "new": changes, "asks": how.asks, "start": start}
    return compare_all("replay", place, how, told, spread)
