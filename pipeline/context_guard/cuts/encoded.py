"""Encoded data in a text: base64, long hexadecimal numbers, `data:` addresses; where it is, and of what type."""

import re
from collections.abc import Iterator

BLOB_CHARS = 256
_BLOB = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{BLOB_CHARS},}}={{0,2}}")
"""No word, path or number is as long without a break."""
_STEP = BLOB_CHARS // 2
_INSIDE = re.compile(rf"[A-Za-z0-9+/_-]{{{_STEP}}}")
"""A blob holds one of these at some multiple of its length: looking there alone is fast."""
_ESCAPED = re.compile(
    r"data:(?=[\w.+-]{0,100}[/;])[\w/+.-]{0,100}(?:;[\w=.+-]{1,80}){0,6},"
    rf"(?P<data>[^\s\"'<>()]{{{BLOB_CHARS},}})"
)
"""A `data:` address of which the data may be escaped rather than base64."""
_WRAPPED = re.compile(
    r"(?m)^([ \t>]{0,8})[A-Za-z0-9+/]{60,80}\n(?:\1[A-Za-z0-9+/]{60,80}\n){6,}"
    r"(?:\1[A-Za-z0-9+/]{1,80}={0,2}$)?"
)
_SLASHES = 24
"""Characters for each slash, at least: a path has more slashes, base64 has one in 64."""
_DISTINCT = 4

_TYPED = re.compile(r"data:([\w/+.-]{1,100})(?:;[\w=.+-]{1,80}){0,6},\Z")
_SIGNATURES = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("PHN2Zy", "image/svg+xml"),
    ("JVBERi0", "application/pdf"),
    ("UEsDB", "application/zip"),
    ("H4sI", "application/gzip"),
    ("AGFzb", "application/wasm"),
    ("T2dnU", "audio/ogg"),
    ("d09G", "font/woff"),
    ("LS0tLS1CRUdJTi", "PEM"),
)
"""How the base64 of well-known formats begins."""
_HEX = re.compile(r"[0-9a-fA-F]+\Z")


def find_blobs(text: str) -> Iterator[tuple[int, int]]:
    """Where encoded data without a break begins and ends, in order."""
    found = sorted({*_plain(text), *(_escaped(text) if "data:" in text else ())})
    end = 0
    for first, last in found:
        if first >= end:
            yield first, last
            end = last


def find_wrapped(text: str) -> Iterator[tuple[int, int]]:
    """Where lines of base64 begin and end, without the newline behind the last."""
    if len(text) >= BLOB_CHARS:
        for found in _WRAPPED.finditer(text):
            yield found.start(), found.end() - found[0].endswith("\n")


def media_type(text: str, start: int, stop: int) -> str:
    """The type of the data there, by the address that it is in or by how it begins; empty where neither tells it."""
    if typed := _TYPED.search(text, max(0, start - 400), start):
        return typed[1]
    begins = text[start : start + 200].lstrip(" \t>")
    known = next((name for mark, name in _SIGNATURES if begins.startswith(mark)), "")
    return known or ("hexadecimal" if _HEX.match(text, start, stop) else "")


def _plain(text: str) -> Iterator[tuple[int, int]]:
    place = end = 0
    while place < len(text):
        if _INSIDE.match(text, place):
            found = _BLOB.search(text, max(end, place - _STEP + 1), min(len(text), place + 1 + _STEP * 2))
            found = _BLOB.match(text, found.start()) if found else None
            if found is not None:
                end = found.end()
                if _is_data(found[0]):
                    yield found.span()
                place = end - end % _STEP
        place += _STEP


def _escaped(text: str) -> Iterator[tuple[int, int]]:
    return (found.span("data") for found in _ESCAPED.finditer(text))


def _is_data(run: str) -> bool:
    """Not a rule of dashes, a path or a word in capitals."""
    head = run[: 2 * BLOB_CHARS]
    return (
        len(set(head)) >= _DISTINCT
        and sum(map(str.isalnum, head)) * 2 > len(head)
        and run.count("/") * _SLASHES <= len(run)
    )
