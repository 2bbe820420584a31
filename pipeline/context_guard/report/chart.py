"""The timeline as shapes: two stepped lines and the room between them, in the units of an SVG's view box."""

from collections.abc import Callable

from msgspec import Struct

from context_guard.report.timeline import Point
from context_guard.text import format_chars

WIDTH = 1280
HEIGHT = 210
LEFT, RIGHT, TOP, BOTTOM = 52, 130, 14, 30
"""Room around the plot: for the scale, the names of the lines, half a letter, the number of the request."""

STEPS = (1, 2, 2.5, 5, 10)
MOST_TICKS = 5
MOST_RUNS = 80
"""Beyond that the lines at which runs begin would fill the plot."""
LINE = 17
"""Least distance of two names, so that both can be read."""


class Tick(Struct, frozen=True):
    at: float
    label: str


class Chart(Struct, frozen=True):
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    """Edges of the plot."""
    without: str
    guarded: str
    """Lines, as SVG path data."""
    between: str
    """The room between them: what the guard keeps out."""
    scale: tuple[Tick, ...]
    requests: tuple[Tick, ...]
    runs: tuple[float, ...]
    """Where runs begin."""
    without_name: Tick
    guarded_name: Tick
    """Where the names of the two lines stand, and their last values."""


def draw(points: tuple[Point, ...]) -> Chart:
    """`points` has at least the next request."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    step = _step(max(1, *(point.without for point in points), *(point.guarded for point in points)))
    most = step * -(-max(1, *(max(point.without, point.guarded) for point in points)) // step)
    width = (right - LEFT) / len(points)

    def x(number: int) -> float:
        return round(LEFT + number * width, 1)

    def y(chars: float) -> float:
        return round(bottom - chars / most * (bottom - TOP), 1)

    without = [(number, y(point.without)) for number, point in enumerate(points)]
    guarded = [(number, y(point.guarded)) for number, point in enumerate(points)]
    upper, lower = _stairs(without, x), _stairs(guarded, x)
    runs = [number for number, point in enumerate(points) if point.begins_run]
    apart = min(without[-1][1], guarded[-1][1] - LINE)
    return Chart(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=right,
        top=TOP,
        bottom=bottom,
        without="M" + "L".join(upper),
        guarded="M" + "L".join(lower),
        between="M" + "L".join([*upper, *reversed(lower)]) + "Z",
        scale=tuple(Tick(y(value), format_chars(round(value))) for value in _values(most, step)),
        requests=(Tick(x(0), "request 1"), Tick(right, f"{len(points):,}")) if len(points) > 1 else (),
        runs=tuple(x(number) for number in runs) if len(runs) <= MOST_RUNS else (),
        without_name=Tick(max(TOP, apart), format_chars(points[-1].without)),
        guarded_name=Tick(max(TOP + LINE, guarded[-1][1]), format_chars(points[-1].guarded)),
    )


def _stairs(line: list[tuple[int, float]], x: Callable[[int], float]) -> list[str]:
    """Each value holds for the whole width of its request; corners where it changes only."""
    corners: list[str] = []
    last: float | None = None
    for number, height in line:
        if height != last:
            corners += [] if last is None else [f"{x(number)} {last}"]
            corners.append(f"{x(number)} {height}")
            last = height
    return [*corners, f"{x(len(line))} {last}"]


def _step(most: float) -> float:
    """A round distance with at most MOST_TICKS of it below the largest value."""
    size = 1.0
    while size * 10 <= most / MOST_TICKS:
        size *= 10
    return next(size * step for step in STEPS if size * step * MOST_TICKS >= most)


def _values(most: float, step: float) -> list[float]:
    return [step * number for number in range(round(most / step) + 1)]
