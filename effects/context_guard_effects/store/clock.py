"""When something is kept or purged: milliseconds since the epoch."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def now_ms() -> int:
    return time.time_ns() // 1_000_000
