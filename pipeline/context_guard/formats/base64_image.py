"""Width and height of an image that a host keeps as base64, read from its header."""

from binascii import a2b_base64
from io import BytesIO
from typing import Any

HEAD_CHARS = 65_536
"""How much is decoded: enough for the headers of all formats, whatever stands before a JPEG's frame."""


def image_size(data: Any) -> tuple[int | None, int | None]:
    """Pixels; (None, None) for what is no string, no base64, no image or not readable from its head."""
    if not isinstance(data, str):
        return None, None
    import imagesize  # here, because it is slow to import and most sessions hold no image

    end = min(len(data), HEAD_CHARS)
    try:
        width, height = imagesize.get(BytesIO(a2b_base64(data[: end - end % 4])))
    except Exception:  # its older versions raise whatever a broken header makes their parsing raise
        return None, None
    return (int(width), int(height)) if width > 0 and height > 0 else (None, None)
