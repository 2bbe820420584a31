"""Cache marks for an Anthropic Messages request that make an edit cost less: question pin, read point, write anchor.

Only marks change, never content: an entry that is in the cache stays valid. On api.anthropic.com a host may send only
what is new (`thread.type` "continue"); such a request holds no old message to mark and is left as it is. There the
host hashes system prompt and tools with their marks, so the identity block's mark goes by a rule that looks at nothing
else, and goes in every request or in none.
"""

from typing import Literal

from msgspec import Struct

from context_guard.cache.anchors import Anchors
from context_guard.cache.budget import MAX_MARKS, Fit, MarkBudget, add_mark, open_budget
from context_guard.cache.marks import (
    MESSAGES,
    Body,
    Path,
    is_messages,
    normal_id,
    order_of,
    read_marks,
    results_of,
    with_mark,
    without_mark,
)

NO_ANCHORS = Anchors()

Placing = Literal[Fit, "no-room", "no-question", "not-found", "in-last-message", "no-cache", "thread", "not-anthropic"]
"""What became of a wanted mark. no-room: another was worth more; no-cache: the host set no mark in the messages, so it
wants no caching;
thread: the request continues a message thread and holds only what is new."""


class Placement(Struct, frozen=True):
    body: Body
    """The request to send; the very object that came in when nothing changes."""
    question: Placing
    read: Placing | None = None
    """None when no such mark was wanted."""
    write: Placing | None = None
    dropped: tuple[str, ...] = ()
    """The host's marks that made room, as `system[0]` or `tools[5]`."""


def place_breakpoints(body: Body, anchors: Anchors = NO_ANCHORS, read_at: Path | None = None) -> Placement:
    """Marks the latest question before the last message, and the anchors where given; in this order of rank. `read_at`
    is the place of the prompt that the anchors name.

    Never more than four marks, longer-lived ones in front. A mark of the host goes only where another covers it, and
    only for one of ours that then fits; the identity block's goes before that, by the rule above.
    """
    if not is_messages(body):
        return _untouched(body, anchors, "not-anthropic")
    if isinstance(thread := body.get("thread"), dict) and thread.get("type") == "continue":
        return _untouched(body, anchors, "thread")
    marks = read_marks(body)
    rolling = next((mark for mark in reversed(marks) if mark.order >= MESSAGES), None)
    if rolling is None:
        return _untouched(body, anchors, "no-cache")
    if len(marks) > MAX_MARKS:
        return _untouched(body, anchors, "over-budget")
    budget = open_budget(marks, rolling)
    last = _last_message(body["messages"])
    budget, question = _pin_question(budget, body, last)
    return _anchored(body, anchors, read_at, budget, question)


def place_anchors(body: Body, anchors: Anchors, read_at: Path | None = None) -> Placement:
    """The same without the question, for a request in which there is no room beside it. A question that an earlier
    request marked stays in the cache while what lies behind it is read."""
    with_question = place_breakpoints(body)
    if with_question.question not in ("pinned", "already", "over-budget", "ttl-conflict"):
        return place_breakpoints(body, anchors, read_at)
    marks = read_marks(body)
    rolling = next(mark for mark in reversed(marks) if mark.order >= MESSAGES)
    if len(marks) > MAX_MARKS:
        return _untouched(body, anchors, "over-budget")
    return _anchored(body, anchors, read_at, open_budget(marks, rolling), "no-room")


def _anchored(body: Body, anchors: Anchors, read_at: Path | None, budget: MarkBudget, question: Placing) -> Placement:
    last = _last_message(body["messages"])
    budget, read = _pin_result(budget, body, anchors.read, last) if read_at is None else add_mark(budget, read_at)
    budget, write = _pin_result(budget, body, anchors.write, last)
    return Placement(
        body=_apply(body, budget),
        question=question,
        read=read,
        write=write,
        dropped=tuple(f"{mark.path[0]}[{mark.path[1]}]" for mark in budget.dropped),
    )


def _untouched(body: Body, anchors: Anchors, why: Placing) -> Placement:
    return Placement(
        body=body,
        question=why,
        read=why if anchors.read is not None else None,
        write=why if anchors.write is not None else None,
    )


def _pin_question(budget: MarkBudget, body: Body, last: int) -> tuple[MarkBudget, Placing]:
    path = _find_question(body["messages"], last)
    return (budget, "no-question") if path is None else add_mark(budget, path)


def _pin_result(budget: MarkBudget, body: Body, call_id: str | None, last: int) -> tuple[MarkBudget, Placing | None]:
    if call_id is None:
        return budget, None
    names = (call_id, normal_id(call_id))
    path = next((path for path, block in results_of(body) if block.get("tool_use_id") in names), None)
    if path is None:
        return budget, "not-found"
    return (budget, "in-last-message") if order_of(path) >= (2, last, 0) else add_mark(budget, path)


def _last_message(messages: list[Body]) -> int:
    """Hosts end the list with system messages that set the effort; they are not what is marked."""
    return next((at for at in reversed(range(len(messages))) if messages[at]["role"] != "system"), -1)


def _find_question(messages: list[Body], last: int) -> Path | None:
    """The last text of the nearest user message with text before the last message."""
    for at in reversed(range(max(0, last))):
        if messages[at]["role"] != "user":
            continue
        content = messages[at].get("content")
        if isinstance(content, str) and content.strip():
            return ("messages", at, "content")
        blocks = content if isinstance(content, list) else []
        for number in reversed(range(len(blocks))):
            if is_markable(blocks[number]):
                return ("messages", at, "content", number)
    return None


def is_markable(block: object) -> bool:
    """A text that may be marked; Anthropic refuses a mark on a blank one."""
    match block:
        case {"type": "text", "text": str(text)}:
            return bool(text.strip())
        case _:
            return False


def _apply(body: Body, budget: MarkBudget) -> Body:
    for mark in budget.dropped:
        body = without_mark(body, mark.path)
    for mark in budget.added:
        body = with_mark(body, mark, budget.rolling)
    return body
