"""A session as it was recorded, without what a guard did to it: what a replay walks through."""

import gzip
from pathlib import Path
from statistics import StatisticsError, correlation, linear_regression

from msgspec import Struct
from msgspec.structs import replace

from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_session import PiSession, branch, message_of, parse
from context_guard.runs import is_queued, is_steering
from context_guard.sizes import CHARS_PER_TOKEN, visible_chars
from context_guard.text import MARKER
from context_guard.transcript import Edit, Entry, Transcript, shown, text_of

OVERHEAD_TOKENS = 1_600
"""System prompt and tools where no usage tells: what Pi's own take (first requests of `../shared/pi`)."""
PLAUSIBLE = (1.5, 8.0)
"""Characters per token; a fit outside of this is no measurement but a scripted provider's constant."""
FEWEST_REQUESTS = 5
MOST_SAMPLES = 60
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
    chars_per_token: float = CHARS_PER_TOKEN
    overhead_tokens: int = OVERHEAD_TOKENS
    """System prompt and tools."""
    is_fitted: bool = False
    """Whether the two figures above come from the recorded usage."""

    @property
    def requests(self) -> int:
        return sum(1 for entry in self.entries if is_request(entry))


def load_recording(path: Path) -> Recording:
    """A Pi session file, gzipped or not: the branch from which Pi would go on."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    session = parse(data).unwrap()
    places = branch(session)
    stored = {session.entries[place]["id"]: session.entries[place] for place in places}
    hidden = {name for name, entry in stored.items() if message_of(entry).get("excludeFromContext")}
    transcript = to_transcript(session)
    recording = record(path.name.removesuffix(".gz").removesuffix(".jsonl"), transcript, frozenset(hidden))
    keeps = tuple(
        (name, str(entry.get("firstKeptEntryId")))
        for name, entry in stored.items()
        if entry.get("type") == "compaction"
    )
    return _with_tokens(replace(recording, keeps=keeps), session, transcript)


def record(name: str, transcript: Transcript, hidden: frozenset[str] = frozenset()) -> Recording:
    """The recording of any host's transcript, what a guard added left out."""
    ours = _of_a_guard(transcript)
    return Recording(
        name=name,
        entries=tuple(
            replace(entry, visible=() if entry.id in hidden else entry.raw)
            for entry in transcript.entries
            if entry.id not in ours
        ),
        edits=tuple(edit for edit in transcript.edits if edit.id not in ours),
        cwd=transcript.cwd,
    )


def warm(recording: Recording) -> Recording:
    """With no more than a minute between any two entries: the cache never expires."""
    return _with_gaps(recording, None)


def prompts_apart(recording: Recording, minutes: int) -> Recording:
    """With every prompt so long after the answer before it, and no more than a minute between all else."""
    return _with_gaps(recording, minutes * MINUTE)


def is_request(entry: Entry) -> bool:
    """Whether the entry answers a request that was billed: a failure without any usage was not."""
    failed = entry.stop in ("error", "aborted")
    usage = entry.usage
    return entry.role == "assistant" and not (failed and (usage is None or not usage.input + usage.cache_read))


def _with_gaps(recording: Recording, between_prompts: int | None) -> Recording:
    times: list[int] = []
    before = now = None
    for place, entry in enumerate(recording.entries):
        at = entry.time if entry.time is not None else (before or 0)
        if before is None or now is None:
            before = now = at
        elif is_queued(recording.entries, place) and entry.role == "user":
            times.append(now + max(at - before, -MINUTE))
            continue
        else:
            gap = min(max(at - before, 0), MINUTE)
            if between_prompts is not None and is_prompt(recording.entries, place):
                gap = between_prompts
            before, now = max(before, at), now + gap
        times.append(now)
    entries = (replace(entry, time=time) for entry, time in zip(recording.entries, times, strict=True))
    return replace(recording, entries=tuple(entries))


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


def _with_tokens(recording: Recording, session: PiSession, transcript: Transcript) -> Recording:
    """Characters per token and overhead by least squares over requests whose usage is recorded."""
    answers = [
        entry
        for entry in transcript.entries
        if is_request(entry) and entry.usage and entry.usage.input + entry.usage.cache_read + entry.usage.cache_write
    ]
    if len(answers) < FEWEST_REQUESTS:
        return recording
    samples = answers[:: max(1, len(answers) // MOST_SAMPLES)]
    chars, tokens = [], []
    for answer in samples:
        if answer.parent is not None and answer.usage is not None:
            context = shown(to_transcript(session, answer.parent))
            chars.append(float(sum(map(visible_chars, context))))
            tokens.append(float(answer.usage.input + answer.usage.cache_read + answer.usage.cache_write))
    try:
        slope, overhead = linear_regression(chars, tokens)
        fits = slope > 0 and correlation(chars, tokens) > 0.9 and PLAUSIBLE[0] <= 1 / slope <= PLAUSIBLE[1]
    except StatisticsError:
        fits = False
    if not fits:
        return recording
    first = max(0, round(tokens[0] - chars[0] * slope))
    return replace(
        recording, chars_per_token=1 / slope, overhead_tokens=first or max(0, round(overhead)), is_fitted=True
    )
