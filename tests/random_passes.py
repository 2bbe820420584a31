"""One random conversation with passes in the middle of it, and all that must hold around each of them.

    check_passes(bytes)

plays one out: the conversation grows, the guard passes at turn ends and run ends under settings and with a judge that
the tape chose, the host applies the drafts or drops them, and the conversation goes on from there.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from apply import apply
from invariants import check_emitted, check_kept_lines, check_rules, check_silence, check_targets
from transcripts import TOOLS, Talk, Tape

from context_guard.answers import Answer, Answered, Answers, Asked, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.boundary import Boundary
from context_guard.cache.points import CachePoint
from context_guard.checkpoint import item_targets
from context_guard.config import Config
from context_guard.drafts import Draft, Omit, Replace
from context_guard.formats.wire import to_anthropic, to_openai_chat, to_openai_responses
from context_guard.items import Items
from context_guard.recall import recall
from context_guard.records import Phase
from context_guard.requests import Request, YesNo
from context_guard.runs import find_run_start, is_queued
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.text import MARKER
from context_guard.transcript import Entry, Image, Text, Transcript, calls_of, images_of, shown, text_of
from context_guard.validate import Problem, validate_anthropic, validate_openai_chat, validate_openai_responses

PROVIDERS: dict[str, Callable[[Transcript], tuple[Problem, ...]]] = {
    "Anthropic Messages": lambda transcript: validate_anthropic(to_anthropic(transcript)),
    "OpenAI chat": lambda transcript: validate_openai_chat(to_openai_chat(transcript)),
    "OpenAI Responses": lambda transcript: validate_openai_responses(to_openai_responses(transcript)),
}


class Seen(msgspec.Struct):
    """How much the examples so far have exercised: a property over nothing would hold too."""

    examples: int = 0
    passes: int = 0
    edits: Counter[str] = msgspec.field(default_factory=Counter)
    """Edited items by kind and phase."""
    redeemed: int = 0
    valid: int = 0
    """Edited states that were valid for every provider before."""


def check_passes(data: bytes, seen: Seen | None = None) -> None:
    """Play the conversation on this tape; raises AssertionError where something does not hold."""
    seen = seen or Seen()
    seen.examples += 1
    tape = Tape(data)
    config = read_config(tape)
    talk = Talk(tape)
    emitted: dict[str, tuple[str, ...]] = {}
    """Raw texts behind every id that the guard has put into the context."""
    while not talk.is_full:
        talk.prompt()
        finished = play_run(talk, config, emitted, seen)
        if finished and tape.below(4):
            guard(talk, config, "run-end", emitted, seen)
        for _ in range(tape.pick((0, 0, 1, 2))):
            talk.aside()
        if tape.chance(5):
            talk.switch()
    check_redeemable(talk.transcript, emitted, seen)


def play_run(talk: Talk, config: Config, emitted: dict[str, tuple[str, ...]], seen: Seen) -> bool:
    """Turns, some with a checkpoint behind them, up to an answer; False where the run failed instead."""
    for _ in range(talk.tape.pick((0, 1, 2, 3, 5, 8))):
        talk.turn()
        if talk.tape.chance(40):
            guard(talk, config, "mid-run", emitted, seen)
        if talk.tape.chance(4):
            talk.edit_something()
        if talk.tape.chance(6):
            talk.failure()
            if talk.tape.below(2):
                return False
    talk.answer()
    return True


def guard(talk: Talk, config: Config, phase: Phase, emitted: dict[str, tuple[str, ...]], seen: Seen) -> None:
    """One pass, checked; the host may drop what it is given."""
    before, judge = talk.transcript, Judge(talk.tape)
    boundary = read_boundary(talk, phase)
    planned, settled = run_pass(before, config, boundary, judge)
    seen.passes += 1
    after = apply(before, settled.drafts)
    edited = targets_of(settled.drafts)
    if settled.drafts:
        check_pass(talk, planned, settled)
        check_untouched(before, after, settled.drafts)
        check_again(after, config, boundary, judge, planned, settled)
    if edited:
        check_whole_exchanges(before, after, settled.drafts)
        check_valid(before, after, seen)
        for decision in settled.decisions:
            if decision.replacement is not None:
                seen.edits[f"{decision.kind} {phase}"] += 1
    if not talk.tape.chance(12):
        talk.transcript = after
        for entry_id, texts in emitted_by(before, settled):
            emitted[entry_id] = texts


def run_pass(transcript: Transcript, config: Config, boundary: Boundary, judge: "Judge") -> tuple[Plan, Settlement]:
    planned = plan(transcript, config, boundary)
    return planned, settle(planned, judge.ask(planned.requests))


def check_pass(talk: Talk, planned: Plan, settled: Settlement) -> None:
    """What `invariants` asks of every pass, and that nobody else's edit is overruled."""
    before = talk.transcript
    check_kept_lines(before, settled)
    check_targets(before, settled.drafts)
    check_rules(before, planned, settled)
    check_saved(before, settled)
    check_emitted(settled)
    check_silence(planned)
    last = {edit.target: edit.id for edit in before.edits}
    foreign = {it.id for it in before.entries if it.visible != it.raw and last.get(it.id) in talk.foreign}
    assert foreign.isdisjoint(targets_of(settled.drafts)), "an entry that somebody else had edited was touched"
    context = shown(before)
    entries = {entry.id: entry for entry in context}
    for decision in settled.decisions:
        if decision.replacement is None:
            continue
        entry = entries[decision.entry_id]
        if entry.result is not None:
            assert all(isinstance(block, Text | Image) for block in entry.result.content)
        if planned.phase == "mid-run" and decision.kind in ("large", "small"):
            assert decision.tool.split("__")[-1] != "recall", "what the agent has just asked back was taken away again"
        if decision.kind == "exchange":
            inside = [entries[target] for target in decision.omitted or ()]
            replies = [it for it in inside if it.role == "assistant"]
            assert not calls_of(replies[-1].visible), "an unfinished exchange was omitted"
            assert context.index(entry) < first_run(context, planned.phase), "the current run was omitted"


