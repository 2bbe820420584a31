"""Where runs begin: at a prompt, not at a message that was sent while the agent was at work."""

from context_guard.text import MARKER, trim
from context_guard.transcript import Entry, calls_of, text_of

ONLY_AN_IMAGE = "[the user sent only an image]"


def find_run_start(context: tuple[Entry, ...], end: int) -> int | None:
    """Place of the prompt that began the run ending before `end`, steering messages walked over."""
    place = _last_user(context, end)
    while place is not None and is_steering(context, place):
        previous = _last_user(context, place)
        if previous is None:
            return place
        place = previous
    return place


def is_steering(context: tuple[Entry, ...], place: int) -> bool:
    """Whether the user's message at `place` came while the agent was at work.

    The message before it decides, notes and emptied entries aside: a tool result, or an assistant message that ended in
    tool calls.
    """
    for at in range(place - 1, -1, -1):
        entry = context[at]
        if _is_unseen(entry) or entry.role == "note":
            continue
        if entry.role == "tool":
            return True
        return entry.role == "assistant" and bool(calls_of(entry.visible)) and entry.stop not in ("aborted", "error")
    return False


def is_queued(context: tuple[Entry, ...], place: int) -> bool:
    """Whether the prompt at `place` was sent before the answer that stands in front of it was complete."""
    sent = context[place].time
    for at in range(place - 1, -1, -1):
        entry = context[at]
        if entry.role == "assistant":
            complete = entry.time if entry.written is None else entry.written
            return sent is not None and complete is not None and sent < complete
        if entry.role == "user":
            return False
    return False


def is_stub(entry: Entry) -> bool:
    """Whether the entry shows a text of the guard's own in place of its raw content."""
    return entry.visible is not None and entry.visible != entry.raw and text_of(entry.visible).startswith(MARKER)


def prompt_text(entry: Entry) -> str:
    text = text_of(entry.visible)
    return text if trim(text) else ONLY_AN_IMAGE


def _is_unseen(entry: Entry) -> bool:
    return entry.visible is None or entry.role == "meta"


def _last_user(context: tuple[Entry, ...], end: int) -> int | None:
    return next(
        (
            place
            for place in range(end - 1, -1, -1)
            if context[place].role == "user" and context[place].visible is not None
        ),
        None,
    )
