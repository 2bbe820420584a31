"""`context-guard report`: one page about a session, for people to look at."""

import os
from pathlib import Path
from typing import Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNWRITABLE, Stop
from context_guard_effects.cli.output import write, write_file


@click.command()
@options.session
@click.option("-o", "--output", "page", type=options.PATH, metavar="FILE", required=True, help="Where to write it.")
@options.judging
def command(session: Path, page: Path, leaf: str | None, **how: Any) -> None:
    """Write one HTML page about a session: what stays of each output, and why.

    The size of the context with and without the guard, every output beside what the model would see of it, what the
    judge said about each piece, rules, costs and settings. FILE loads nothing and runs nothing of the session; it
    quotes it, so it is readable for its owner alone. SESSION itself stays.
    """
    from context_guard.report import build_page
    from context_guard.text import plural
    from context_guard_effects.cli.judging import check_answered, judge_transcript
    from context_guard_effects.cli.sources import open_session
    from context_guard_effects.report import render_page

    if os.path.realpath(page) == os.path.realpath(session):
        raise Stop(f"{session} would be written over: give another file than {page}", UNWRITABLE)
    source = open_session(session, leaf)
    distilled = judge_transcript(source.transcript, **how)
    built = build_page(source.transcript, distilled.plan, distilled.settlement, source.recall_way("SESSION"))
    write_file(page, render_page(built))
    write(f"{page}: {plural(len(built.outputs), 'output')}. Open it in a browser.\n")
    check_answered(distilled)
