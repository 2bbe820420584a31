"""What holds for every pass over every transcript, whatever the judge said: the rules of the product, restated.

They are written from the outside, on purpose without the functions that they check: a replacement is read line by line
against the raw text, the touched entries against the transcript.
"""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec
from apply import apply

from context_guard.answers import Asked
from context_guard.chunks import Cut
from context_guard.decisions import Decision
from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.exchanges import MIN_CHARS
from context_guard.recall import recall
from context_guard.runs import is_steering
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.text import MARKER, trim, without_lone_surrogates
from context_guard.transcript import (
    EDITABLE,
    Entry,
    Text,
    Transcript,
    calls_of,
    images_of,
    shown,
    text_of,
)

OMISSION = re.compile(r"\[… ([0-9,]+) (line|character)s? omitted[^\n]*…\]")
HEADER = re.compile(r": kept (?:([0-9]+) of ([0-9]+) lines?(?:, [0-9]+ of them in part)?|parts of its only line) \(")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def assert_invariants(transcript: Transcript, planned: Plan, settled: Settlement) -> None:
    check_chunks(planned)
    check_kept_lines(transcript, settled)
    check_targets(transcript, settled.drafts)
    check_rules(transcript, planned, settled)
    check_emitted(settled)
    check_repeatable(transcript, planned, settled)
    check_silence(planned)
    after = apply(transcript, settled.drafts)
    check_savings(transcript, after, settled)
    check_pairs(transcript, after)
    check_recall(transcript, after, settled)
    check_second_pass(after, planned, settled)


def check_chunks(planned: Plan) -> None:
    """Chunks are the output, cut at newlines or inside a line; segments hold each of them once, in order."""
    for candidate, cut in zip(planned.candidates, planned.chunks, strict=True):
        check_cut(candidate.text, cut)
        own = [segment for segment in planned.segments if segment.entry_id == candidate.entry_id]
        assert [chunk.index for chunk in cut.chunks] == [index for segment in own for index in segment.chunks]


def check_cut(text: str, cut: Cut) -> None:
    """Each chunk is a slice; between two there is one newline, or nothing where a line goes on."""
    assert [chunk.index for chunk in cut.chunks] == list(range(len(cut.chunks)))
    assert all(chunk.text == text[chunk.offset : chunk.stop] for chunk in cut.chunks)
    assert (cut.chunks[0].offset, cut.chunks[-1].stop) == (0, len(text))
    assert (cut.chunks[0].start, cut.chunks[-1].end) == (0, text.count("\n") + 1)
    for one, other in pairwise(cut.chunks):
        assert text[one.stop : other.offset] == ("" if other.joined else "\n")
        assert other.start == (one.end - 1 if other.joined else one.end)


def check_kept_lines(transcript: Transcript, settled: Settlement) -> None:
    """A replacement is a header, lines of the raw text as they were and in their order, and gaps of stated lengths."""
    for decision in settled.decisions:
        if decision.kind == "large" and decision.replacement is not None:
            (text,) = decision.replacement
            check_reading(without_lone_surrogates(text_of(entry_of(transcript, decision.entry_id).raw)), text)
            assert decision.kept_lines == sum(end - start for start, end in decision.shown or ())


def check_reading(raw: str, replacement: str) -> None:
    """Every line under the header is a line of the raw text, a gap, or a part of a line with gaps where it is cut."""
    lines = raw.split("\n")
    header, *body = replacement.split("\n")
    assert header.startswith(MARKER)
    counts = HEADER.search(header)
    if counts is None:
        assert body == []
        return
    assert len(lines) == int(counts[2] or 1)
    readings = {Place(0, 0): 0}
    """Where in the raw text one may be → lines taken so far: a line of the output may itself look like a gap."""
    for line in body:
        ahead: dict[Place, int] = {}
        for place, taken in readings.items():
            for further, more in steps(lines, place, line):
                ahead.setdefault(further, taken + more)
        assert ahead, f"not a line of the output: {line[:200]!r}"
        readings = ahead
    # The read tool's closing note goes without a gap of its own: a blank line and the note.
    ends = [taken for place, taken in readings.items() if len(lines) - 2 <= place.line and place.column == 0]
    assert int(counts[1] or 1) in ends


class Place(NamedTuple):
    """Between two lines of the raw text, or inside one."""

    line: int
    column: int
    is_cut: bool = False
    """A part of the line has been shown up to here: only a gap may follow."""
    is_seen: bool = False
    """Something of the line has been shown, so that it counts as taken."""


