"""`context-guard pin`, `unpin`, `restore`: the user's word about one output, put into the store's log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from context_guard_effects.cli import options
from context_guard_effects.cli.output import write

if TYPE_CHECKING:
    from context_guard.edit_log import LoggedEdit
    from context_guard_effects.store import Store

FROM_NOW = "from the next request of its host on"


@click.command()
@options.stored
@options.store
def pin(id: str, store: Path | None) -> None:
    """Have the model see the output ID in full, and keep every pass off it."""
    from context_guard.edit_log import Pinned
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        if _is_pinned(opened, id):
            write(f"{id} is pinned already.\n")
            return
        _say(opened, Pinned(id))
    write(f"Pinned: the model sees the original of {id} {FROM_NOW}, and no pass touches it. `unpin` takes it back.\n")


@click.command()
@options.stored
@options.store
def unpin(id: str, store: Path | None) -> None:
    """Take back a pin: passes may judge the output ID again."""
    from context_guard.edit_log import Unpinned
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        if not _is_pinned(opened, id):
            write(f"{id} is not pinned.\n")
            return
        _say(opened, Unpinned(id))
    write(f"Unpinned: passes may judge {id} again.\n")


@click.command()
@options.stored
@options.store
def restore(id: str, store: Path | None) -> None:
    """Have the model see the original of the output or exchange ID again, where an edit hides it."""
    from context_guard.edit_log import Omitted, Replaced, Restored, Unpinned
    from context_guard_effects.cli.stores import writing

    with writing(store) as opened:
        said = _said(opened, id)
        if not said or not isinstance(said[-1], Replaced | Omitted | Unpinned):
            write(_nothing_hidden(opened, id))
            return
        _say(opened, Restored(id))
    write(f"Restored: the model sees the original of {id} {FROM_NOW}. `pin` keeps later passes off it too.\n")


def _said(store: "Store", id: str) -> "list[LoggedEdit]":
    """All that the log says about the id. One that the store has never met is an error: most likely a slip."""
    from context_guard_effects.cli.stores import unknown

    found = store.find([id])
    if not found and store.raw(id) is None:
        raise unknown(id, store)
    return [edit for kept in found for edit in kept.edits if edit.target == id]


def _is_pinned(store: "Store", id: str) -> bool:
    from context_guard.edit_log import Pinned, Unpinned

    pins = [edit for edit in _said(store, id) if isinstance(edit, Pinned | Unpinned)]
    return bool(pins) and isinstance(pins[-1], Pinned)


def _nothing_hidden(store: "Store", id: str) -> str:
    from context_guard_effects.cli.stores import day
    from context_guard_effects.store import Expired

    raw = store.raw(id)
    gone = f": with its original it was deleted on {day(raw.at)}" if isinstance(raw, Expired) else ""
    return f"No edit hides {id}{gone}.\n"


def _say(store: "Store", word: "LoggedEdit") -> None:
    from context_guard.edit_log import LoggedPass
    from context_guard_effects.store.sqlite import now_ms

    store.keep(LoggedPass(witness="", edits=(word,), time=now_ms()), ())
