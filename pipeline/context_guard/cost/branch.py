"""A recorded branch as it grows again, entry by entry, with the edits of a guard among its entries."""

from collections import Counter

from msgspec.structs import replace

from context_guard.cost.recording import Recording
from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.records import StoredRecord
from context_guard.transcript import AnyBlock, Edit, Entry, Model, Text, Transcript


class Branch:
    """The branch as it grows, the guard's edits and records among its entries."""

    def __init__(self, recording: Recording, model: Model | None) -> None:
        self.versions: Counter[str] = Counter()
        """Edits of each entry so far."""
        self._recording = recording
        self._model = model
        self._host_edits = {edit.id: edit for edit in recording.edits}
        self._keeps = dict(recording.keeps)
        self._entries: list[Entry] = []
        self._places: dict[str, int] = {}
        self._context: list[int] = []
        self._edits: list[Edit] = []
        self._records: list[StoredRecord] = []

    def add(self, entry: Entry) -> None:
        at = len(self._entries)
        if entry.role == "assistant" and self._model is not None:
            entry = replace(entry, model=self._model)
        self._entries.append(entry)
        self._places[entry.id] = at
        if entry.id in self._keeps:
            self._compact(at, self._keeps[entry.id])
        else:
            self._context.append(at)
        if entry.id in self._host_edits:
            edit = self._host_edits[entry.id]
            self._edit(entry.id, edit.target, edit.content)

    def apply(self, drafts: tuple[Draft, ...]) -> None:
        for draft in drafts:
            at = len(self._entries)
            name = f"guard-{at}"
            self.add(Entry(id=name, parent=self._entries[-1].id, role="meta"))
            match draft:
                case Append(record=record):
                    self._records.append(StoredRecord(id=name, at=at, record=record))
                case Omit(target=target):
                    self._edit(name, target, None)
                case Replace(target=target, texts=texts):
                    self._edit(name, target, self._content(target, texts))

    def transcript(self) -> Transcript:
        return Transcript(
            host="replay",
            session=self._recording.name,
            entries=tuple(self._entries),
            head=self._entries[-1].id if self._entries else None,
            context=tuple(self._context),
            edits=tuple(self._edits),
            records=tuple(self._records),
            model=self._model,
            cwd=self._recording.cwd,
        )

    def _content(self, target: str, texts: tuple[str, ...]) -> tuple[AnyBlock, ...]:
        result = self._entries[self._places[target]].raw_result
        blocks = tuple(map(Text, texts))
        return blocks if result is None else (replace(result, content=blocks),)

    def _edit(self, name: str, target: str, content: tuple[AnyBlock, ...] | None) -> None:
        place = self._places[target]
        self._edits.append(Edit(id=name, target=target, at=self._places[name], content=content))
        self._entries[place] = replace(self._entries[place], visible=content)
        self.versions[target] += 1

    def _compact(self, at: int, first_kept: str) -> None:
        """The summary comes first, then what it kept; an older summary has had its say."""
        first = self._places.get(first_kept, at)
        kept = [place for place in range(first, at) if self._entries[place].role != "system"]
        for place in kept:
            if self._entries[place].kind == "compaction":
                self._entries[place] = replace(self._entries[place], visible=())
        self._context = [at, *kept]
