"""Settings from a file that was named and from `--set`. Nothing is read that nobody named."""

import json
from pathlib import Path
from typing import Any

import click
from returns.result import Failure

from context_guard.config import Config
from context_guard.settings import (
    ParsedConfig,
    apply_settings,
    config_schema,
    parse_config,
    repeated_keys,
    unknown_keys,
)
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.nearest import nearest
from context_guard_effects.cli.output import warn
from context_guard_effects.cli.sources import read_file

DEFAULTS = Config()


def read_settings(path: Path | None, assignments: tuple[str, ...] = (), base: Config = DEFAULTS) -> Config:
    """Those of the file, without one `base`, and over them the assignments.

    Unusable values and unknown keys of the file warn; one given by hand is a mistake of usage.
    """
    config = base
    if path is not None:
        parsed, complaints = check_settings(path)
        for complaint in complaints:
            warn(f"{path}: {complaint}")
        config = parsed.config
    parsed = apply_settings(read_assignments(assignments), config)
    if parsed.warnings:
        raise click.UsageError(parsed.warnings[0].partition("; using ")[0])
    return parsed.config


def read_assignments(assignments: tuple[str, ...]) -> dict[str, Any]:
    """Those of --set, by their keys on disk; whether a value is usable is not asked here."""
    return dict(_assignment(text) for text in assignments)


def check_settings(path: Path) -> tuple[ParsedConfig, tuple[str, ...]]:
    """The file's settings, and a line for each value that is not usable and for each key that is no setting."""
    data = read_file(path)
    found = parse_config(data)
    if isinstance(found, Failure):
        raise Stop(f"{path}: {found.failure().message}", UNREADABLE)
    parsed, unknown = found.unwrap(), unknown_keys(data).unwrap()
    return parsed, (
        *parsed.warnings,
        *(f"{key}: given more than once; only the last one counts" for key in repeated_keys(data).unwrap()),
        *(f"{key}: not a setting.{nearest(key, keys())}" for key in unknown),
    )


def keys() -> tuple[str, ...]:
    return tuple(config_schema()["$defs"]["Config"]["properties"])


def _assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--set takes KEY=VALUE, not {text!r}.")
    if key not in keys():
        raise click.UsageError(f"{key!r} is not a setting.{nearest(key, keys())}")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
