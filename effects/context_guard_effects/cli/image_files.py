"""The images of a stored output as files."""

import base64
import binascii
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.cli.output import write_file

if TYPE_CHECKING:
    from context_guard.edit_log import RawImage, RawOutput


def write_images(output: "RawOutput", folder: Path) -> list[str]:
    """A line for each image: the file it was written to, or the address under which it lies. Nothing is fetched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"cannot make {folder}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    lines: list[str] = []
    for number, image in enumerate(output.images, 1):
        if image.kind == "url":
            lines.append(f"{image.data}\n")
            continue
        suffix = mimetypes.guess_extension(image.media_type, strict=False) or ".bin"
        path = folder / f"{quote(output.id, safe='')}-{number}{suffix}"
        write_file(path, _decoded(image, f"image {number} of {output.id}"))
        lines.append(f"{path}\n")
    return lines or ["[no images]\n"]


def _decoded(image: "RawImage", name: str) -> bytes:
    data = image.data.partition(",")[2] if image.data.startswith("data:") else image.data
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Stop(f"{name} is no base64: {error}", UNREADABLE) from error
