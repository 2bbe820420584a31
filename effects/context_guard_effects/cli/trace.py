"""`context-guard trace`: a pass as one JSON value, and in the three files that the snapshots pin."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNWRITABLE, Stop
from context_guard_effects.cli.output import write, write_bytes, write_file

if TYPE_CHECKING:
    from context_guard.saved_trace import Trace


@click.command()
@options.session
@click.option(
    "-o",
    "--output",
    type=options.PATH,
    metavar="FILE.json|DIR",
    help="Where to write. [default: the JSON value to stdout]",
)
@options.judging
def command(session: Path, output: Path | None, leaf: str | None, **how: Any) -> None:
    """Write what a pass did, stage by stage.

    A trace is one JSON value, from which `replay` runs any later stage again. A DIR gets it as trace.json, beside
    trace.txt (every stage, for people), replacement.txt (what the model would see) and record.json. SESSION itself
    stays. A trace quotes all of the session.
    """
    from context_guard.saved_trace import encode_trace
    from context_guard_effects.cli.judging import check_answered, trace_transcript
    from context_guard_effects.cli.sources import open_session

    trace = trace_transcript(open_session(session, leaf).transcript, **how)
    if output is None:
        write_bytes(encode_trace(trace).encode())
    elif output.suffix == ".json" and not output.is_dir():
        _write({output: encode_trace(trace)}, session)
    else:
        _write({output / name: text for name, text in _files(trace).items()}, session)
    check_answered(trace)


def _files(trace: "Trace") -> dict[str, str]:
    from context_guard.saved_trace import encode_trace
    from context_guard.trace import record_json, replacement_text, trace_text

    plan, settlement = trace.plan, trace.settlement
    return {
        "trace.txt": trace_text(plan, settlement),
        "replacement.txt": replacement_text(plan, settlement),
        "record.json": record_json(settlement),
        "trace.json": encode_trace(trace),
    }


def _write(files: dict[Path, str], session: Path) -> None:
    folder = next(iter(files)).parent
    if any(os.path.realpath(path) == os.path.realpath(session) for path in files):
        raise Stop(f"{session} would be written over: give another place than {folder}", UNWRITABLE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    for path, text in files.items():
        write_file(path, text)
    write("".join(f"{path}\n" for path in files))
