"""What a host makes of drafts: each appends an entry, and only what the model sees of its target changes, as in Pi."""

import msgspec

from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.records import StoredRecord
from context_guard.transcript import AnyBlock, Edit, Entry, Text, Transcript


def apply(transcript: Transcript, drafts: tuple[Draft, ...]) -> Transcript:
    for draft in drafts:
        transcript = _append(transcript, draft)
    return transcript


def _append(transcript: Transcript, draft: Draft) -> Transcript:
    at = len(transcript.entries)
    name = f"e{at + 1}"
    entries = list(transcript.entries)
    edits, records = transcript.edits, transcript.records
    match draft:
        case Append(record=record):
            records = (*records, StoredRecord(id=name, at=at, record=record))
        case Replace(target=target) | Omit(target=target):
            place = next(i for i, entry in enumerate(entries) if entry.id == target)
            shown = _content(entries[place], draft)
            edits = (*edits, Edit(id=name, target=target, at=at, content=shown))
            entries[place] = msgspec.structs.replace(entries[place], visible=shown)
    entries.append(Entry(id=name, parent=transcript.head, role="meta"))
    return msgspec.structs.replace(
        transcript,
        entries=tuple(entries),
        head=name,
        context=(*transcript.context, at),
        edits=edits,
        records=records,
    )


def _content(entry: Entry, draft: Replace | Omit) -> tuple[AnyBlock, ...] | None:
    if isinstance(draft, Omit):
        return None
    texts = tuple(Text(text) for text in draft.texts)
    result = entry.raw_result
    return texts if result is None else (msgspec.structs.replace(result, content=texts),)
