"""Where the store lies: one for all hosts of a user, or on a server for those of many."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

from msgspec import Struct

VARIABLE = "CONTEXT_GUARD_STORE"
SCHEMES = ("postgresql://", "postgres://")
SHOWN = ("user", "host", "hostaddr", "port", "dbname", "service", "sslmode", "sslrootcert")
"""What may be told of the parameters of an address."""


class Server(Struct, frozen=True, repr_omit_defaults=True):
    """A PostgreSQL server's database. As a text it has no password: `url` alone has."""

    url: str

    def __str__(self) -> str:
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"Server({str(self)!r})"


Place = Path | Server


def read_place(text: str) -> Place:
    """From what a user gives: the address of a server, or else the path of a file."""
    return Server(text) if text.startswith(SCHEMES) else Path(text).expanduser()


def default_place(environment: Mapping[str, str] = os.environ) -> Place:
    """What the environment names, or `store.db` in the user's data directory."""
    if named := environment.get(VARIABLE, ""):
        return read_place(named)
    import platformdirs  # only here: a host most often names the file

    return platformdirs.user_data_path("context-guard", False) / "store.db"


def given_as(place: Place) -> str:
    """As `read_place` reads it, password included: for another process of ours alone, and never as an argument."""
    return place.url if isinstance(place, Server) else str(place)


def has_password(place: Place) -> bool:
    if not isinstance(place, Server):
        return False
    credentials, at, _ = place.url.partition("://")[2].rpartition("@")
    return (bool(at) and ":" in credentials) or "password=" in place.url


def without_secrets(url: str) -> str:
    """The address as it may be shown. What cannot be a part of one is left out, whatever a password holds."""
    scheme, _, rest = url.partition("://")
    before, _, after = rest.rpartition("@")
    user = re.match(r"[^:/?#]*", before)
    where, _, query = after.partition("?")
    host = re.match(r"(?:\[[0-9a-fA-F:.%]*\]|[^:/@\[\]])*(?::\d+)?(?:,[^:/@]*(?::\d+)?)*", where)
    path = re.search(r"/[\w.%-]*$", where)
    kept = "&".join(f"{name}={value}" for name, value in parse_qsl(query) if name in SHOWN)
    shown = f"{user[0]}@" if user and user[0] else ""
    shown += (host[0] if host else "") + (path[0] if path else "")
    return f"{scheme}://{shown}{f'?{kept}' if kept else ''}"
