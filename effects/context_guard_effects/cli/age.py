"""Ages as people write them: 30d, 12h, 2w."""

import re
from datetime import timedelta

import click

UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def read_age(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    """For an option of click."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,5})([hdw])", value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no age: give a number and h, d or w, such as 30d.")
    return timedelta(**{UNITS[found[2]]: int(found[1])})
