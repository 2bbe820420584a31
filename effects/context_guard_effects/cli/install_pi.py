"""The extension of Pi, written to its folder of extensions and removed from there."""

import contextlib
import os
from pathlib import Path

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, Stop
from context_guard_effects.cli.installing import Asked
from context_guard_effects.cli.output import warn, write, write_file
from context_guard_effects.hosts.pi_install import ORIGINAL, extension_path, extension_text, has_original, is_ours

MADE = "// Folders made for it: "
"""Begins the last line of the installed file, so that uninstalling removes just these again."""


def install(_: str, asked: Asked) -> None:
    """It asks nothing: the file is the guard's own."""
    path = extension_path(os.environ)
    old = _present(path)
    if old is not None and not is_ours(old):
        raise Stop(f"{path} is not ours: move it away first. Nothing was written.", UNWRITABLE)
    made = _made_for(old) if old is not None else sum(not folder.exists() for folder in path.parents)
    text = f"{extension_text()}{MADE}{made}\n"
    if old == text:
        write(f"{path} is up to date.\n")
        return
    verb = "update" if old is not None else "write"
    if asked.dry_run:
        write(f"would {verb} {path} ({len(text.encode()):,} bytes)\n")
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"cannot make {path.parent}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    write_file(path, text)
    write(
        f"{'updated' if old is not None else 'wrote'} {path}\n"
        "Pi loads it when it starts, or with /reload. In Pi, /guard shows what it does.\n"
    )
    if has_original(os.environ):
        warn(f"Pi's settings load {ORIGINAL} too: remove one of the two (pi remove npm:{ORIGINAL}).")


def uninstall(_: str, asked: Asked) -> None:
    path = extension_path(os.environ)
    old = _present(path)
    if old is None:
        write(f"There is no {path}: nothing to remove.\n")
        return
    if not is_ours(old):
        raise Stop(f"{path} is not ours, so it stays.", UNWRITABLE)
    if asked.dry_run:
        write(f"would remove {path}\n")
        return
    try:
        path.unlink()
    except OSError as error:
        raise Stop(f"cannot remove {path}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
    for folder in list(path.parents)[: _made_for(old)]:
        with contextlib.suppress(OSError):  # something else is in it by now
            folder.rmdir()
    write(f"removed {path}\n")


def _present(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Stop(f"cannot read {path}: {(error.strerror or str(error)).lower()}", UNREADABLE) from error


def _made_for(text: str) -> int:
    """How many folders, from that of the file up, were made for it."""
    count = text.rpartition(MADE)[2].strip()
    return int(count) if count.isdecimal() else 0