def first_run(context: tuple[Entry, ...], phase: Phase) -> int:
    """Where the current run began; at run end the first finished one of those whose follow-ups were queued."""
    first = start = find_run_start(context, len(context)) or 0
    while phase == "run-end" and is_queued(context, start) and (earlier := find_run_start(context, start)) is not None:
        replies = [it for it in context[earlier:start] if it.role == "assistant" and it.visible is not None]
        start = earlier
        if replies and replies[-1].stop == "stop":
            first = start
    return first


def check_saved(before: Transcript, settled: Settlement) -> None:
    """Every edit saves what the record says, but for the newlines that join the texts of one output."""
    entries = {entry.id: entry for entry in before.entries}
    for decision in settled.decisions:
        if decision.replacement is None:
            continue
        hidden = [entries[target] for target in (decision.entry_id, *(decision.omitted or ()))]
        joints = max(0, len(hidden[0].result.content) - 1) if hidden[0].result and len(hidden) == 1 else 0
        size = sum(map(visible_chars, hidden))
        assert decision.after_chars == sum(map(len, decision.replacement))
        assert decision.after_chars < decision.before_chars
        assert size <= decision.before_chars <= size + joints
    edited = [it for it in settled.decisions if it.replacement is not None]
    assert settled.record.saved_chars == sum(it.before_chars - it.after_chars for it in edited)


def check_untouched(before: Transcript, after: Transcript, drafts: tuple[Draft, ...]) -> None:
    """Raw data and every entry without an edit stay as they are; an edited one keeps all but its content."""
    targets = set(targets_of(drafts))
    assert len(after.entries) == len(before.entries) + len(drafts)
    for old, new in zip(before.entries, after.entries, strict=False):
        assert new == old if old.id not in targets else new == msgspec.structs.replace(old, visible=new.visible)
        if old.id in targets and old.result is not None and new.result is not None:
            assert new.result == msgspec.structs.replace(old.result, content=new.result.content)


def check_whole_exchanges(before: Transcript, after: Transcript, drafts: tuple[Draft, ...]) -> None:
    """A call and its results go together, and nothing of the current run goes at all."""
    gone = {draft.target for draft in drafts if isinstance(draft, Omit)}
    calls: dict[str, str] = {}
    for entry in shown(before):
        calls |= {call.id: entry.id for call in calls_of(entry.visible)}
        if entry.result is not None and entry.result.call_id in calls:
            assert (entry.id in gone) == (calls[entry.result.call_id] in gone), f"{entry.id} lost its other half"
    for old, new in zip(before.entries, after.entries, strict=False):
        if old.role in ("assistant", "note") and old.id not in gone:
            assert new.visible == old.visible


