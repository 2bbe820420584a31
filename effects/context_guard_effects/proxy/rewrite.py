"""A request with the edits that hold in it; on any doubt the very bytes that came."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import trio
from msgspec import Struct

from context_guard.edit_log import LoggedPass
from context_guard.formats.message_list import Changes, Message, edits_in_force, fit
from context_guard.formats.opened import Opened
from context_guard.formats.pinned import Edited
from context_guard.formats.splice import NO_BLOCKS, splice
from context_guard.proxy_routes import Guarded
from context_guard.transcript import text_of
from context_guard_effects.checked import Checked
from context_guard_effects.proxy.applied import AppliedLog
from context_guard_effects.proxy.pins import Pins
from context_guard_effects.proxy.recent import Recent
from context_guard_effects.settling import check_edited

THREADS = 2
"""That read and write requests at a time; more would only take turns."""

Json = dict[str, Any]
T = TypeVar("T")


class Conversation(Struct, frozen=True):
    """What a request says about the conversation that it belongs to."""

    root: str
    """Id of its first entry."""
    answer: str
    """Id of the last answer in it; empty before the first."""
    starts_run: bool
    """Whether it ends with a prompt of the user's."""
    has_results: bool
    model: str
    path: frozenset[str]
    """Ids of its entries."""


class Rewritten(Struct, frozen=True):
    body: bytes
    """To be sent: the same object where nothing changed."""
    edits: int = 0
    kept_out: int = 0
    """Bytes of texts that are not sent: what the form of the JSON makes of them does not count, nor do pictures."""
    is_pinned: bool = False
    """Whether it carries a cache mark of ours."""
    why: str = ""
    """One word, where a request could not be guarded."""
    conversation: Conversation | None = None
    """None where the list could not be read, or is not the conversation."""


class Rewriter:
    def __init__(self, log: AppliedLog, tell: Callable[[str], None], pins: Pins | None) -> None:
        """`pins`: gives Anthropic requests cache marks that survive an edit; None: they get none."""
        self._log = log
        self._pins = pins
        self._tell = tell
        self._checked = Checked()
        self._recent = Recent()
        self._lock = threading.Lock()
        self._limiter = trio.CapacityLimiter(THREADS)

    async def rewrite(self, route: Guarded, data: bytes) -> Rewritten:
        """Never raises for anything in the request or the store."""
        try:
            return await self._rewritten(route, data)
        except Exception as error:  # a fault of the guard must not cost the agent its request
            said = str(error) if isinstance(error, ValueError) else type(error).__name__
            self._tell(f"a request went out unedited: {said}")
            return Rewritten(data, why="invalid" if isinstance(error, ValueError) else "defect")

    async def _rewritten(self, route: Guarded, data: bytes) -> Rewritten:
        work = _at_once if self._recent.is_at_hand(route.api, data) else self._in_thread
        opened = await work(self._recent.open, route.api, data)
        if isinstance(opened, str):
            return Rewritten(data, why=opened)
        log = await self._log.find(opened.ids)
        conversation = _told(opened)
        if not log and not (self._pins and route.api == "anthropic"):
            return Rewritten(data, conversation=conversation)
        return await work(self._write, opened, log, data, conversation)

    async def _in_thread(self, work: Callable[..., T], *given: Any) -> T:
        return await trio.to_thread.run_sync(work, *given, limiter=self._limiter)

    def _write(self, opened: Opened, log: tuple[LoggedPass, ...], data: bytes, conversation: Conversation) -> Rewritten:
        """Raises ValueError where the provider would refuse what comes of it."""
        edited = self._edited(opened, log)
        sent, blocks = edited.messages, NO_BLOCKS
        if self._pins is not None and opened.api == "anthropic":
            pinned = self._pins.place(edited)
            sent, blocks = pinned.messages, pinned.blocks
        if sent is opened.messages and not blocks:
            return Rewritten(data, conversation=conversation)
        return Rewritten(
            splice(opened.spans, opened.messages, sent, blocks),
            edits=len(edited.changes),
            kept_out=_kept_out(opened.read, edited.changes),
            is_pinned=sent is not edited.messages or bool(blocks),
            conversation=conversation,
        )

    def _edited(self, opened: Opened, log: tuple[LoggedPass, ...]) -> Edited:
        edits = edits_in_force(opened.ids, log)
        changes = fit(opened.read, opened.ids, edits)
        sent = opened.codec.write(opened.messages, opened.read, changes)
        with self._lock:
            is_known = not changes or self._checked.covers(opened.ids, edits)
        if not is_known:
            check_edited(opened.codec, opened.messages, sent)
            with self._lock:
                self._checked.add(opened.ids, edits)
        return Edited(opened, log, changes, sent)


async def _at_once(work: Callable[..., T], *given: Any) -> T:
    return work(*given)


def _kept_out(read: tuple[Message, ...], changes: Changes) -> int:
    return sum(_size(text_of(read[at].blocks)) - sum(map(_size, texts or ())) for at, texts in changes.items())


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _told(opened: Opened) -> Conversation:
    answers = [place for place, message in enumerate(opened.read) if message.role == "assistant"]
    last = next((message.role for message in reversed(opened.read) if message.role != "system"), "")
    return Conversation(
        root=opened.ids[0] if opened.ids else "",
        answer=opened.ids[answers[-1]] if answers else "",
        starts_run=last == "user",
        has_results=any(message.role == "tool" for message in opened.read),
        model=opened.model,
        path=frozenset(opened.ids),
    )
