"""A server's refusal in one line, and whether it is worth asking again.

The line holds what the server says about itself; nothing that it echoes of the request, and no secret.
"""

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

from context_guard.answers import UnansweredReason
from context_guard.redact import redact
from context_guard.text import one_line, shorten

MESSAGE_CHARS = 160

_AGAIN = frozenset({408, 425, 429, *range(500, 600)}) - {501, 505}
_FINAL = frozenset({401, 403, 404, 405})
_OVERFLOW = ("max_tokens_exceeded", "context_length_exceeded", "context length", "context window", "too many tokens")
_HINTS = {
    401: "the key is not accepted",
    402: "no credit is left",
    403: "the key is missing or has no right to this",
    404: "no such path or model: check the address",
    405: "the address takes no such request: check its path",
    413: "the request is too large",
    429: "too many requests",
    529: "overloaded",
}


class Refusal(Struct, frozen=True):
    reason: UnansweredReason
    detail: str
    again_ms: int | None = None
    """What the server asks to wait at least, 0 when it does not say; None: sending the same again has no use."""
    is_final: bool = False
    """No other request of this judge has any use either: the key or the address is wrong."""
    replied: bool = False
    """Whether it is the server's own answer; otherwise there was none, or nothing was sent."""


def read_refusal(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Refusal:
    """`headers` by lower-case name; `now` in seconds since the epoch, for a `retry-after` that is a date."""
    kind, message = _said(body)
    if status == 413 or any(mark in f"{kind} {message}".lower() for mark in _OVERFLOW):
        return Refusal("oversize", _line(status, kind, message), replied=True)
    again = (wait_ms(headers, now) or 0) if status in _AGAIN else None
    return Refusal("error", _line(status, kind, message), again, is_final=status in _FINAL, replied=True)


def wait_ms(headers: Mapping[str, str], now: float) -> int | None:
    """What the server asks to wait: milliseconds first, then seconds or a date; None for nothing and for nonsense."""
    for name, unit in (("retry-after-ms", 1.0), ("retry-after", 1_000.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            return _bounded(float(value) * unit)
        except ValueError:
            pass
        if name == "retry-after":
            try:
                return _bounded((parsedate_to_datetime(value).timestamp() - now) * 1_000)
            except (ValueError, TypeError, OverflowError):
                pass
    return None


def safe_line(text: str) -> str:
    return shorten(redact(one_line(text)), MESSAGE_CHARS)


def _bounded(ms: float) -> int:
    if ms != ms:
        raise ValueError("not a number")
    return int(max(0.0, min(ms, 1e9)))


def _line(status: int, kind: str, message: str) -> str:
    return ": ".join(filter(None, (f"http {status} {kind}".rstrip(), _HINTS.get(status), message)))


def _said(body: bytes) -> tuple[str, str]:
    """The kind of error and the server's words, whichever of the known shapes they come in."""
    try:
        reply = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        text = body[:2_000].decode("utf-8", "replace")
        return ("", "the answer is a web page") if "<" in text else ("", safe_line(text))
    detail = reply.get("detail", reply.get("error", reply.get("message"))) if isinstance(reply, dict) else reply
    match detail:
        case dict():
            return _word(detail.get("error_type", detail.get("type", detail.get("code")))), _text(detail.get("message"))
        case list():
            return "", safe_line("; ".join(_place(item) for item in detail[:3] if isinstance(item, dict)))
        case _:
            return "", _text(detail)


def _place(item: dict[str, Any]) -> str:
    """Where and what, of a validation error; never its `input`, which is what was sent."""
    where = item.get("loc")
    path = ".".join(str(step) for step in where) if isinstance(where, list) else ""
    return f"{path}: {_text(item.get('msg'))}"


def _word(value: Any) -> str:
    return shorten(one_line(value), 60) if isinstance(value, str) else ""


def _text(value: Any) -> str:
    return safe_line(value) if isinstance(value, str) else ""
