"""`context-guard case`: one decision about a session as a case that a test runs, small and without secrets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import DIFFERENT, EXIT_CODES, UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import warn, write, write_file

if TYPE_CHECKING:
    from context_guard.render import LineRanges
    from context_guard.transcript import Entry


@click.command(epilog=EXIT_CODES)
@options.session
@options.entry
@click.option(
    "-o", "--output", "folder", type=options.PATH, metavar="DIR", required=True, help="The new case's folder."
)
@click.option(
    "--needs", metavar="LINES", help="Lines that should stay, such as 12-15,40: the case fails until they do."
)
@click.option("--says", metavar="TEXT", help="In one sentence, what should happen.")
@click.option(
    "--ask-local",
    is_flag=True,
    help="The case asks the embedded judge, to show a wrong answer. [default: it pins what the judge said, to show a "
    "wrong rule]",
)
@options.judging
@click.pass_context
def command(
    ctx: click.Context,
    /,
    session: Path,
    entry: str,
    folder: Path,
    needs: str | None,
    says: str | None,
    ask_local: bool,
    leaf: str | None,
    **how: Any,
) -> None:
    """Write the decision about ENTRY as DIR/case.toml: what it needs of the session and no more, secrets masked.

    Below tests/cases of a checkout, pytest runs it. Every part that was left out was tried: without it the decision is
    the same. Read the file before you give it away: secrets are found by their form. SESSION itself stays.
    """
    from context_guard.text import plural
    from context_guard_effects.cli.judging import trace_transcript
    from context_guard_effects.cli.sources import first_few, open_session
    from context_guard_effects.testing.problems import Wish, make_problem

    transcript = open_session(session, leaf, holding=entry).transcript
    found = next((it for it in transcript.entries if it.id == entry), None)
    if found is None:
        outputs = [it.id for it in transcript.entries if it.role == "tool"]
        hint = nearest(entry, outputs)
        raise Stop(f"entry {entry!r} is not in this branch; its tool outputs: {first_few(outputs)}.{hint}", UNREADABLE)
    lines = _read_lines(needs, found)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise Stop(f"{folder} is there already: give another folder", UNWRITABLE)
    trace = trace_transcript(transcript, **how)
    problem = make_problem(
        trace, Wish(entry, lines, ask_local, says or f"What should become of {entry} is to be said here.")
    )
    _write(folder, problem.case)
    kept, of = problem.parts
    masked = f"; secrets masked in {plural(problem.secrets, 'text')} of the session" if problem.secrets else ""
    write(f"{folder / 'case.toml'}: {kept} of {plural(of, 'part')} of the branch; {entry} is {problem.name}{masked}\n")
    if not problem.reproduces:
        warn("the case does not come to the decision of the session, so all of the run was kept")
        ctx.exit(DIFFERENT)


def _read_lines(needs: str | None, entry: "Entry") -> "LineRanges":
    from context_guard.needs import as_ranges
    from context_guard.text import plural
    from context_guard.transcript import text_of

    if needs is None:
        return ()
    try:
        pairs = [[int(end) for end in (piece.split("-") * 2)[:2]] for piece in needs.split(",")]
        found = as_ranges(pairs)
    except ValueError as error:
        raise click.BadParameter(f"{needs!r}: give lines counted from 1, such as 12-15,40.") from error
    total = text_of(entry.raw).count("\n") + 1
    if found[-1][1] > total:
        raise click.BadParameter(f"{needs!r}: the output has {plural(total, 'line')}.")
    return found


def _write(folder: Path, case: dict[str, Any]) -> None:
    import tomli_w

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    write_file(folder / "case.toml", tomli_w.dumps(case))
