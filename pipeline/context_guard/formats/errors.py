"""What a format says when the data it was given is not what it takes."""

from msgspec import Struct


class FormatError(Struct, frozen=True):
    message: str
    """One line for people: what is wrong and what to do. It names no file; whoever opened one puts it in front."""
