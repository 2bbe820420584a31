"""Arguments and options that several commands share."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from context_guard_effects.cli.moment import read_moment
from context_guard_effects.cli.nearest import NearestChoice

Command = TypeVar("Command", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class PlaceType(click.ParamType):  # type: ignore[type-arg]
    """A file, or the address of a server."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from context_guard_effects.store.place import read_place

        return read_place(value) if isinstance(value, str) else value


def place(value: str) -> str:
    """A path, or the URL of an object store; as text."""
    from context_guard_effects.fleet.urls import to_place

    return to_place(value)


def read_entry(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An id, also where the whole `recall({"entryId":"…"})` of a note was pasted."""
    if value is None:
        return None
    if (
        isinstance(param, click.Argument)
        and Path(value).is_file()
        and not Path(ctx.params.get("session", "")).is_file()
    ):
        raise click.UsageError(
            f"SESSION comes before ENTRY: context-guard {ctx.info_name} {value} {ctx.params['session']}", ctx
        )
    return read_id(ctx, param, value)


def read_id_if_given(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return None if value is None else read_id(ctx, param, value)


def read_id(ctx: click.Context, param: click.Parameter, value: str) -> str:
    pasted = re.fullmatch(r"\s*(?:recall\()?\s*(\{.*\})\s*\)?\.?\s*", value, re.DOTALL)
    if pasted is None:
        return value
    try:
        given = json.loads(pasted[1])
    except (ValueError, RecursionError):
        given = {}
    if not isinstance(given.get("entryId"), str):
        raise click.BadParameter(
            f'{value!r} holds no entry id: give the id alone, or recall({{"entryId":"ID"}}).', ctx, param
        )
    if others := given.keys() - {"entryId"}:
        raise click.BadParameter(
            f"{value!r} holds more than an entry id: give {', '.join(sorted(others))} as options.", ctx, param
        )
    return str(given["entryId"])


session = click.argument("session", type=PATH)
store = click.option(
    "--store",
    "store",
    type=PlaceType(),
    metavar="FILE",
    help="The store, also as postgresql://USER@HOST/DATABASE. [default: $CONTEXT_GUARD_STORE, or the user's own]",
)
stored = click.argument("id", callback=read_id)
entry = click.argument("entry", callback=read_entry)
leaf = click.option(
    "--leaf",
    metavar="ID",
    callback=read_entry,
    help="Take the branch that ends at this entry; of another host's file with several sessions the one of this name. "
    "[default: the last]",
)
config_file = click.option("--config", "config_file", type=PATH, metavar="FILE", help="Settings as JSON.")
settings = click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help="One setting, over those of --config. Repeatable."
)
dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")
judge = click.option(
    "--judge",
    metavar="JUDGE",
    help="`local` (embedded, no network), `jev`, PROVIDER/MODEL, a server's http(s)://HOST/v1#MODEL, `local+jev` (jev "
    "only for what local is unsure of) or `recorded:FILE` (answers from a file). [default: the setting `model`]",
)
judge_again = click.option(
    "--judge", metavar="JUDGE", help="Ask this judge, as for `distill`. [default: the answers of the trace]"
)


last_run = click.option(
    "--last-run", is_flag=True, help="Judge only the last run, as in a session that goes on. [default: every run]"
)


engine = click.option(
    "--engine",
    type=NearestChoice(("local", "dask")),
    default="local",
    show_default=True,
    help="What spreads the work: processes here, or Dask.",
)
scheduler = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="With dask: a cluster of yours, tcp://HOST:PORT. [default: one here]",
)
out = click.option(
    "--out",
    type=place,
    metavar="FOLDER",
    help="Leave the rows as Parquet in this folder or URL. The same command goes on where an earlier one was killed.",
)


jobs = click.option("--jobs", type=click.IntRange(1), help="Processes to use. [default: one for each core]")


def spread(command: Command) -> Command:
    """The options of every command that works through many sessions."""
    for option in (out, scheduler, engine):
        command = option(command)
    return command


phase = click.option(
    "--phase",
    type=NearestChoice(("run-end", "mid-run")),
    default="run-end",
    show_default=True,
    help="`mid-run` judges as a checkpoint would, whose run goes on after the leaf.",
)
now = click.option(
    "--now",
    callback=read_moment,
    metavar="TIME",
    help="When the pass takes place: ISO 8601 (UTC unless it says more) or milliseconds since 1970. It decides whether "
    "the prompt cache has expired. [default: at rest, long after; with mid-run the time of the leaf]",
)


def judging(command: Command) -> Command:
    """The options of every command that makes a pass over a session, as `judge_transcript` takes them, and the leaf."""
    for option in (settings, config_file, judge, now, phase, last_run, leaf):
        command = option(command)
    return command
