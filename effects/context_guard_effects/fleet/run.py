"""A run that leaves a table in a folder, and goes on where it was when it is started again.

FOLDER/run.json                what the run is of: another one in the same folder is refused
FOLDER/parts/<hash>.parquet    what came of one batch, named by all that went into it
FOLDER/<command>.parquet       all parts, in the order of their batches: there once everything is done
"""

import json
from collections.abc import Callable, Generator, Iterator
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any, Generic

from msgspec import Struct

from context_guard_effects.audit.units import Problem, Unit
from context_guard_effects.fleet.engine import Batch, Done, Engine, FleetError, Mapped, Packed
from context_guard_effects.fleet.folders import Folder
from context_guard_effects.fleet.table import Columns, Row, encode_part, needs_pyarrow, read_rows, write_table

MANIFEST = "run.json"
FORMAT = "context-guard-run"
VERSION = 1


class Task(Struct, Generic[Done], frozen=True):
    """What is done to every unit, and what is written of it."""

    command: str
    told: dict[str, Any]
    """All that the outcome hangs on but the units, as JSON."""
    work: Callable[[Unit], Done]
    died: Callable[[Unit], Done]
    columns: Columns
    rows: Callable[[Done], list[Row]]

    def mapped(self, pack: Callable[[tuple[Done, ...]], Packed]) -> Mapped[Unit, Done, Packed]:
        return Mapped(self.work, self.died, pack)


class Run(Generic[Done]):
    def __init__(self, folder: Folder, task: Task[Done], batches: list[Batch[Unit]]) -> None:
        """Raises FleetError when the folder is another run's."""
        needs_pyarrow()
        self._folder = folder
        self._task = task
        identity = {"format": FORMAT, "v": VERSION, "command": task.command, **task.told}
        names = folder.names()
        if MANIFEST in names:
            _check_same(folder, identity)
        elif names:
            raise FleetError(f"{folder.place} holds other files, and no run: name a folder that is new or empty")
        else:
            folder.write(MANIFEST, (json.dumps(identity, indent=1, sort_keys=True) + "\n").encode())
        self._parts = {_part_name(identity, batch): batch for batch in batches}
        self._left = {name: batch for name, batch in self._parts.items() if name not in names}

    @property
    def left(self) -> list[Batch[Unit]]:
        """Without those that an earlier start has done."""
        return list(self._left.values())

    def work(self, engine: Engine) -> Generator[tuple[Done, ...]]:
        """Each batch that is left, once its part is written."""
        names = {batch: name for name, batch in self._left.items()}
        pack = partial(_part, rows=self._task.rows, columns=self._task.columns)
        for batch, outcomes, part in engine.map(self._task.mapped(pack), self.left):
            self._folder.write(names[batch], part)
            del self._left[names[batch]]
            yield outcomes

    def finish(self, problems: list[Problem]) -> str:
        """Writes the table, with what could not even be listed at its end; where it is."""
        name = f"{self._task.command}.parquet"
        told = sorted((it.path, it.reason) for it in problems)
        rows = ({"path": path, "outcome": "unreadable", "error": reason} for path, reason in told)
        last = [encode_part(rows, self._task.columns)] if told else []
        with self._folder.writing(name) as file:
            write_table(chain(map(self._folder.read, self._parts), last), self._task.columns, file)
        return f"{self._folder.place.rstrip('/')}/{name}"

    def rows(self) -> Iterator[Row]:
        """Of everything that is done, in the order of the units."""
        for name in self._parts:
            if name not in self._left:
                yield from read_rows(self._folder.read(name))


def _part(outcomes: tuple[Done, ...], rows: Callable[[Done], list[Row]], columns: Columns) -> bytes:
    return encode_part((row for outcome in outcomes for row in rows(outcome)), columns)


def own_version() -> str:
    """Of the installed package; whatever a checkout is, it has that of the installation."""
    try:
        return version("context-guard")
    except PackageNotFoundError:
        return ""


def _part_name(identity: dict[str, Any], batch: Batch[Unit]) -> str:
    units = [[it.path, it.session, it.size, it.changed, it.mark, it.is_named] for it in batch]
    text = json.dumps([identity, units], sort_keys=True)  # half characters of paths as escapes
    return f"parts/{sha256(text.encode()).hexdigest()[:40]}.parquet"


def _check_same(folder: Folder, identity: dict[str, Any]) -> None:
    try:
        found = json.loads(folder.read(MANIFEST))
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FleetError(f"{folder.place}/{MANIFEST} is no run of context-guard: name another folder")
    # written and read once, so that numbers compare as JSON has them
    now = json.loads(json.dumps(identity))
    changed = [key for key in sorted({*found, *now}) if found.get(key) != now.get(key)]
    if changed:
        said = "; ".join(f"{key} was {_short(found.get(key))}, and is {_short(now.get(key))}" for key in changed)
        raise FleetError(f"{folder.place} holds another run ({said}): name another folder, or delete this one")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"
