"""`context-guard recall`: what a model would get back for the id in a note."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import write, write_bytes

if TYPE_CHECKING:
    from context_guard.transcript import Image

COUNT = click.IntRange(min=1)


@click.command()
@options.session
@options.entry
@click.option(
    "--pattern", metavar="RE", help="Only lines that match this regular expression (RE2), with their numbers."
)
@click.option("--offset", type=COUNT, metavar="N", help="First line, from 1; with --pattern, of those that match.")
@click.option("--limit", type=COUNT, metavar="N", help="Most lines.")
@click.option("--column", type=COUNT, metavar="N", help="First character, from 1, of the line at --offset.")
@click.option("--raw", is_flag=True, help="All of it, exactly as it is stored, without pages and notes.")
@options.leaf
def command(
    session: Path,
    entry: str,
    pattern: str | None,
    offset: int | None,
    limit: int | None,
    column: int | None,
    raw: bool,
    leaf: str | None,
) -> None:
    """Print the original of an output or of an omitted exchange.

    ENTRY is the id from a [context-guard] note: that of a tool result or of a prompt, on any branch of SESSION.
    """
    from returns.result import Failure, Success

    from context_guard.recall import recall
    from context_guard_effects.cli.sources import branch_through, open_session

    paged = {"--pattern": pattern, "--offset": offset, "--limit": limit, "--column": column}
    if raw and (given := [name for name, value in paged.items() if value is not None]):
        raise click.UsageError(f"--raw prints all of it: leave out {' and '.join(given)}, or --raw.")
    source = open_session(session, leaf)
    transcript = source.transcript
    if leaf is None and entry in source.file.session.places and all(item.id != entry for item in transcript.entries):
        transcript = branch_through(source.file, entry)
    match recall(transcript, entry, pattern, offset, limit, column):
        case Success(recalled) if raw:
            write_bytes(recalled.raw.encode("utf-8", "surrogatepass"))
        case Success(recalled):
            write("".join([recalled.text, "\n", *map(_listed, recalled.images)]))
        case Failure(error):
            hint = "" if entry in source.file.session.places else nearest(entry, source.file.session.places)
            raise Stop(f"{error.message}{hint}", UNREADABLE)


def _listed(image: "Image") -> str:
    size = f", {image.width}×{image.height}" if image.width and image.height else ""
    return f"[image: {image.media_type}{size}, {image.ref}]\n"
