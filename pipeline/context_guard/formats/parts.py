"""What the codecs of message lists share: parts of messages as blocks, and texts in the place of parts."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from returns.result import Failure, Result, Success

from context_guard.edit_log import RawImage
from context_guard.formats.base64_image import image_size
from context_guard.formats.errors import FormatError
from context_guard.formats.values import json_text, string
from context_guard.transcript import CacheLife, Image, Opaque

Json = dict[str, Any]
Texts = tuple[str, ...]

_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,")


def as_object(value: Any) -> Json | None:
    """A JSON object, also one that an SDK keeps as an object of its own; None for anything else."""
    if isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    found = dump(by_alias=True, exclude_none=True) if callable(dump) else None
    return found if isinstance(found, dict) else None


def read_objects(messages: Any, key: str) -> Result[list[Json], FormatError]:
    """The list's messages as JSON objects. `key` names the list in the request."""
    if not isinstance(messages, list | tuple):
        return Failure(FormatError(f"`{key}` is no list: give the list of messages as the provider takes it."))
    found = [as_object(message) for message in messages]
    objects = [message for message in found if message is not None]
    if len(objects) < len(found):
        return Failure(FormatError(f"{key}[{found.index(None)}] is no JSON object: give each message as one."))
    return Success(objects)


def kind_of(part: Any) -> str:
    """The part's type; empty for what has none."""
    return string(part.get("type")) if isinstance(part, dict) else ""


def listed(content: Any) -> list[Any]:
    """Content as a list of parts; a bare string is one text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list | tuple):
        return []
    return [part if isinstance(part, dict) else as_object(part) or part for part in content]


def life_of(part: Json) -> CacheLife | None:
    """Of the cache breakpoint on the part."""
    mark = part.get("cache_control")
    if not isinstance(mark, dict):
        return None
    return "1h" if mark.get("ttl") == "1h" else "5m"


def opaque(part: Any, digests: list[str]) -> Opaque:
    """Something that is carried as it is. What it holds tells it apart, its cache breakpoint does not."""
    bare = {key: part[key] for key in part if key != "cache_control"} if isinstance(part, dict) else part
    text = json_text(bare)
    digests.append(digest(text))
    return Opaque(kind=kind_of(part), size=len(text), cache=life_of(part) if isinstance(part, dict) else None)


def image(found: RawImage, ref: str, digests: list[str]) -> Image:
    digests.append(digest(f"{found.media_type} {found.data}"))
    width, height = image_size(found.data) if found.kind == "base64" else (None, None)
    return Image(media_type=found.media_type, ref=ref, width=width, height=height)


def image_at(url: str) -> RawImage:
    """The picture at a web address, or in a data URL."""
    inline = _DATA_URL.match(url)
    if inline is None:
        return RawImage(media_type="", data=url, kind="url")
    return RawImage(media_type=inline[1], data=url[inline.end() :])


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_texts(content: Any, texts: Texts, kind: str = "text") -> Any:
    """These texts in the form that the content has: a string where it is one and one text does, else parts.

    The last part takes over the last cache breakpoint inside the content.
    """
    if not isinstance(content, list | tuple) and len(texts) == 1:
        return texts[0]
    parts: list[Json] = [{"type": kind, "text": text} for text in texts]
    marks = [part["cache_control"] for part in listed(content) if isinstance(part, dict) and part.get("cache_control")]
    return [*parts[:-1], {**parts[-1], "cache_control": marks[-1]}] if marks else parts


@lru_cache(4096)
def places_of(src: str) -> tuple[range, range | None]:
    """The messages, and of a single one the blocks, that an entry stands for."""
    message, _, blocks = src.partition("/")
    return _range(message), _range(blocks) if blocks else None


def replace_messages(
    messages: list[Any], changes: Sequence[tuple[str, Texts | None]], edited: Callable[[Json, Texts], Any]
) -> list[Any]:
    """The list with whole messages edited or left out, every other one the same object.

    `changes` are sources of entries with what they show.
    """
    found: dict[int, Texts | None] = {}
    for src, texts in changes:
        found |= dict.fromkeys(places_of(src)[0], texts)
    shown: list[Any] = []
    for place, message in enumerate(messages):
        if place not in found:
            shown.append(message)
        elif (texts := found[place]) is not None:
            shown.append(edited(as_object(message) or {}, texts))
    return shown


def _range(span: str) -> range:
    first, _, last = span.partition("-")
    return range(int(first), int(last or first) + 1)
