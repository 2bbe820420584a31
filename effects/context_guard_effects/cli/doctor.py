"""`context-guard doctor`: what is wrong with a session, and with `--repair` what mends it, appended."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import EXIT_CODES, UNHEALTHY, UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.cli.output import write, write_json

if TYPE_CHECKING:
    from context_guard.doctor import Finding, Repair
    from context_guard_effects.hosts.pi import FileState


@click.command(epilog=EXIT_CODES)
@options.session
@click.option("--repair", "mend", is_flag=True, help="Append to SESSION, closed in Pi, what mends it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
@click.pass_context
def command(ctx: click.Context, session: Path, mend: bool, as_json: bool) -> None:
    """Find what bricks or silently shortens a session of Pi.

    Looked at is the branch that Pi goes on with. --repair never changes a line that stands in the file, and appends
    only what a second look proves to help.
    """
    from returns.result import Failure

    from context_guard.doctor import examine, plan_repair
    from context_guard_effects.cli.sources import other_host
    from context_guard_effects.hosts.errors import HostError
    from context_guard_effects.hosts.pi import read_bytes

    if host := other_host(session):
        raise Stop(
            f"{session}: doctor is for sessions of Pi, and this one is of {host}. What a guard would do in it: "
            "context-guard report or distill.",
            UNREADABLE,
        )
    try:
        state, data = read_bytes(session)
    except HostError as error:
        raise Stop(error.message, UNREADABLE) from error
    match examine(data):
        case Failure(error):
            raise Stop(f"{session}: {error.message}", UNREADABLE)
    repair = plan_repair(data)
    is_mended = mend and bool(repair.mends)
    if is_mended:
        _append(state, data, repair)
    try:
        _print(session, repair, mend, as_json)
    except BaseException as error:
        if is_mended:
            error.add_note(f"the repair was appended to {session} all the same")
        raise
    if any(finding.is_urgent for finding in (repair.left if mend else (*repair.mended, *repair.left))):
        ctx.exit(UNHEALTHY)


def _append(state: "FileState", data: bytes, repair: "Repair") -> None:
    from context_guard.formats.pi_mends import mend_lines
    from context_guard.formats.pi_session import parse
    from context_guard_effects.hosts.errors import HostError
    from context_guard_effects.hosts.pi import append_lines, now_iso, random_ids

    try:
        append_lines(state, mend_lines(parse(data).unwrap(), repair.mends, random_ids(), now_iso()))
    except HostError as error:
        raise Stop(error.message, UNWRITABLE) from error


def _print(session: Path, repair: "Repair", mend: bool, as_json: bool) -> None:
    if as_json:
        write_json(
            {
                "session": str(session),
                "mended": [_plain(finding) for finding in (*repair.mended, *repair.revealed)] if mend else [],
                "findings": [_plain(finding) for finding in (repair.left if mend else _all(repair))],
                "mends": len(repair.mends),
                "written": mend and bool(repair.mends),
            }
        )
        return
    blocks = [_block(finding, "mended" if mend else finding.severity) for finding in repair.mended]
    blocks += [_block(finding, "mended") for finding in (repair.revealed if mend else ())]
    blocks += [_block(finding, finding.severity) for finding in repair.left]
    write("".join(f"{block}\n" for block in blocks) + _summary(session, repair, mend) + "\n")


def _all(repair: "Repair") -> tuple["Finding", ...]:
    return (*repair.mended, *repair.left)


def _block(finding: "Finding", said: str) -> str:
    from context_guard.printable import visible_line

    at = [f"line {finding.line}"] if finding.line else []
    where = ", ".join([*at, *([f"entry {finding.entry}"] if finding.entry else [])])
    rows = [f"{said}: {where or 'the file'} ({finding.kind})", f"  {finding.what}.", f"  {finding.harm}"]
    return "\n".join(map(visible_line, rows if said == "mended" else [*rows, f"  {finding.remedy}"]))


def _summary(session: Path, repair: "Repair", mend: bool) -> str:
    """How the session is, and what to run next."""
    from context_guard.printable import visible_line
    from context_guard.text import plural

    file = visible_line(shlex.quote(str(session)))
    urgent = [finding for finding in _all(repair) if finding.is_urgent]
    left = [finding for finding in repair.left if finding.is_urgent]
    if not urgent:
        return f"Nothing bricks or shortens {file}."
    counts = f"Faults: {', '.join(_counted(urgent))}"
    mendable = len(urgent) - len(left)
    if not mend:
        todo = f"add --repair to mend {mendable} of them" if mendable else "nothing that is appended would mend them"
        return f"{counts}. Nothing was changed; {todo}."
    if not repair.mends:
        return f"{counts}. Nothing was changed: nothing that is appended would mend them."
    rest = f"{len(left)} left" if left else "none left"
    if repair.revealed:
        rest += f", and {len(repair.revealed)} more mended that came to light"
    return f"{counts}: {mendable} mended, {rest}. Appended: {plural(len(repair.mends), 'mend')}; no line was changed."


def _counted(findings: list["Finding"]) -> list[str]:
    kinds = (("brick", "bricks"), ("shorten", "shortens"))
    counts = [(sum(finding.severity == one for finding in findings), many, one) for many, one in kinds]
    return [f"{count} that {one if count == 1 else many} the session" for count, many, one in counts if count]


def _plain(finding: "Finding") -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "line": finding.line,
        "entryId": finding.entry,
        "what": finding.what,
        "harm": finding.harm,
        "remedy": finding.remedy,
    }
