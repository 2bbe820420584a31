"""`context-guard recall`: what a model would get back for the id in a note."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.image_files import write_images
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import write, write_bytes

if TYPE_CHECKING:
    from returns.result import Result

    from context_guard.edit_log import RawImage, RawOutput
    from context_guard.recall import Recalled, RecallError
    from context_guard.transcript import Image, Transcript
    from context_guard_effects.store import Place

SESSION_ENDS = (".jsonl", ".json", ".db")
NOTHING_GIVEN = (
    'which output? Give the id in its "[context-guard]" note, of an output in the store; of one in a session file: '
    "context-guard recall SESSION ID."
)
COUNT = click.IntRange(min=1)


@click.command()
@click.argument("session", metavar="[SESSION]", required=False, callback=options.read_id_if_given)
@click.argument("entry", metavar="ID", required=False, callback=options.read_entry)
@click.option(
    "--pattern", metavar="RE", help="Only lines that match this regular expression (RE2), with their numbers."
)
@click.option("--offset", type=COUNT, metavar="N", help="First line, from 1; with --pattern, of those that match.")
@click.option("--limit", type=COUNT, metavar="N", help="Most lines.")
@click.option("--column", type=COUNT, metavar="N", help="First character, from 1, of the line at --offset.")
@click.option("--raw", is_flag=True, help="All of it, exactly as it is stored, without pages and notes.")
@options.leaf
@options.store
@click.option(
    "--images", "folder", type=options.PATH, metavar="DIR", help="Write the images of an output in the store there."
)
def command(
    session: str | None,
    entry: str | None,
    pattern: str | None,
    offset: int | None,
    limit: int | None,
    column: int | None,
    raw: bool,
    leaf: str | None,
    store: "Place | None",
    folder: Path | None,
) -> None:
    """Print the original of an output or of an omitted exchange.

    ID is the id from a [context-guard] note. With a SESSION it is that of a tool result or of a prompt, in one of Pi on
    any branch; alone, that of an output in the store.
    """
    from returns.result import Failure, Success

    from context_guard.recall import recall, recall_output

    if session is None:
        raise click.UsageError(NOTHING_GIVEN)
    paged = {"--pattern": pattern, "--offset": offset, "--limit": limit, "--column": column}
    if raw and (given := [name for name, value in paged.items() if value is not None]):
        raise click.UsageError(f"--raw prints all of it: leave out {' and '.join(given)}, or --raw.")
    window = (pattern, offset, limit, column)
    written: list[str] = []
    hint = ""
    found: Result[Recalled[Image], RecallError] | Result[Recalled[RawImage], RecallError]
    if entry is not None:
        _refuse("without SESSION, for an id of the store", {"--store": store, "--images": folder})
        transcript, hint = _branch(Path(session), entry, leaf)
        found = recall(transcript, entry, *window)
    else:
        _refuse("with a SESSION", {"--leaf": leaf})
        output = _stored(session, store)
        found = recall_output(output, *window)
        written = write_images(output, folder) if folder is not None else []
    match found:
        case Success(recalled) if raw:
            write_bytes(recalled.raw.encode("utf-8", "surrogatepass"))
        case Success(recalled):
            write("".join([recalled.text, "\n", *(written or map(_listed, recalled.images))]))
        case Failure(error):
            raise Stop(f"{error.message}{hint}", UNREADABLE)


def _refuse(where: str, given: dict[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise click.UsageError(f"{name} goes {where}.")


def _branch(session: Path, entry: str, leaf: str | None) -> "tuple[Transcript, str]":
    """The one asked for, or else one on which the entry lies; and what the user may have meant where there is none."""
    from context_guard_effects.cli.sources import branch_through, open_session

    source = open_session(session, leaf, holding=entry)
    if entry not in source.known:
        return source.transcript, nearest(entry, source.known) or f" {_outputs_in(source.transcript)}"
    if leaf is not None or any(item.id == entry for item in source.transcript.entries):
        return source.transcript, ""
    assert source.file is not None  # of any other host the transcript has all that is known
    return branch_through(source.file, entry), ""


def _outputs_in(transcript: "Transcript") -> str:
    from context_guard_effects.cli.sources import first_few

    outputs = [it.id for it in transcript.entries if it.role == "tool"]
    return f"Tool outputs in it: {first_few(outputs)}."


def _stored(id: str, store: "Place | None") -> "RawOutput":
    from context_guard.text import shell_word
    from context_guard_effects.cli.stores import reading
    from context_guard_effects.store import Expired
    from context_guard_effects.word_log import day, unknown_output

    if Path(id).exists():
        kind = "session: give" if Path(id).is_file() else "folder: give a session in it and"
        raise click.UsageError(f"{id} is a {kind} the id of an entry behind it.")
    if Path(id).suffix in SESSION_ENDS:
        raise click.UsageError(f"There is no file {id}, and no id is like that.")
    instead = f" Of an output in a session file: context-guard recall SESSION {shell_word(id)}."
    with reading(store, instead) as opened:
        match opened.raw(id):
            case None:
                raise unknown_output(id, opened)
            case Expired(at=at):
                raise Stop(
                    f"the original of {id!r} was deleted from the store on {day(at)} by a purge. The host's own "
                    "history may still hold it; or run the tool again.",
                    UNREADABLE,
                )
            case output:
                return output


def _listed(image: "Image | RawImage") -> str:
    from context_guard.transcript import Image

    if isinstance(image, Image):
        size = f", {image.width}×{image.height}" if image.width and image.height else ""
        return f"[image: {image.media_type}{size}, {image.ref}]\n"
    if image.kind == "url":
        return f"[image: {image.media_type}, {image.data}]\n"
    return f"[image: {image.media_type}, {len(image.data) * 3 // 4:,} bytes; --images DIR writes it to a file]\n"
