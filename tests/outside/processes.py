"""What a run of Pi has started and what of it is still alive."""

import contextlib
import os
import signal
from pathlib import Path


def processes_with(environment: dict[str, str]) -> list[int]:
    """The processes that were started with this home, Pi's tools included, whatever group they put themselves in.

    Reads /proc; where there is none, it finds nothing.
    """
    mark = f"PI_CODING_AGENT_DIR={environment['PI_CODING_AGENT_DIR']}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = place.read_bytes().split(b"\0")
        except OSError:  # it left meanwhile, or is not ours
            continue
        if mark in variables:
            found.append(int(place.parent.name))
    return found


def kill_strays(environment: dict[str, str]) -> None:
    """Kills until none is found: a process may start another between the look and the kill."""
    while strays := processes_with(environment):
        for process in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def bridges(environment: dict[str, str]) -> list[int]:
    """The Python processes of the guard that serve a Pi of this home."""
    found = []
    for process in processes_with(environment):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"bridge" in words:
                found.append(process)
    return found


def kill(process: int) -> None:
    """At once, as the system does it to a process that takes too much memory."""
    os.kill(process, signal.SIGKILL)
