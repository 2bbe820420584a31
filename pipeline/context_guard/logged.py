"""A pass as it goes into the log beside a message list, and what has to be stored with it."""

from collections.abc import Callable, Iterator

import msgspec

from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, RawImage, RawOutput, Replaced
from context_guard.recall import source_of
from context_guard.records import StoredRecord
from context_guard.text import RECALL
from context_guard.transcript import Image, Transcript, images_of

FindImage = Callable[[Image], RawImage | None]
"""The codec's way from an image to its data."""


def log_pass(transcript: Transcript, drafts: tuple[Draft, ...], session: str, time: int) -> LoggedPass:
    """The drafts of one pass over this transcript; its witness is the last assistant entry. `time` in milliseconds."""
    answers = [entry.id for entry in transcript.entries if entry.role == "assistant"]
    return LoggedPass(
        witness=answers[-1] if answers else "",
        edits=tuple(_edit(draft) for draft in drafts if not isinstance(draft, Append)),
        record=next((draft.record for draft in drafts if isinstance(draft, Append)), None),
        session=session,
        time=time,
    )


def raw_outputs(
    transcript: Transcript, drafts: tuple[Draft, ...], find_image: FindImage, way: str = RECALL
) -> tuple[RawOutput, ...]:
    """What recall has to give back for every id that these drafts tell the model, to be stored before they hold.

    `way`: as `Config.recall_with` has it.

    Of an omitted exchange that is its transcript, and each result in it with pictures, which the transcript names.
    """
    transcript = _with_record(transcript, drafts)
    ids = {draft.target: None for draft in drafts if isinstance(draft, Replace)}
    omitted = {draft.target for draft in drafts if isinstance(draft, Omit)}
    pictured = (it.id for it in transcript.entries if it.id in omitted and it.role == "tool" and images_of(it.raw))
    ids.update(dict.fromkeys(pictured))
    sources = {id: source for id in ids if (source := source_of(transcript, id, way)) is not None}
    return tuple(_raw(transcript, sources, find_image))


def _raw(
    transcript: Transcript, sources: dict[str, tuple[str, tuple[Image, ...]]], find_image: FindImage
) -> Iterator[RawOutput]:
    entries = {entry.id: entry for entry in transcript.entries}
    for entry_id, (text, images) in sources.items():
        result = entries[entry_id].raw_result
        yield RawOutput(
            id=entry_id,
            text=text,
            images=tuple(found for image in images if (found := find_image(image)) is not None),
            tool=result.name if result is not None else "",
            session=transcript.session,
        )


def _with_record(transcript: Transcript, drafts: tuple[Draft, ...]) -> Transcript:
    """With the record of the pass, which says what went with each exchange."""
    at = len(transcript.entries)
    new = tuple(StoredRecord(id="", at=at, record=draft.record) for draft in drafts if isinstance(draft, Append))
    return msgspec.structs.replace(transcript, records=(*transcript.records, *new))


def _edit(draft: Replace | Omit) -> LoggedEdit:
    if isinstance(draft, Replace):
        return Replaced(target=draft.target, texts=draft.texts)
    return Omitted(target=draft.target)
