"""Stage 0 for Pi: a session file in, a `Transcript` of one branch out. `pi_edits` makes the lines that go back.

Source pointers: `line:N` is a physical line from 1, `line:N/I` the block I (from 0) of the content that it holds.
"""

from collections.abc import Iterator

from returns.result import Failure, Result, Success

from context_guard.formats.errors import FormatError
from context_guard.formats.pi_entries import (
    Stored,
    read_pins,
    read_record,
    read_replacement,
    read_stored,
    takes_content,
    to_entry,
)
from context_guard.formats.pi_session import (
    Json,
    PiSession,
    branch,
    edits_in_force,
    is_edit,
    message_of,
    parse,
    select,
)
from context_guard.formats.values import string
from context_guard.records import StoredRecord
from context_guard.transcript import AnyBlock, Edit, Model, Transcript


def read(data: bytes, leaf: str | None = None) -> Result[Transcript, FormatError]:
    """The branch that ends at `leaf`, or at the file's last entry, from where Pi goes on."""
    return parse(data).bind(lambda session: _branch_of(session, leaf))


def _branch_of(session: PiSession, leaf: str | None) -> Result[Transcript, FormatError]:
    if leaf is not None and leaf not in session.places:
        return Failure(FormatError(f"The session has no entry {leaf!r}: give the id of one of its entries."))
    return Success(to_transcript(session, leaf))


def to_transcript(session: PiSession, leaf: str | None = None) -> Transcript:
    """Total: whatever the session holds, the entries that cannot be understood are `meta` and stay out of the way."""
    places = branch(session, leaf)
    path = [session.entries[place] for place in places]
    sources = [f"line:{session.lines[place]}" for place in places]
    selected = select(path)
    stored = [read_stored(entry, source) for entry, source in zip(path, sources, strict=True)]
    edits = _edits(path, sources, stored)
    shown = _shown(path, stored, selected, edits)
    models = _models(path)
    return Transcript(
        host="pi",
        session=string(session.header.get("id")),
        entries=tuple(
            to_entry(path[i], stored[i], shown[i], models[i] if stored[i].role == "assistant" else None, sources[i])
            for i in range(len(path))
        ),
        head=path[-1]["id"] if path else None,
        context=tuple(selected),
        edits=tuple(edits.values()),
        records=tuple(
            StoredRecord(id=entry["id"], at=at, record=record)
            for at, entry in enumerate(path)
            if (record := read_record(entry)) is not None
        ),
        model=models[-1] if models else None,
        cwd=string(session.header.get("cwd")) or None,
        version=str(session.version),
        pinned=read_pins(path),
        keeps=tuple(_keeps(path)),
        hidden=frozenset(path[i]["id"] for i, own in enumerate(stored) if own.hidden),
    )


def _edits(path: list[Json], sources: list[str], stored: list[Stored]) -> dict[int, Edit]:
    """Every edit of the branch by its index, its content wrapped as the target's own is."""
    targets = {entry["id"]: i for i, entry in enumerate(path)}
    edits: dict[int, Edit] = {}
    for at, entry in enumerate(path):
        if is_edit(entry):
            target = targets.get(entry["targetId"])
            tool = message_of(path[target]) if target is not None and stored[target].role == "tool" else None
            content = read_replacement(entry["replacement"], tool, sources[at])
            edits[at] = Edit(id=entry["id"], target=entry["targetId"], at=at, content=content)
    return edits


def _shown(
    path: list[Json], stored: list[Stored], selected: list[int], edits: dict[int, Edit]
) -> list[tuple[AnyBlock, ...] | None]:
    """What the model sees of each entry of the branch; nothing of one that a compaction dropped."""
    in_force = edits_in_force(path, selected)
    shown: list[tuple[AnyBlock, ...] | None] = [()] * len(path)
    for place, i in enumerate(selected):
        own = stored[i]
        edit = edits.get(in_force.get(path[i]["id"], -1))
        outdated = place > 0 and path[i].get("type") == "compaction"
        if own.role == "meta":
            continue
        if edit is not None and edit.content is None:
            shown[i] = None
        elif edit is not None and takes_content(path[i]):
            shown[i] = edit.content
        elif not outdated and not own.hidden:
            shown[i] = own.raw
    return shown


def _models(path: list[Json]) -> list[Model | None]:
    """The model in force after each entry. Only an answer names its API; a change back to that model keeps it."""
    models: list[Model | None] = []
    model: Model | None = None
    apis: dict[tuple[str, str], str] = {}
    for entry in path:
        message = message_of(entry)
        if message.get("role") == "assistant":
            name = (string(message.get("provider")), string(message.get("model")))
            apis[name] = string(message.get("api"))
            model = Model(*name, apis[name])
        elif entry.get("type") == "model_change":
            name = (string(entry.get("provider")), string(entry.get("modelId")))
            model = Model(*name, apis.get(name, ""))
        models.append(model)
    return models


def _keeps(path: list[Json]) -> Iterator[tuple[str, str]]:
    for entry in path:
        if entry.get("type") == "compaction":
            yield entry["id"], string(entry.get("firstKeptEntryId")) or entry["id"]
