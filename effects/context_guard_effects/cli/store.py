"""`context-guard store`: what is kept beside the message lists of hosts, and deleting it."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.age import read_age
from context_guard_effects.cli.exits import WARNED
from context_guard_effects.cli.nearest import NearestGroup
from context_guard_effects.cli.output import write, write_json

if TYPE_CHECKING:
    from context_guard_effects.store import Place, Purged


@click.group(cls=NearestGroup, no_args_is_help=False)
def command() -> None:
    """Show, check or purge the store of raw outputs and edits."""


@command.command()
@options.store
def path(store: "Place | None") -> None:
    """Print where the store lies, or would lie."""
    from context_guard_effects.store import default_place

    write(f"{store or default_place()}\n")


@command.command()
@options.store
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
def status(store: "Place | None", as_json: bool) -> None:
    """Show how much is kept, and since when."""
    import msgspec

    from context_guard_effects.cli.stores import reading
    from context_guard_effects.store_text import status_text

    with reading(store) as opened:
        found = opened.status()
    if as_json:
        write_json(msgspec.to_builtins(found))
    else:
        write(status_text(found))


@command.command()
@options.store
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
def sessions(store: "Place | None", as_json: bool) -> None:
    """List the conversations of the log, the latest first."""
    import msgspec

    from context_guard_effects.cli.stores import reading
    from context_guard_effects.store_text import session_line

    with reading(store) as opened:
        found = opened.sessions()
    if as_json:
        write_json(msgspec.to_builtins(found))
    else:
        write("".join(map(session_line, found)) or "No pass is kept.\n")


@command.command()
@options.store
@click.pass_context
def check(ctx: click.Context, store: "Place | None") -> None:
    """Read everything, compare it with its checksums, and print a line for each fault."""
    from context_guard.printable import visible_line
    from context_guard_effects.cli.stores import reading

    with reading(store) as opened:
        faults, found = opened.check(), opened.status()
    write("".join(f"{visible_line(line)}\n" for line in faults) or f"{found.place}: everything is as it was kept\n")
    ctx.exit(WARNED if faults else 0)


@command.command()
@click.option(
    "--older-than", "age", metavar="AGE", callback=read_age, help="Passes kept longer ago: 12h, 30d, 8w; 0d for all."
)
@click.option("--session", "session", metavar="NAME", help="Only passes of this conversation, the user's words too.")
@click.option("--yes", is_flag=True, help="Delete. Without it, say only what would go.")
@options.store
def purge(age: timedelta | None, session: str | None, yes: bool, store: "Place | None") -> None:
    """Delete old passes and every output that no other pass needs.

    Where an edit is gone its host sends the original again, from its own history. The id of a deleted output is
    remembered, so that recall can say when it was deleted.
    """
    from context_guard_effects.cli.stores import writing

    if age is None and session is None:
        raise click.UsageError("Say what to purge: --older-than AGE, --session NAME or both.")
    with writing(store) as opened:
        if yes:
            write(_purged(opened.purge(age, session)))
        else:
            write(_purgeable(opened.purgeable(age, session)))


@command.command()
@click.option("--app-role", default="context_guard_app", show_default=True, metavar="ROLE", help="May add and read.")
@click.option(
    "--retention-role", default="context_guard_retention", show_default=True, metavar="ROLE", help="May purge and read."
)
@options.store
def migrate(app_role: str, retention_role: str, store: "Place | None") -> None:
    """Make the tables on a PostgreSQL server, or bring them up, and give two roles their rights.

    Run it as the owner of the database, again after an update of context-guard. The roles are made where there are
    none; make the users of hosts members of the first. A store in a file needs none of this.
    """
    from context_guard_effects.cli.stores import migrated

    done = migrated(store, app_role, retention_role)
    if done.before == done.after:
        write(f"{done.place}: version {done.after} of the schema, as before; the roles have their rights.\n")
    else:
        was = f"from version {done.before} to {done.after}" if done.before else f"made, version {done.after}"
        write(f"{done.place}: schema {was}; the roles have their rights.\n")


def _purged(purged: "Purged") -> str:
    if not purged.passes and not purged.outputs:
        return "Nothing to delete.\n"
    said = f"Deleted {_what(purged)}.\n"
    if not purged.compacted:
        said += "Another process reads the store, so the file has not shrunk yet: run the same again later.\n"
    return said


def _purgeable(purged: "Purged") -> str:
    if not purged.passes and not purged.outputs:
        return "Nothing to delete.\n"
    return f"Would delete {_what(purged)}. Nothing was changed; add --yes to delete.\n"


def _what(purged: "Purged") -> str:
    from rich.filesize import decimal

    from context_guard.text import plural
    from context_guard_effects.store_text import passes

    return f"{passes(purged.passes)} and {plural(purged.outputs, 'output')} ({decimal(purged.raw_size)} uncompressed)"
