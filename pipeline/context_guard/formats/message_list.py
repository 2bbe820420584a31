"""A provider's message list as a `Transcript`: entries told by their content, the log of earlier passes laid over them.

A codec (`anthropic`, `openai_chat`, `openai_responses`) reads a list into `Message`s and writes edits into it. An
entry's id is made of what it says, so a host may drop its list, load it again, fork or edit it, and needs to keep
nothing but the log.
"""

from collections.abc import Sequence

import msgspec

from context_guard.edit_log import LoggedPass, Omitted, Replaced
from context_guard.formats.fitting import Changes, Edits, Texts, fit
from context_guard.formats.message import Message, Read, entry_ids, is_entry_id
from context_guard.in_force import Change, Replay, edits_in_force, replay
from context_guard.logged import FindImage, log_pass, raw_outputs
from context_guard.records import StoredRecord
from context_guard.transcript import AnyBlock, Edit, Entry, Model, Text, Transcript, only_result

__all__ = [
    "Changes",
    "Edits",
    "FindImage",
    "Message",
    "Read",
    "edits_in_force",
    "entry_ids",
    "fit",
    "is_entry_id",
    "log_pass",
    "raw_outputs",
    "to_transcript",
]

RECORD = "context-guard"
EDIT = "context-guard-edit"


def to_transcript(
    host: str,
    messages: Sequence[Message],
    log: Sequence[LoggedPass] = (),
    model: Model | None = None,
    overhead_chars: int | None = None,
    session: str = "",
) -> Transcript:
    """The list as a branch: its entries, and behind the witness of each pass what that pass added, as no model sees it.

    `model` is the one that the next request goes to.
    """
    ids = entry_ids(messages)
    replayed = replay(ids, log)
    changes = fit(messages, ids, dict(replayed.edits))
    entries: list[Entry] = []
    edits: list[Edit] = []
    records: list[StoredRecord] = []
    blocks = {entry_id: message.blocks for entry_id, message in zip(ids, messages, strict=True)}
    behind = _anchors(ids, replayed)

    def add(entry: Entry) -> int:
        parent = entries[-1].id if entries else None
        entries.append(msgspec.structs.replace(entry, parent=parent))
        return len(entries) - 1

    for place, message in enumerate(messages):
        add(message.to_entry(ids[place], _shown(message, changes.get(place, ()))))
        for number in behind.get(place, ()):
            logged = replayed.passes[number]
            for step_number, step in enumerate(step for step in replayed.steps if step.place == number):
                name = f"pass-{number + 1}-{step_number + 1}"
                at = add(Entry(id=name, parent=None, role="meta", kind=EDIT))
                target = step.change.target
                edits.append(Edit(id=name, target=target, at=at, content=_content(step.change, blocks[target])))
            if logged.record is not None:
                name = f"pass-{number + 1}"
                at = add(Entry(id=name, parent=None, role="meta", kind=RECORD))
                records.append(StoredRecord(id=name, at=at, record=logged.record))
    fixed = (entry_id for entry_id, message in zip(ids, messages, strict=True) if message.is_fixed)
    return Transcript(
        host=host,
        session=session,
        entries=tuple(entries),
        head=entries[-1].id if entries else None,
        context=tuple(range(len(entries))),
        edits=tuple(edits),
        records=tuple(records),
        model=model,
        overhead_chars=overhead_chars,
        pinned=replayed.pinned.union(fixed),
    )


def _anchors(ids: Sequence[str], replayed: Replay) -> dict[int, list[int]]:
    """Place of an entry → the passes that stand behind it, in the order of the log.

    A word of the user's has no witness: it stands where the pass before it does, the first one at its target.
    """
    places = {entry_id: place for place, entry_id in enumerate(ids)}
    found: dict[int, list[int]] = {}
    at = -1
    for number, logged in enumerate(replayed.passes):
        own = [places[edit.target] for edit in logged.edits if edit.target in places]
        witness = places[logged.witness] if logged.witness else max(own, default=0) if at < 0 else at
        at = max(at, witness)
        found.setdefault(at, []).append(number)
    return found


def _shown(message: Message, texts: Texts | None) -> tuple[AnyBlock, ...] | None:
    """No text at all is no edit: `fit` lets none through."""
    if texts is None:
        return None
    return _with_texts(message.blocks, texts) if texts else message.blocks


def _content(change: Change, raw: tuple[AnyBlock, ...]) -> tuple[AnyBlock, ...] | None:
    match change:
        case Replaced(texts=texts):
            return _with_texts(raw, texts)
        case Omitted():
            return None
        case _:
            return raw


def _with_texts(raw: tuple[AnyBlock, ...], texts: Texts) -> tuple[AnyBlock, ...]:
    """The texts in place of the content; of a tool result everything else stays."""
    shown = tuple(Text(text) for text in texts)
    result = only_result(raw)
    return shown if result is None else (msgspec.structs.replace(result, content=shown),)