def steps(lines: list[str], place: Place, shown: str) -> Iterator[tuple[Place, int]]:
    """Where one may be behind a line of the replacement, and how many lines of the raw text were taken for it."""
    at, column, is_cut, is_seen = place
    if at < len(lines) and not is_cut and lines[at][column : column + len(shown)] == shown:
        end = column + len(shown)
        if end == len(lines[at]):
            yield Place(at + 1, 0), int(not is_seen)
        elif shown:
            yield Place(at, end, is_cut=True, is_seen=True), int(not is_seen)
    gap = OMISSION.fullmatch(shown)
    if gap is None:
        return
    size = int(gap[1].replace(",", ""))
    if gap[2] == "line" and column == 0 and at + size <= len(lines):
        yield Place(at + size, 0), 0
    elif gap[2] == "character" and at < len(lines) and column + size <= len(lines[at]):
        end = column + size
        yield Place(at + 1, 0) if end == len(lines[at]) else Place(at, end, is_seen=is_seen), 0


def check_targets(transcript: Transcript, drafts: tuple[Draft, ...]) -> None:
    """Every edit has a target of its own, on the branch, in the context, of a role that hosts let be edited."""
    targets = targets_of(drafts)
    assert len(set(targets)) == len(targets)
    context = {entry.id: entry for entry in shown(transcript)}
    for target in targets:
        assert context[target].role in EDITABLE
        assert context[target].visible is not None
    assert [isinstance(draft, Append) for draft in drafts] == [False] * len(targets) + [True] * bool(drafts)


def check_rules(transcript: Transcript, planned: Plan, settled: Settlement) -> None:
    """Nothing outside the rules is touched."""
    config = planned.config
    allowed: set[str] = set()
    for decision in settled.decisions:
        if decision.replacement is None:
            assert decision.outcome == "kept"
            assert decision.omitted is None
            continue
        allowed |= {decision.entry_id, *(decision.omitted or ())}
        entry = entry_of(transcript, decision.entry_id)
        match decision.kind:
            case "large" | "small":
                result = entry.result
                assert result is not None
                assert all(isinstance(block, Text) for block in result.content)
                assert decision.tool not in config.exclude_tools
                assert config.distill_errors or not result.is_error
                assert text_of(entry.visible) == text_of(entry.raw)
                size = len(text_of(entry.raw))
                least = config.min_result_chars if decision.kind == "large" else config.small_result_min_chars
                assert least <= size
                assert decision.kind == "large" or size < config.min_result_chars
                assert decision.omitted is None
                assert place_of(transcript, decision.entry_id) > planned.spans[0].start
            case "image":
                assert images_of(entry.visible)
                assert decision.replacement[1:] == tuple(
                    without_lone_surrogates(block.text)
                    for block in (entry.result.content if entry.result else ())
                    if isinstance(block, Text)
                )
                assert config.image_keep_turns > 0
                assert turns_since(transcript, decision.entry_id) >= config.image_keep_turns
            case "exchange":
                check_exchange(transcript, planned, decision)
    assert allowed >= set(targets_of(settled.drafts))


def check_exchange(transcript: Transcript, planned: Plan, decision: Decision) -> None:
    """An omitted exchange is old, finished and large, and goes from its prompt up to the next one."""
    context = shown(transcript)
    start = place_of(transcript, decision.entry_id)
    starts = [
        place
        for place, entry in enumerate(context[: planned.spans[-1].start])
        if entry.role == "user" and entry.visible is not None and not is_steering(context, place)
    ]
    recent = starts[len(starts) - planned.config.keep_recent_exchanges :]
    assert start in starts
    assert start not in recent
    end = next((place for place in starts if place > start), planned.spans[-1].start)
    inside = context[start + 1 : end]
    assert decision.omitted == tuple(it.id for it in inside if it.role in EDITABLE and it.visible is not None)
    assert decision.before_chars >= MIN_CHARS


def check_savings(before: Transcript, after: Transcript, settled: Settlement) -> None:
    """Every edit makes its item smaller, and what the record says was saved is what the context lost."""
    edited = [decision for decision in settled.decisions if decision.replacement is not None]
    assert all(decision.after_chars < decision.before_chars for decision in edited)
    assert all(decision.after_chars == sum(map(len, decision.replacement or ())) for decision in edited)
    lost = sum(map(visible_chars, shown(before))) - sum(map(visible_chars, shown(after)))
    assert lost == settled.record.saved_chars
    texts = {draft.target: draft.texts for draft in settled.drafts if isinstance(draft, Replace)}
    assert texts == {decision.entry_id: decision.replacement for decision in edited}


def check_emitted(settled: Settlement) -> None:
    """No lone surrogate reaches the model, and every text of ours says so in its first characters."""
    for draft in settled.drafts:
        if isinstance(draft, Replace):
            assert draft.texts[0].startswith(MARKER)
            assert not any(LONE_SURROGATE.search(text) for text in draft.texts)
            "".join(draft.texts).encode()


