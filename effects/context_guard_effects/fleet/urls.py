"""Places outside of the file system, named by URL."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(place: str) -> bool:
    return URL.match(place) is not None


def to_place(given: str) -> str:
    """A path, or a URL that is no file of this machine: file:// is a path."""
    if not is_url(given):
        return str(Path(given))
    scheme, _, rest = given.partition("://")
    if scheme.lower() != "file":
        return f"{scheme.lower()}://{rest}"
    return str(Path(unquote(urlsplit(given).path)))
