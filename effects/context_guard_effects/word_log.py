"""The user's word about one output, put into the store's log, and what that log says: one text for all front ends."""

from datetime import UTC, datetime

from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, Pinned, Replaced, Restored, Unpinned
from context_guard.log_lines import log_lines
from context_guard_effects.store import Expired, Store, StoreError
from context_guard_effects.store.clock import now_ms

FROM_NOW = "from the next request of its host on"


class UnknownOutput(StoreError):
    """The store never had it: most likely a slip."""


def unknown_output(id: str, store: Store) -> UnknownOutput:
    return UnknownOutput(
        f'the store {store.status().place} knows no output {id!r}. Use the id from a "[context-guard]" note. '
        "Another store: --store or CONTEXT_GUARD_STORE; an output in a session file of any host: "
        "context-guard recall SESSION ID."
    )


def day(ms: int) -> str:
    """Of a time in milliseconds, in UTC."""
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%d")


def pin(store: Store, id: str) -> str:
    """Has the model see the output in full, and keeps every pass off it. Each of these raises StoreError."""
    if _is_pinned(store, id):
        return f"{id} is pinned already."
    _say(store, Pinned(id))
    return f"Pinned: the model sees the original of {id} {FROM_NOW}, and no pass touches it. `unpin` takes it back."


def unpin(store: Store, id: str) -> str:
    if not _is_pinned(store, id):
        return f"{id} is not pinned."
    _say(store, Unpinned(id))
    return f"Unpinned: passes may judge {id} again."


def restore(store: Store, id: str) -> str:
    """Has the model see the original of an output or exchange again, where an edit hides it."""
    said = _said(store, id)
    if not said or not isinstance(said[-1], Replaced | Omitted | Unpinned):
        raw = store.raw(id)
        gone = f": with its original it was deleted on {day(raw.at)}" if isinstance(raw, Expired) else ""
        return f"No edit hides {id}{gone}."
    _say(store, Restored(id))
    return f"Restored: the model sees the original of {id} {FROM_NOW}. `pin` keeps later passes off it too."


def why(store: Store, id: str) -> str:
    """Pass by pass, why the output was kept or dropped, and what the user said about it."""
    lines = list(log_lines(store.find([id]), id))
    raw = store.raw(id)
    if isinstance(raw, Expired):
        lines.append(f"The original was deleted on {day(raw.at)}, with the edits that hid it.")
    elif raw is None and not lines:
        raise unknown_output(id, store)
    return "\n".join(lines) or f"No pass says anything about {id}."


def _said(store: Store, id: str) -> list[LoggedEdit]:
    """All that the log says about the id."""
    found = store.find([id])
    if not found and store.raw(id) is None:
        raise unknown_output(id, store)
    return [edit for kept in found for edit in kept.edits if edit.target == id]


def _is_pinned(store: Store, id: str) -> bool:
    pins = [edit for edit in _said(store, id) if isinstance(edit, Pinned | Unpinned)]
    return bool(pins) and isinstance(pins[-1], Pinned)


def _say(store: Store, word: LoggedEdit) -> None:
    store.keep(LoggedPass(witness="", edits=(word,), time=now_ms()), ())
