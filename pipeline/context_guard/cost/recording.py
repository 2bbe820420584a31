"""A session as it was recorded, without what a guard did to it: what a replay walks through."""

from msgspec import Struct
from msgspec.structs import replace

from context_guard.cost.prompt import Tokens
from context_guard.runs import is_queued, is_steering
from context_guard.text import MARKER
from context_guard.transcript import Edit, Entry, Transcript, text_of

SECOND = 1_000
MINUTE = 60 * SECOND


class Recording(Struct, frozen=True):
    name: str
    entries: tuple[Entry, ...]
    """One branch, root to head, raw. A guard's own edits and records are not among them."""
    edits: tuple[Edit, ...] = ()
    """The host's own, which hold with and without a guard; `id` names their entry."""
    keeps: tuple[tuple[str, str], ...] = ()
    """Compactions: id, and the id of the first entry that it kept."""
    cwd: str | None = None
    tokens: Tokens = Tokens()

    @property
    def requests(self) -> int:
        return sum(1 for entry in self.entries if is_request(entry))


def record(name: str, transcript: Transcript) -> Recording:
    """The recording of any host's transcript, what a guard added left out."""
    ours = _of_a_guard(transcript)
    return Recording(
        name=name,
        entries=tuple(
            replace(entry, visible=() if entry.id in transcript.hidden else entry.raw)
            for entry in transcript.entries
            if entry.id not in ours
        ),
        edits=tuple(edit for edit in transcript.edits if edit.id not in ours),
        keeps=transcript.keeps,
        cwd=transcript.cwd,
    )


def as_sent(name: str, transcript: Transcript) -> Recording:
    """The same with the edits of a guard that was at work: what the recorded usage was counted for."""
    shown = (replace(it, visible=() if it.id in transcript.hidden else it.raw) for it in transcript.entries)
    return Recording(name=name, entries=tuple(shown), edits=transcript.edits, keeps=transcript.keeps)


def is_request(entry: Entry) -> bool:
    """Whether the entry answers a request that was billed: a failure without any usage was not."""
    failed = entry.stop in ("error", "aborted")
    usage = entry.usage
    return entry.role == "assistant" and not (failed and (usage is None or not usage.input + usage.cache_read))


def is_prompt(entries: tuple[Entry, ...], place: int) -> bool:
    """Whether the entry is a prompt that the user typed when the agent had settled."""
    if entries[place].role != "user" or is_steering(entries, place) or is_queued(entries, place):
        return False
    return any(entry.role == "assistant" for entry in entries[:place])


def _of_a_guard(transcript: Transcript) -> frozenset[str]:
    """Entries that a guard appended: runs of edits and records in which one bears its mark."""
    edits = {edit.id: edit for edit in transcript.edits}
    records = {stored.id for stored in transcript.records}
    found: set[str] = set()
    block: list[str] = []
    marked = False
    for entry in (*transcript.entries, None):
        if entry is not None and (entry.id in edits or entry.id in records):
            block.append(entry.id)
            edit = edits.get(entry.id)
            marked = marked or edit is None or text_of(edit.content).startswith(MARKER)
            continue
        found.update(block if marked else ())
        block, marked = [], False
    return frozenset(found)
