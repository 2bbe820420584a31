"""What a worker of the cluster on this machine does first: Dask calls it by its name."""

import signal
from typing import Any


def dask_setup(_: Any) -> None:
    """An interrupt from the terminal is for the command, which ends its workers once it has told what was done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
