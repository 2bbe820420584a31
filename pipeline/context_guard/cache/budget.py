"""Room for at most four marks in a request, longer-lived ones in front: which mark fits, and what goes for it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from context_guard.cache.marks import MESSAGES, Mark, Path, order_of
from context_guard.transcript import CacheLife

MAX_MARKS = 4

Fit = Literal["pinned", "already", "over-budget", "ttl-conflict"]


class MarkBudget(Struct, frozen=True):
    """The marks as they stand while wanted ones are put on; a value, so that what does not fit leaves no trace."""

    marks: tuple[Mark, ...]
    rolling: Mark
    """The host's mark at the end of the messages, whose life is ours where the order allows it."""
    spare: tuple[Mark, ...]
    """Marks that another one covers, in the order in which they may go."""
    dropped: tuple[Mark, ...] = ()
    added: tuple[Mark, ...] = ()


def open_budget(marks: tuple[Mark, ...], rolling: Mark) -> MarkBudget:
    """The host's own marks, at most four."""
    return _without_identity(MarkBudget(marks=marks, rolling=rolling, spare=_spare(marks)))


def add_mark(budget: MarkBudget, path: Path) -> tuple[MarkBudget, Fit]:
    """The budget with a mark at this place if it fits, dropping a spare one of the host where that makes room."""
    if any(mark.path == path for mark in budget.marks):
        return budget, "already"
    life = _life_at(budget, path)
    if life is None:
        return budget, "ttl-conflict"
    if len(budget.marks) == MAX_MARKS:
        if not budget.spare:
            return budget, "over-budget"
        budget = _drop(budget)
    mark = Mark(path=path, life=life)
    return replace(budget, marks=(*budget.marks, mark), added=(*budget.added, mark)), "pinned"


def _spare(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """First the system prompt's first, its identity block, then the tools from the last: each when a later mark of the
    system prompt lives as long."""
    system = [mark for mark in marks if mark.path[:1] == ("system",)]
    tools = [mark for mark in reversed(marks) if mark.path[:1] == ("tools",)]
    return tuple(
        mark
        for mark in (*system[:1], *tools)
        if any(other.life == mark.life for other in system if other.order > mark.order)
    )


def _without_identity(budget: MarkBudget) -> MarkBudget:
    """Without the first mark of the system prompt if those in there and in the tools leave no room for two messages.

    Hosts that continue message threads hash both with their marks: decided by them alone, it is the same each time.
    """
    fixed = [mark for mark in budget.marks if mark.order < MESSAGES]
    if len(fixed) <= MAX_MARKS - 2 or not budget.spare or budget.spare[0].path[0] != "system":
        return budget
    return _drop(budget)


def _drop(budget: MarkBudget) -> MarkBudget:
    gone = budget.spare[0]
    return replace(
        budget,
        marks=tuple(mark for mark in budget.marks if mark != gone),
        spare=budget.spare[1:],
        dropped=(*budget.dropped, gone),
    )


def _life_at(budget: MarkBudget, path: Path) -> CacheLife | None:
    """The life that a mark may have here: every earlier one must live as long, every later one no longer."""
    place = order_of(path)
    before = {mark.life for mark in budget.marks if mark.order <= place}
    after = {mark.life for mark in budget.marks if mark.order > place}
    fits: dict[CacheLife, bool] = {"5m": "1h" not in after, "1h": "5m" not in before}
    own = budget.rolling.life
    other: CacheLife = "1h" if own == "5m" else "5m"
    return next((life for life in (own, other) if fits[life]), None)
