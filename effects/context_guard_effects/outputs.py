"""The tool outputs of a conversation, as its host asks about them."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from context_guard.formats.message_list import Message
from context_guard.transcript import Entry, Transcript, only_result, text_of


class Output(Struct, frozen=True):
    """A tool output of a conversation, with the id that `pin` takes."""

    id: str
    call_id: str
    tool: str
    chars: int
    is_edited: bool
    is_pinned: bool


def output_of(transcript: Transcript, entry: Entry) -> Output:
    result = entry.raw_result
    return Output(
        id=entry.id,
        call_id=result.call_id if result else "",
        tool=result.name if result else "",
        chars=len(text_of(entry.raw)),
        is_edited=entry.visible != entry.raw,
        is_pinned=entry.id in transcript.pinned,
    )


def result_texts(read: Sequence[Message]) -> dict[str, str]:
    """Call id → text, without the results that share a call id."""
    results = [result for message in read if (result := only_result(message.blocks)) is not None]
    count = Counter(result.call_id for result in results)
    return {result.call_id: text_of((result,)) for result in results if count[result.call_id] == 1}
