"""One thing that a provider would refuse, and the checks that all providers share."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""Pictures that all three providers read."""

_DATA_URL = re.compile(r"data:(?P<type>[^;,]*);base64,(?P<data>.*)", re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Problem(Struct, frozen=True):
    where: str
    """Path into the list, as in `messages[3].content[0]`."""
    message: str
    """One sentence: what is wrong and what the provider wants instead."""


def find_lone_surrogates(value: Any, where: str) -> Iterator[Problem]:
    """Half a pair anywhere in the value, keys included: no UTF-8, hence no request."""
    if _holds_lone_surrogate(value):
        yield from _lone_surrogates(value, where)


def _holds_lone_surrogate(value: Any) -> bool:
    """Quick, as nearly always there is none."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return True
    return False


def _lone_surrogates(value: Any, where: str) -> Iterator[Problem]:
    if isinstance(value, str):
        if _LONE_SURROGATE.search(value):
            yield Problem(where, "The text holds half of a surrogate pair, which no request can carry.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lone_surrogates(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _lone_surrogates(key, f"{where} (a key)")
            yield from _lone_surrogates(item, f"{where}.{key}")


def check_base64(media_type: Any, data: Any, where: str) -> Iterator[Problem]:
    if media_type not in MEDIA_TYPES:
        yield Problem(where, f"The picture is {media_type!r}; only {', '.join(MEDIA_TYPES)} are read.")
    if not _is_base64(data):
        yield Problem(where, "The picture's data is no base64, or there is none.")


def check_url(url: Any, where: str) -> Iterator[Problem]:
    """A web address, or a data URL that holds a picture."""
    if not isinstance(url, str) or not url:
        yield Problem(where, "The picture has no address.")
    elif found := _DATA_URL.fullmatch(url):
        yield from check_base64(found["type"], found["data"], where)
    elif not url.startswith(("https://", "http://")):
        yield Problem(where, "The picture's address is neither a web address nor a data URL.")


def is_blank(text: Any) -> bool:
    return not isinstance(text, str) or not text.strip()


def of_type(block: Any) -> str:
    """The block's type; empty for what is no block."""
    found = block.get("type") if isinstance(block, dict) else None
    return found if isinstance(found, str) else ""


def quoted(ids: list[Any]) -> str:
    return ", ".join(repr(found) for found in ids)


def repeated(ids: list[Any]) -> list[Any]:
    """Those that an earlier one equals."""
    return [found for place, found in enumerate(ids) if found in ids[:place]]


def _is_base64(data: Any) -> bool:
    if not isinstance(data, str) or not data:
        return False
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