def check_repeatable(transcript: Transcript, planned: Plan, settled: Settlement) -> None:
    """The same transcript, answers and settings give the same values, byte for byte; all of them are hashable."""
    again = plan(transcript, planned.config, planned.boundary)
    assert planned == again
    assert hash(planned) == hash(again)
    record = settled.record
    asked = Asked(outcomes=settled.outcomes, judge=record.model, ms=record.ms, timed_out=record.timed_out)
    assert encoded(settled) == encoded(settle(again, asked))
    assert hash(settled) == hash(settle(again, asked))


def check_silence(planned: Plan) -> None:
    """A judge that says nothing leaves everything but old images, which no judge decides on."""
    silent = settle(planned, Asked())
    images = {item.entry_id for item in planned.items.images}
    assert set(targets_of(silent.drafts)) <= images
    assert {item.kind for item in silent.decisions if item.outcome != "kept"} <= {"image"}


def check_pairs(before: Transcript, after: Transcript) -> None:
    """A visible result has its call in front of it, and a visible call its result behind it, as before the edits."""
    assert pairs_of(after) <= pairs_of(before)
    assert orphans_of(after) <= orphans_of(before)
    for old, new in zip(before.entries, after.entries, strict=False):
        assert (old.id, old.role, old.raw) == (new.id, new.role, new.raw)
        if new.visible is not None and old.result is not None and new.result is not None:
            assert (old.result.call_id, old.result.is_error) == (new.result.call_id, new.result.is_error)
        if old.role in ("assistant", "note") and new.visible != old.visible:
            assert new.visible is None


def check_recall(before: Transcript, after: Transcript, settled: Settlement) -> None:
    """Whatever the id in a note stands for, recall gives back exactly what the host stored."""
    targets = set(targets_of(settled.drafts))
    for decision in settled.decisions:
        if decision.replacement is None or decision.entry_id not in targets:
            continue
        assert json.dumps(decision.entry_id) in decision.replacement[0]
        given = recall(after, decision.entry_id).unwrap().raw
        if decision.kind != "exchange":
            assert text_of(entry_of(before, decision.entry_id).raw) == given
            continue
        place = 0
        for entry_id in (decision.entry_id, *(decision.omitted or ())):
            text = text_of(entry_of(before, entry_id).raw)
            if trim(text):
                place = given.index(text, place) + len(text)


def check_second_pass(after: Transcript, planned: Plan, settled: Settlement) -> None:
    """What a pass has edited, the next one leaves alone."""
    edited = set(targets_of(settled.drafts))
    again = plan(after, planned.config, planned.boundary)
    items = again.collected
    for found in (items.large, items.small, items.images):
        assert edited.isdisjoint(item.entry_id for item in found)
    assert edited.isdisjoint(item.prompt_id for item in items.exchanges)
    omitted = {draft.target for draft in settled.drafts if isinstance(draft, Omit)}
    assert omitted.isdisjoint(entry_id for item in items.exchanges for entry_id in item.entry_ids)


def targets_of(drafts: tuple[Draft, ...]) -> list[str]:
    return [draft.target for draft in drafts if not isinstance(draft, Append)]


def entry_of(transcript: Transcript, entry_id: str) -> Entry:
    return next(entry for entry in transcript.entries if entry.id == entry_id)


def place_of(transcript: Transcript, entry_id: str) -> int:
    return next(place for place, entry in enumerate(shown(transcript)) if entry.id == entry_id)


def turns_since(transcript: Transcript, entry_id: str) -> int:
    behind = shown(transcript)[place_of(transcript, entry_id) :]
    return sum(1 for entry in behind if entry.role == "assistant" and entry.visible is not None)


def pairs_of(transcript: Transcript) -> set[tuple[str, str]]:
    """Call id and entry id of every visible result whose call is visible in front of it."""
    called: set[str] = set()
    found: set[tuple[str, str]] = set()
    for entry in shown(transcript):
        called |= {call.id for call in calls_of(entry.visible)}
        if entry.result is not None and entry.result.call_id in called:
            found.add((entry.result.call_id, entry.id))
    return found


def orphans_of(transcript: Transcript) -> set[str]:
    """Ids of visible calls without a visible result, and of visible results without a visible call."""
    calls = {call.id for entry in shown(transcript) for call in calls_of(entry.visible)}
    results = {entry.result.call_id for entry in shown(transcript) if entry.result is not None}
    return calls ^ results


def encoded(value: msgspec.Struct) -> bytes:
    return json.dumps(msgspec.to_builtins(value)).encode()
