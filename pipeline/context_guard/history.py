"""The conversation before a run, clipped for the judge."""

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


def read_history(before: tuple[Entry, ...], count: int) -> History:
    """The last `count` exchanges, the latest summary, and the first prompt where it is not among them.

    A count of 0 gives nothing at all. Stubs of omitted exchanges are no prompts and do not show.
    """
    if count <= 0:
        return History()
    exchanges: list[Exchange] = []
    summary = reply = ""
    oldest = len(before)
    for place in range(len(before) - 1, -1, -1):
        entry = before[place]
        if entry.role == "summary" and not summary:
            summary = trim(text_of(entry.visible))
        elif len(exchanges) == count:
            if summary:
                break
        elif entry.role == "assistant" and not reply:
            reply = trim(text_of(entry.visible))
        elif _is_prompt(entry):
            exchanges.append(_clipped(entry, reply))
            reply, oldest = "", place
    return History(
        summary=clip(summary, SUMMARY_CHARS),
        first_request=_first_request(before[:oldest]),
        exchanges=tuple(reversed(exchanges)),
    )


def _first_request(before: tuple[Entry, ...]) -> str:
    first = next((prompt_text(entry) for entry in before if _is_prompt(entry)), "")
    return "" if first == ONLY_AN_IMAGE else clip(trim(first), FIRST_REQUEST_CHARS)


def _is_prompt(entry: Entry) -> bool:
    return entry.role == "user" and entry.visible is not None and not is_stub(entry)


def _clipped(prompt: Entry, reply: str) -> Exchange:
    return Exchange(user=clip(trim(prompt_text(prompt)), PROMPT_CHARS), assistant=clip(reply, REPLY_CHARS))
