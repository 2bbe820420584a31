"""`context-guard config`: the settings, what they accept, and what is wrong with a file of them."""

from pathlib import Path
from typing import Any

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.exits import WARNED
from context_guard_effects.cli.nearest import NearestGroup
from context_guard_effects.cli.output import write, write_json


@click.group(cls=NearestGroup, no_args_is_help=False)
def command() -> None:
    """Show the settings, or check a file of them."""


@command.command()
@options.config_file
@options.settings
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value for programs.")
def show(config_file: Path | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Show every setting with its value, its default, what it accepts and what it does."""
    rows = _described(config_file, settings)
    if as_json:
        write_json(rows)
    else:
        write(_table(rows))


@command.command()
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from context_guard.settings import config_schema

    write_json(config_schema())


@command.command()
@click.argument("file", type=options.PATH)
@click.pass_context
def check(ctx: click.Context, file: Path) -> None:
    """Print a line for each value of FILE that is not usable and for each key that is no setting."""
    from context_guard_effects.cli.settings import check_settings

    _, found = check_settings(file)
    write("".join(f"{line}\n" for line in found) or f"{file}: nothing to complain about\n")
    ctx.exit(WARNED if found else 0)


def _described(config_file: Path | None, settings: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    import msgspec

    from context_guard.config import Config
    from context_guard.settings import config_schema, range_of
    from context_guard_effects.cli.settings import read_settings

    values = msgspec.to_builtins(read_settings(config_file, settings))
    defaults = msgspec.to_builtins(Config())
    properties = config_schema()["$defs"]["Config"]["properties"]
    return {
        key: {
            "value": list(values[key]) if isinstance(values[key], tuple) else values[key],
            "default": list(defaults[key]) if isinstance(defaults[key], tuple) else defaults[key],
            "range": range_of(key),
            "description": about["description"],
        }
        for key, about in properties.items()
    }


def _table(rows: dict[str, dict[str, Any]]) -> str:
    import json

    from rich import box
    from rich.table import Table

    from context_guard_effects.cli.table import cell, printed

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("setting", no_wrap=True)
    for name in ("value", "default", "accepts"):
        table.add_column(name, max_width=18)
    table.add_column("what it does", ratio=1)
    for key, row in rows.items():
        changed = row["value"] != row["default"]
        table.add_row(
            cell(key),
            cell(json.dumps(row["value"]), "bold" if changed else ""),
            cell(json.dumps(row["default"]), "dim"),
            cell(row["range"]),
            cell(row["description"]),
        )
    return printed(table)
