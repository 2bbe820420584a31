"""Why a provider would refuse a picture. The bounds are Anthropic's: the only ones on record that end a session."""

import binascii
from typing import Any

from context_guard.formats.base64_image import image_size
from context_guard.formats.pi_session import Json
from context_guard.validate.problem import MEDIA_TYPES, check_base64

MAX_CHARS = 5 * 1024 * 1024
"""Of a picture's base64. earendil-works/pi#224."""

MAX_EDGE = 8_000
"""Pixels. anthropics/claude-code#5147."""

MANY = 20
MAX_EDGE_OF_MANY = 2_000
"""Pixels, where a request holds more than MANY pictures. anomalyco/opencode#12068, coder/mux#1699."""

_STARTS = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
)


def picture_fault(block: Json) -> str:
    """Why no provider reads it; empty when there is nothing wrong with the data."""
    media_type, data = block.get("mimeType"), block.get("data")
    if not isinstance(data, str) or not data:
        return "there are no data"
    if media_type not in MEDIA_TYPES:
        return f"{media_type!r} is none of {', '.join(MEDIA_TYPES)}"
    if list(check_base64(media_type, data, "")):
        return "the data are no base64"
    actual = _type_of(data)
    if actual != media_type:
        return f"the data are {actual or 'no picture'}, not {media_type}"
    return ""


def bound_fault(block: Json, max_edge: int | None) -> str:
    """What is over the bounds, `max_edge` in pixels, None where none are known; empty when nothing is."""
    data = block.get("data")
    if max_edge is None:
        return ""
    if isinstance(data, str) and len(data) > MAX_CHARS:
        return f"{len(data):,} characters of base64, more than {MAX_CHARS:,}"
    width, height = image_size(data)
    if max(width or 0, height or 0) > max_edge:
        of_many = f" where there are more than {MANY} pictures" if max_edge == MAX_EDGE_OF_MANY else ""
        return f"{width} × {height} pixels, more than {max_edge:,} on an edge{of_many}"
    return ""


def _type_of(data: Any) -> str:
    """The media type by the first bytes."""
    try:
        head = binascii.a2b_base64(data[:24])
    except (binascii.Error, ValueError):
        return ""
    return next((name for name, start in _STARTS if head.startswith(start)), "")