def check_valid(before: Transcript, after: Transcript, seen: Seen) -> None:
    """An edit adds no reason for a provider to refuse the list."""
    was_valid = True
    for provider, find in PROVIDERS.items():
        had = Counter(problem.message for problem in find(before))
        has = find(after)
        added = Counter(problem.message for problem in has) - had
        assert not added, f"{provider}: {[it for it in has if it.message in added]}"
        was_valid = was_valid and not had
    seen.valid += was_valid


def check_again(
    after: Transcript, config: Config, boundary: Boundary, judge: "Judge", planned: Plan, settled: Settlement
) -> None:
    """The same pass right after, with the same answers, changes nothing but what the first put off for its cost."""
    again, resettled = run_pass(after, config, boundary, judge)
    edited = set(targets_of(resettled.drafts))
    assert edited <= put_off(planned, settled), f"edited again: {edited - put_off(planned, settled)}"
    assert edited.isdisjoint(targets_of(settled.drafts))
    assert again.phase == "run-end" or not {it.entry_id for it in again.items.large} & judged(settled)


def put_off(planned: Plan, settled: Settlement) -> frozenset[str]:
    """Entries of items that the pass collected but, by its sums, did not take up or did not edit."""
    decided = {it.entry_id for it in settled.decisions if it.reason != "deferred"}
    collected = planned.collected
    return item_targets(
        Items(
            large=tuple(it for it in collected.large if it.entry_id not in decided),
            small=tuple(it for it in collected.small if it.entry_id not in decided),
            exchanges=tuple(it for it in collected.exchanges if it.prompt_id not in decided),
            images=tuple(it for it in collected.images if it.entry_id not in decided),
        )
    )


def judged(settled: Settlement) -> set[str]:
    """Large outputs that the judge answered for in full."""
    failed = ("timeout", "error", "aborted")
    return {it.entry_id for it in settled.decisions if it.kind == "large" and not any(f in it.reason for f in failed)}


def check_redeemable(transcript: Transcript, emitted: dict[str, tuple[str, ...]], seen: Seen) -> None:
    """Every id that the guard ever put into the context still gives back all that it stood for then."""
    entries = {entry.id: entry for entry in transcript.entries}
    for entry_id, texts in emitted.items():
        given = recall(transcript, entry_id).unwrap()
        if entries[entry_id].role == "tool":
            assert given.raw == text_of(entries[entry_id].raw)
            assert given.images == images_of(entries[entry_id].raw)[:6]
        place = 0
        for text in texts:
            place = given.raw.index(text, place) + len(text)
        seen.redeemed += 1


