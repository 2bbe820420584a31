"""`context-guard distill`: one pass over a session, shown, and with `--write` appended."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import EXIT_CODES, UNWRITABLE, Stop
from context_guard_effects.cli.output import warn, write, write_file, write_json

if TYPE_CHECKING:
    from context_guard_effects.cli.sources import Source
    from context_guard_effects.guard import Distilled
    from context_guard_effects.hosts.pi import SessionFile


@click.command(epilog=EXIT_CODES)
@options.session
@click.option(
    "--write",
    "append",
    is_flag=True,
    help="Append the edits and the record to SESSION, one of Pi, closed there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@click.option(
    "--record", "recording", type=options.PATH, metavar="FILE", help="Write the answers for --judge recorded:FILE."
)
@options.judging
def command(
    session: Path,
    append: bool,
    as_json: bool,
    recording: Path | None,
    leaf: str | None,
    **how: Any,
) -> None:
    """Judge the tool outputs of a session and show what stays.

    Each finished run is judged by its own answer. Without --write SESSION is not changed.
    """
    from context_guard.text import plural
    from context_guard_effects.cli.judging import check_answered, judge_transcript
    from context_guard_effects.cli.sources import open_session
    from context_guard_effects.cli.table import as_table, below, summary, to_json

    source = open_session(session, leaf)
    distilled = judge_transcript(source.transcript, **how)
    if recording is not None:
        _record(distilled, recording, session)
    edits = _append(source, distilled) if append else 0
    try:
        if as_json:
            write_json(_described(session, source) | to_json(distilled, written=edits))
        else:
            said = summary(distilled, edits if append else None, source.transcript.host)
            write(f"{as_table(distilled)}{below(distilled)}{said}\n")
    except BaseException as error:
        if edits:
            error.add_note(f"{plural(edits, 'edit')} and the record were appended to {session} all the same")
        raise
    check_answered(distilled)


def _described(path: Path, source: "Source") -> dict[str, Any]:
    return {"session": str(path), "leaf": source.transcript.head}


def _record(distilled: "Distilled", path: Path, session: Path) -> None:
    """Written whole or not at all, and before anything is appended to the session."""
    from context_guard_effects.judges.recorded import is_recording, record_answers

    if os.path.realpath(path) == os.path.realpath(session):
        raise Stop(f"cannot write the answers to {path}: it is the session", UNWRITABLE)
    if path.is_file() and path.stat().st_size and not is_recording(path.read_bytes()):
        raise Stop(f"{path} is there and holds no recorded answers: give another file", UNWRITABLE)
    write_file(path, record_answers(distilled.settlement.outcomes))


def _append(source: "Source", distilled: "Distilled") -> int:
    """The number of edits that are now in the session. A pass that edits nothing leaves no record either."""
    from context_guard_effects.cli.table import edits_of
    from context_guard_effects.hosts.errors import HostError
    from context_guard_effects.hosts.pi import append_drafts, now_iso, random_ids

    file = _of_pi(source)
    drafts = distilled.settlement.drafts
    edits = edits_of(distilled)
    if not edits:
        return 0
    _check_leaf(file, source.transcript.head, frozenset(draft.target for draft in edits))
    try:
        appended = append_drafts(file, drafts, random_ids(), now_iso())
    except HostError as error:
        raise Stop(error.message, UNWRITABLE) from error
    for skipped in appended.skipped:
        warn(f"no edit of {skipped.target}: {skipped.reason}")
    return len(edits) - len(appended.skipped)


def _of_pi(source: "Source") -> "SessionFile":
    if source.file is None:
        raise Stop(
            "nothing was written: only sessions of Pi have room for edits, and this one is of "
            f"{source.transcript.host}. What would stay of it is shown without --write.",
            UNWRITABLE,
        )
    return source.file


def _check_leaf(file: "SessionFile", head: str | None, targets: frozenset[str]) -> None:
    """Edits hold behind the last entry of the file, where Pi goes on, whatever leaf they were judged at."""
    from context_guard.formats.pi_session import branch, edits_in_force, select

    session = file.session
    if head == session.leaf:
        return
    path = [session.entries[place] for place in branch(session)]
    if all(entry["id"] != head for entry in path):
        said = f"{head} is not on the branch of the last entry, {session.leaf}, behind which edits are appended"
        raise Stop(f"nothing was written: {said}. Go on from {head} in Pi first (/tree).", UNWRITABLE)
    if again := sorted(targets & edits_in_force(path, select(path)).keys()):
        said = f"behind {head} the session already has edits of {', '.join(again)}"
        raise Stop(f"nothing was written: {said}. Leave out --leaf.", UNWRITABLE)
    warn(f"judged as of {head}, but the edits go behind the last entry, {session.leaf}: Pi goes on there")
