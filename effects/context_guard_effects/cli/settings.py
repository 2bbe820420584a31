"""Settings from a file that was named and from `--set`. Nothing is read that nobody named."""

import json
from pathlib import Path
from typing import Any

import click
from returns.result import Failure, Success

from context_guard.config import Config, apply_settings, config_schema, parse_config
from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.output import warn
from context_guard_effects.cli.sources import read_file


def read_settings(path: Path | None, assignments: tuple[str, ...] = ()) -> Config:
    """Unusable values of the file warn and fall back; one given by hand is a mistake of usage."""
    config = Config()
    if path is not None:
        match parse_config(read_file(path)):
            case Success(parsed):
                for warning in parsed.warnings:
                    warn(f"{path}: {warning}")
                config = parsed.config
            case Failure(error):
                raise Stop(f"{path}: {error.message}", UNREADABLE)
    given = dict(_assignment(text) for text in assignments)
    parsed = apply_settings(given, config)
    if parsed.warnings:
        raise click.UsageError(parsed.warnings[0].partition("; using ")[0])
    return parsed.config


def keys() -> tuple[str, ...]:
    return tuple(config_schema()["$defs"]["Config"]["properties"])


def nearest(key: str) -> str:
    """A hint at the setting that was meant, with a space in front; empty when none is close."""
    from difflib import get_close_matches

    lowered = {known.lower(): known for known in keys()}
    found = get_close_matches(key.lower(), lowered, n=1, cutoff=0.6)
    return f" Did you mean {lowered[found[0]]}?" if found else ""


def _assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--set takes KEY=VALUE, not {text!r}.")
    if key not in keys():
        raise click.UsageError(f"{key!r} is not a setting.{nearest(key)}")
    try:
        return key, json.loads(value)
    except (ValueError, RecursionError):
        return key, value