def emitted_by(before: Transcript, settled: Settlement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The ids in the texts of this pass, each with the raw texts that it promises, prompt first."""
    entries = {entry.id: entry for entry in before.entries}
    for decision in settled.decisions:
        if decision.replacement is None:
            continue
        head = decision.replacement[0]
        assert head.startswith(MARKER)
        assert f'recall({{"entryId":"{decision.entry_id}"}})' in head
        hidden = [entries[target] for target in (decision.entry_id, *(decision.omitted or ()))]
        yield decision.entry_id, tuple(text for entry in hidden if (text := text_of(entry.raw)).strip())


def targets_of(drafts: tuple[Draft, ...]) -> list[str]:
    return [draft.target for draft in drafts if isinstance(draft, Replace | Omit)]


class Judge:
    """Answers at random, but the same for the same item however often it is asked about."""

    def __init__(self, tape: Tape) -> None:
        self.seed = tape.below(256)
        self.mood = tape.pick(("drops", "any", "any", "drops", "drops", "keeps", "fails", "silent"))
        self.stays_silent_on = tape.pick(("", "", "", "", "", "segment", "small", "exchange"))

    def ask(self, requests: tuple[Request, ...]) -> Asked:
        if self.mood == "silent":
            return Asked(timed_out=bool(requests))
        outcomes = tuple(map(self.answer, requests))
        return Asked(outcomes=outcomes, judge="random", timed_out=any(isinstance(it, Unanswered) for it in outcomes))

    def answer(self, request: Request) -> Answered:
        broken = request.kind == "segment" and self.mood == "fails" and self.draw(request.id, "fails") < 0.4
        if broken or request.kind == self.stays_silent_on:
            return Unanswered(request_id=request.id, reason="error" if self.seed % 2 else "timeout")
        given = (self._reply(request, index) for index in range(len(request.questions)))
        return Answers(request_id=request.id, answers=tuple(it for it in given if it is not None))

    def draw(self, item: str, question: str) -> float:
        p = zlib.crc32(f"{self.seed}|{item}|{question}".encode()) % 101 / 100
        return {"drops": p * 0.3, "keeps": 0.7 + p * 0.3}.get(self.mood, p)

    def _reply(self, request: Request, index: int) -> Answer | None:
        question = request.questions[index]
        item = request.id if request.kind == "segment" else request.entry_ids[index]
        name = question.id if request.kind == "segment" else request.kind
        if zlib.crc32(f"{item}{name}{self.seed}".encode()) % 20 == 0:
            return None
        if isinstance(question, YesNo):
            return YesNoAnswer(id=question.id, probability=self.draw(item, name))
        options = [option for option, _ in question.options]
        at = 1 if self.mood == "drops" else zlib.crc32(f"{item}{self.seed}".encode()) % len(options)
        return ChoiceAnswer(
            id=question.id, choice=options[at], probabilities=((options[at], self.draw(item, "focus")),)
        )


def read_boundary(talk: Talk, phase: Phase) -> Boundary:
    """With or without a judge, a clock and cache entries that this process wrote."""
    entries = [entry.id for entry in talk.transcript.entries if entry.role == "tool"]
    model = talk.transcript.model
    written = (
        (CachePoint(entry_id=talk.tape.pick(entries), model=model.ref, time=talk.clock, leaf_id=entries[-1]),)
        if entries and model and talk.tape.chance(20)
        else ()
    )
    return Boundary(phase=phase, now=talk.clock, written=written, has_judge=not talk.tape.chance(5))


def read_config(tape: Tape) -> Config:
    """The default, the original's, or anything within the ranges."""
    base = (Config(), Config.original())[tape.below(2)]
    if tape.below(4) == 0:
        return base
    choices: dict[str, tuple[Any, ...]] = {
        "min_result_chars": (900, 0, 600, 4_000),
        "min_run_chars": (0, 1_000, 8_000),
        "keep_whole_threshold": (0.7, 1.0, 1.0, 0.0),
        "focus_whole_threshold": (0.6, 0.0, 1.0),
        "chunk_keep_threshold": (0.6, 0.1, 1.0, 0.0),
        "none_threshold": (0.5, 0.0, 1.0),
        "max_keep_ratio": (0.6, 0.1, 1.0),
        "keep_cited_files": (False, True),
        "max_chunks": (120, 3, 1),
        "min_chunk_chars": (100, 800, 300),
        "max_chunk_chars": (4_000, 100, 1_000),
        "max_segment_chars": (32_000, 2_000, 4_000),
        "max_chunks_per_segment": (40, 2, 7),
        "exclude_tools": (("edit", "write"), (), TOOLS),
        "distill_errors": (True, False),
        "history_exchanges": (3, 0, 1),
        "pin_anthropic_cache": (True, False),
        "mid_run": (True, True, False),
        "mid_run_min_age_turns": (1, 2, 4),
        "mid_run_batch_chars": (0, 500, 5_000),
        "mid_run_batch_chars_openai": (0, 500, 5_000),
        "mid_run_chunk_keep_threshold": (0.6, 0.0, 1.0),
        "mid_run_break_even": (False, True),
        "run_end_break_even": (False, True),
        "assumed_share": (0.7, 0.1, 1.0),
        "rerun_steps_per_1k_tokens": (0.0, 1.0),
        "small_result_min_chars": (1, 0, 400),
        "small_keep_threshold": (0.45, 1.0, 0.0),
        "prune_exchanges": (True, True, False),
        "keep_recent_exchanges": (0, 1, 2),
        "exchange_omit_threshold": (0.2, 1.0, 0.0),
        "exchange_break_even": (False, True),
        "exchange_min_saving_chars": (0, 8_000),
        "image_keep_turns": (1, 0, 3),
        "keep_notices": (True, False),
        "hard_keeps": (True, False),
        "trim_lines": (True, False),
        "cut_by_kind": (True, False),
    }
    changes = {name: tape.pick(values) for name, values in choices.items() if tape.below(2)}
    # Without these little would ever be edited in conversations as short as these.
    always = (
        "min_result_chars",
        "min_run_chars",
        "mid_run_min_age_turns",
        "mid_run_batch_chars",
        "mid_run_break_even",
        "run_end_break_even",
        "small_result_min_chars",
        "keep_recent_exchanges",
        "exchange_break_even",
        "exchange_min_saving_chars",
        "min_chunk_chars",
    )
    small = {name: choices[name][0] for name in always}
    return msgspec.structs.replace(base, **{**small, **changes})
