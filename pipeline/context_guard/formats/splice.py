"""A request body with an edited list in it, byte for byte as it was wherever nothing changed up to its last change."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.formats.errors import FormatError
from context_guard.text import compact_json

Json = dict[str, Any]

MARKABLE = ("tools", "system")
"""Lists beside that of the messages, in which a cache mark may stand."""
Blocks = Mapping[tuple[str, int], Any]
"""What stands instead of an item of such a list: by the list's key, and the item's place in it."""
NO_BLOCKS: Blocks = {}

_SPACE = re.compile(r"[ \t\n\r]*")


def _finite(text: str) -> float:
    """What no number holds could not be printed again."""
    if not isfinite(number := float(text)):
        raise ValueError(text)
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


class Spans(Struct, frozen=True):
    """A request body as text, where in it the messages stand, and the items of the lists beside them (`MARKABLE`)."""

    text: str
    messages: tuple[tuple[int, int], ...]
    """Start and end of each."""
    start: int
    """Behind the bracket that opens the list."""
    end: int
    """In front of the one that closes it."""
    beside: Mapping[str, tuple[tuple[int, int], ...]]


Known = Sequence[tuple[Sequence[Any], Spans]]
"""Lists of bodies that were opened before."""


def open_body(data: bytes, key: str, known: Known = ()) -> Result[tuple[Json, Spans], FormatError]:
    """A request body as JSON, and where the messages of the list under `key` stand in it.

    Where its list begins with the bytes of a known one, the messages are the same objects as there: an agent sends its
    conversation again and again, and only the end of it is new.
    """
    try:
        text = data.decode()
        body, spans = _read(text, key, known)
    except (ValueError, IndexError, RecursionError):
        return Failure(FormatError("The request body is no JSON object: send it as it is."))
    if spans is None:
        return Failure(FormatError(f"The request body has no list `{key}`: send it as it is."))
    return Success((body, spans))


def splice(spans: Spans, old: Sequence[Any], new: Sequence[Any], blocks: Blocks = NO_BLOCKS) -> bytes:
    """The body with the list changed from `old`, as `open_body` gave it, to `new`, as `apply` made it.

    A message that is the same object in both keeps its bytes; in front of the first change and behind the list nothing
    changes but `blocks`, since a provider's cache goes by the bytes.
    """
    same = 0
    while same < min(len(old), len(new)) and old[same] is new[same]:
        same += 1
    if same == len(old) == len(new):
        return _with_blocks(spans, 0, len(spans.text), blocks).encode("utf-8", "backslashreplace")
    kept = _with_blocks(spans, 0, spans.messages[same - 1][1] if same else spans.start, blocks)
    rest = list(_printed(spans, old, new, same))
    behind = _with_blocks(spans, spans.end, len(spans.text), blocks)
    text = kept + ("," if same and rest else "") + ",".join(rest) + behind
    # Half of a surrogate pair in a message that changed stays the escape that it was.
    return text.encode("utf-8", "backslashreplace")


def _with_blocks(spans: Spans, at: int, end: int, blocks: Blocks) -> str:
    """A part of the text, which holds each of these lists whole or not at all."""
    parts: list[str] = []
    for (start, stop), key in sorted((spans.beside[key][place], (key, place)) for key, place in blocks):
        if at <= start < end:
            parts += (spans.text[at:start], _json(blocks[key]))
            at = stop
    return "".join((*parts, spans.text[at:end]))


def _printed(spans: Spans, old: Sequence[Any], new: Sequence[Any], at: int) -> Iterator[str]:
    """The messages from `at` on; what the old list holds, in its order, as it was."""
    lost = max(0, len(old) - len(new))  # by so much later than in the new list it stood in the old one, at most
    for number, message in enumerate(new[at:], at):
        ahead = range(at, min(len(old), number + lost + 1))
        place = next((place for place in ahead if old[place] is message), None)
        if place is None:
            yield _json(message)
        else:
            yield spans.text[slice(*spans.messages[place])]
            at = place + 1


def _json(message: Any) -> str:
    """Compact. The quick way takes no half of a surrogate pair and no number beyond 64 bits."""
    try:
        return msgspec.json.encode(message).decode()
    except (ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return compact_json(message)


def _read(text: str, key: str, known: Known) -> tuple[Json, Spans | None]:
    body: Json = {}
    lists: dict[str, tuple[tuple[tuple[int, int], ...], int, int]] = {}
    at = _opened(text, _skip(text, 0), "{")
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _opened(text, _skip(text, at), ":")
        lists.pop(name, None)
        if text[at] == "[" and name in (key, *MARKABLE):
            start = at + 1
            body[name], places, end = _read_list(text, start, known if name == key else ())
            lists[name], at = (places, start, end), end + 1
        else:
            body[name], at = _DECODER.raw_decode(text, at)
        at = _next(text, at, "}")
    if key not in lists:
        return body, None
    messages, start, end = lists.pop(key)
    return body, Spans(text, messages, start, end, {name: places for name, (places, *_) in lists.items()})


def _read_list(text: str, start: int, known: Known) -> tuple[list[Any], tuple[tuple[int, int], ...], int]:
    """Its items, their places, and where it ends."""
    items, spans = _begun(text, start, known)
    at = _next(text, spans[-1][1], "]") if spans else _skip(text, start)
    while text[at] != "]":
        item, end = _DECODER.raw_decode(text, at)
        items.append(item)
        spans.append((at, end))
        at = _next(text, end, "]")
    return items, tuple(spans), at


def _begun(text: str, start: int, known: Known) -> tuple[list[Any], list[tuple[int, int]]]:
    """The messages that the list shares with the known one that begins most like it."""
    counts = [_shared(text, start, spans) for _, spans in known]
    most = max(counts, default=0)
    if not most:
        return [], []
    messages, spans = known[counts.index(most)]
    shift = start - spans.start
    return list(messages[:most]), [(at + shift, end + shift) for at, end in spans.messages[:most]]


def _shared(text: str, start: int, spans: Spans) -> int:
    """How many of the messages the list at `start` begins with, byte for byte.

    One after the other: a slice of all of them would be a copy of the body.
    """
    shift = start - spans.start
    end, count = spans.start, 0
    for _, following in spans.messages:
        if text[end + shift : following + shift] != spans.text[end:following]:
            break
        end, count = following, count + 1
    if not count:
        return 0
    behind = _skip(text, end + shift)
    return count if text[behind : behind + 1] in (",", "]") else count - 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _opened(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(mark)
    return _skip(text, at + 1)


def _next(text: str, at: int, end: str) -> int:
    """Where the next item begins, or its container ends."""
    at = _skip(text, at)
    return at if text[at] == end else _opened(text, at, ",")
