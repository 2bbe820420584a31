"""The conversation before a run, clipped for the judge."""

from bisect import bisect_left
from itertools import pairwise

from msgspec import Struct

from context_guard.runs import ONLY_AN_IMAGE, is_stub, prompt_text
from context_guard.text import clip, trim
from context_guard.transcript import Entry, text_of

SUMMARY_CHARS = 2_000
PROMPT_CHARS = 800
REPLY_CHARS = 1_200
FIRST_REQUEST_CHARS = 1_000


class Exchange(Struct, frozen=True):
    user: str
    assistant: str = ""


class History(Struct, frozen=True):
    """The conversation before the run, clipped for the judge."""

    summary: str = ""
    first_request: str = ""
    exchanges: tuple[Exchange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.summary or self.first_request or self.exchanges)


class Past(Struct, frozen=True):
    """A context with the places in it that histories are made of."""

    context: tuple[Entry, ...]
    prompts: tuple[int, ...]
    summaries: tuple[int, ...]


def read_past(context: tuple[Entry, ...]) -> Past:
    """Stubs of omitted exchanges are no prompts; a blank summary is none."""
    return Past(
        context=context,
        prompts=tuple(place for place, entry in enumerate(context) if _is_prompt(entry)),
        summaries=tuple(
            place for place, entry in enumerate(context) if entry.role == "summary" and trim(text_of(entry.visible))
        ),
    )


def read_history(past: Past, start: int, count: int) -> History:
    """Before the place `start`: the last `count` exchanges, the latest summary, and the first prompt where it is older.

    A count of 0 gives nothing at all.
    """
    if count <= 0:
        return History()
    before = bisect_left(past.prompts, start)
    bounds = [*past.prompts[max(0, before - count) : before], start]
    latest = bisect_left(past.summaries, start) - 1
    summary = text_of(past.context[past.summaries[latest]].visible) if latest >= 0 else ""
    first = prompt_text(past.context[past.prompts[0]]) if before > count else ""
    return History(
        summary=clip(trim(summary), SUMMARY_CHARS),
        first_request="" if first == ONLY_AN_IMAGE else clip(trim(first), FIRST_REQUEST_CHARS),
        exchanges=tuple(_exchange(past.context, place, end) for place, end in pairwise(bounds)),
    )


def _exchange(context: tuple[Entry, ...], place: int, end: int) -> Exchange:
    """The prompt at `place` and the last text of the assistant before `end`."""
    replies = (
        trim(text_of(context[at].visible)) for at in range(end - 1, place, -1) if context[at].role == "assistant"
    )
    reply = next(filter(None, replies), "")
    return Exchange(
        user=clip(trim(prompt_text(context[place])), PROMPT_CHARS),
        assistant=clip(reply, REPLY_CHARS),
    )


def _is_prompt(entry: Entry) -> bool:
    return entry.role == "user" and entry.visible is not None and not is_stub(entry)
