"""`context-guard trace`: a pass in the three files that the snapshots pin."""

import os
from pathlib import Path
from typing import Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNWRITABLE, Stop
from context_guard_effects.cli.output import write, write_file


@click.command()
@options.session
@click.option("-o", "--output", "folder", type=options.PATH, metavar="DIR", required=True, help="Where to write them.")
@options.judging
def command(
    session: Path,
    folder: Path,
    leaf: str | None,
    **how: Any,
) -> None:
    """Write what a pass did to three text files.

    DIR gets trace.txt (every stage), replacement.txt (what the model would see) and record.json; SESSION itself stays.
    """
    from context_guard.trace import record_json, replacement_text, trace_text
    from context_guard_effects.cli.judging import check_answered, judge_transcript
    from context_guard_effects.cli.sources import open_session

    distilled = judge_transcript(open_session(session, leaf).transcript, **how)
    plan, settlement = distilled.plan, distilled.settlement
    files = {
        "trace.txt": trace_text(plan, settlement),
        "replacement.txt": replacement_text(plan, settlement),
        "record.json": record_json(settlement),
    }
    if any(os.path.realpath(folder / name) == os.path.realpath(session) for name in files):
        raise Stop(f"{session} would be written over: give another folder than {folder}", UNWRITABLE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    for name, text in files.items():
        write_file(folder / name, text)
    write("".join(f"{folder / name}\n" for name in files))
    check_answered(distilled)
