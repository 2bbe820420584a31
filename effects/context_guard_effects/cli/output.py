"""What goes to stdout and stderr."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from context_guard_effects.cli.exits import UNWRITABLE, Stop


def write(text: str) -> None:
    """To stdout in its own encoding; characters that it lacks as escapes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_bytes(text.encode(encoding, "backslashreplace"))


def write_json(value: Any) -> None:
    """To stdout as UTF-8, as JSON is."""
    from context_guard.printable import pretty_json

    write_bytes(pretty_json(value).encode())


def write_bytes(data: bytes) -> None:
    if sys.stdout is None:
        raise Stop("cannot write to stdout: it is closed", UNWRITABLE)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_file(path: Path, content: str | bytes) -> None:
    """A new file or a new content, complete or not at all, and for its owner alone: it quotes a session."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        if path.exists() and not path.is_file():
            raise Stop(f"cannot write to {path}: it is not a file", UNWRITABLE)
        with open(partial, "wb", opener=_private) as file:
            file.write(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            partial.unlink(missing_ok=True)
        said = getattr(error, "strerror", None) or str(error)
        raise Stop(f"cannot write to {path}: {said.lower()}", UNWRITABLE) from error


def warn(message: str) -> None:
    """One line on stderr, whatever the message quotes; where stderr is closed nobody can be told."""
    printable = "".join(char if char.isprintable() else " " for char in message)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"context-guard: {' '.join(printable.split())}\n")
        sys.stderr.flush()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
