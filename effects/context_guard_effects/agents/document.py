"""A settings file as text that is changed in single places: whatever is not changed keeps its bytes."""

from collections.abc import Sequence
from typing import Any, Protocol

Path = tuple[str, ...]
"""Keys from the outermost table or object to a value."""


class DocumentError(Exception):
    """The file is not of a kind that can be changed safely; one line that says why, without the file's name."""


class Missing:
    """In place of a value that is not there; null is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


def shared_start(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many bytes or characters both begin with."""
    least = min(len(one), len(other))
    return next((at for at in range(least) if one[at] != other[at]), least)


class Document(Protocol):
    """Each change gives a new document. Raises DocumentError."""

    def __init__(self, data: bytes) -> None: ...

    def get(self, path: Path) -> Any:
        """The value, or MISSING."""
        ...

    def set(self, path: Path, value: Any) -> "Document":
        """With the value there, and the tables around it."""
        ...

    def remove(self, path: Path) -> "Document":
        """Without the key, and nothing else."""
        ...

    def data(self) -> bytes: ...
