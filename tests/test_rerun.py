"""A trace is the whole pass as one value, and any later stage runs again from it."""

import json

import msgspec
import pytest
from golden import load_pass, pass_names, run_pass
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED, needs_shared
from test_invariants import WHOLE_PASS, configs, outcomes, transcripts

from context_guard.answers import Answers, Asked, Unanswered
from context_guard.boundary import MID_RUN, RUN_END, Boundary
from context_guard.config import Config
from context_guard.records import Kind
from context_guard.requests import chunk_id
from context_guard.rerun import CHANGED, STAGES, rerun
from context_guard.saved_trace import Trace, decode_trace, encode_trace
from context_guard.settings import apply_settings
from context_guard.stages import plan, settle
from context_guard.transcript import Transcript
from context_guard_effects.cli import replay

SOME = settings(WHOLE_PASS, max_examples=40)
FREE = Config(run_end_break_even=False, exchange_break_even=False, mid_run_break_even=False)
"""No sums: they weigh all edits of a pass together, so that each of them hangs on all others."""


def traced(transcript: Transcript, config: Config, boundary: Boundary, data: st.DataObject) -> Trace:
    planned = plan(transcript, config, boundary)
    asked = Asked(outcomes=tuple(data.draw(outcomes(request)) for request in planned.requests), judge="canned", ms=7)
    return Trace(transcript, config, planned, asked, settle(planned, asked))


@needs_shared
@pytest.mark.parametrize("name", pass_names() if SHARED.is_dir() else [])
def test_a_golden_trace_replays_to_the_same_drafts(name: str) -> None:
    """Saved, read and run again from whichever stage, every pass of the original comes to the same drafts."""
    transcript, planned, settled = run_pass(name)
    record = settled.record
    trace = Trace(
        transcript,
        apply_settings(load_pass(name)["config"], Config.original()).config,
        planned,
        Asked(outcomes=settled.outcomes, judge=record.model, timed_out=record.timed_out),
        settled,
    )
    read = decode_trace(encode_trace(trace).encode()).unwrap()
    assert trace == read
    for start in STAGES:
        again = rerun(read, read.config, start)
        assert settled.drafts == again.settlement.drafts
        assert planned == again.plan


@SOME
@given(transcripts(), configs(), st.sampled_from([RUN_END, MID_RUN, Boundary(every_run=True)]), st.data())
def test_any_trace_survives_its_text(
    transcript: Transcript, config: Config, boundary: Boundary, data: st.DataObject
) -> None:
    """Lone surrogates, failures and all: what is read is what was written, and once read the text stays the same."""
    trace = traced(transcript, config, boundary, data)
    text = encode_trace(trace)
    read = decode_trace(text.encode()).unwrap()
    assert trace == read
    assert encode_trace(read) == encode_trace(decode_trace(encode_trace(read).encode()).unwrap())
    assert trace == rerun(trace, config, data.draw(st.sampled_from(STAGES)))


@SOME
@given(transcripts(), configs(), st.floats(0, 1), st.data())
def test_a_higher_chunk_threshold_keeps_no_chunk_more(
    transcript: Transcript, config: Config, threshold: float, data: st.DataObject
) -> None:
    """While a chunk still passes. Where none does any more, it is doubt that decides, and doubt may keep all."""
    old = traced(transcript, config, RUN_END, data)
    higher = max(threshold, config.chunk_keep_threshold)
    new = rerun(old, msgspec.structs.replace(config, chunk_keep_threshold=higher))
    assert msgspec.structs.replace(old.plan, config=new.plan.config) == new.plan
    assert old.settlement.outcomes == new.settlement.outcomes
    said = {it.request_id: it for it in old.settlement.outcomes if isinstance(it, Answers)}
    for segment, before, after in zip(
        old.plan.segments, old.settlement.keep_sets, new.settlement.keep_sets, strict=True
    ):
        found = said.get(segment.id)
        given = [found.yes_no(chunk_id(index)) for index in segment.chunks] if found else []
        if any(p is None or p >= higher for p in given):
            assert {*after.kept} <= {*before.kept}
        if not any(p is not None and config.chunk_keep_threshold <= p < higher for p in given):
            assert before == after


@SOME
@given(
    transcripts(),
    configs(),
    st.sampled_from(
        [
            ("large", {"chunk_keep_threshold": 0.99}),
            ("large", {"keep_whole_threshold": 0.05}),
            ("large", {"none_threshold": 1.0}),
            ("large", {"max_keep_ratio": 0.1}),
            ("small", {"small_keep_threshold": 0.99}),
            ("exchange", {"exchange_omit_threshold": 0.99}),
        ]
    ),
    st.data(),
)
def test_a_threshold_changes_only_its_own_kind(
    transcript: Transcript, config: Config, change: tuple[Kind, dict[str, float]], data: st.DataObject
) -> None:
    """A threshold for one kind of item leaves the decisions on all others as they are, as far as no sum joins them."""
    kind, values = change
    free = {name: getattr(FREE, name) for name in ("run_end_break_even", "exchange_break_even", "mid_run_break_even")}
    old = traced(transcript, msgspec.structs.replace(config, **free), RUN_END, data)
    new = rerun(old, msgspec.structs.replace(old.config, **values))
    gone = {
        entry_id
        for trace in (old, new)
        for decision in trace.settlement.decisions
        for entry_id in decision.omitted or ()
    }
    for one, other in zip(*(others(trace, kind, gone) for trace in (old, new)), strict=True):
        assert one == other


def others(trace: Trace, kind: Kind, gone: set[str]) -> list[object]:
    """What leaves with an exchange is decided with it."""
    return [it for it in trace.settlement.decisions if it.kind != kind and it.entry_id not in gone]


@SOME
@given(transcripts(), st.data())
def test_an_answer_to_another_request_is_no_answer(transcript: Transcript, data: st.DataObject) -> None:
    """Cut otherwise, the recorded answers are to other chunks: what is asked about now is kept."""
    old = traced(transcript, Config(min_result_chars=300, min_run_chars=0, min_chunk_chars=100), RUN_END, data)
    new = rerun(old, msgspec.structs.replace(old.config, min_chunk_chars=350, max_chunk_chars=700))
    same = {request.id for request in old.plan.requests if request in new.plan.requests}
    for outcome in new.settlement.outcomes:
        if outcome.request_id not in same:
            assert isinstance(outcome, Unanswered)
            assert outcome.detail == CHANGED
    for keep_set in new.settlement.keep_sets:
        if f"{keep_set.entry_id}#{keep_set.segment}" not in same:
            assert len(keep_set.kept) == keep_set.total


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("not json", "no JSON"),
        ('{"type":"session"}\n{"id":"1"}', "a file of JSON lines, as sessions are"),
        ("[]", "no trace: make one"),
        ('{"format":"context-guard-trace"}', "without a usable version"),
        ('{"format":"context-guard-trace","v":true}', "without a usable version"),
        ('{"format":"context-guard-trace","v":2}', "version 2, and this context-guard reads up to 1: update it"),
        ('{"format":"context-guard-trace","v":1}', "missing required field `transcript`"),
        ('{"format":"context-guard-trace","v":1,"transcript":{"host":3}}', "`$.transcript.host`"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_trace_is_told(text: str, said: str) -> None:
    """Foreign, newer and damaged files each have their own sentence."""
    message = decode_trace(text.encode()).failure().message
    assert said in message
    assert "\n" not in message


@SOME
@given(transcripts(), st.floats(0, 0.999), st.data())
def test_a_cut_trace_is_told(transcript: Transcript, share: float, data: st.DataObject) -> None:
    """However much of its end is missing."""
    text = encode_trace(traced(transcript, Config(), RUN_END, data)).rstrip()
    message = decode_trace(text[: int(len(text) * share)].encode()).failure().message
    assert any(said in message for said in ("ends in the middle", "is empty", "is no JSON"))


def test_a_trace_names_its_version_first() -> None:
    """A reader can tell what it is from its first bytes."""
    transcript = Transcript(host="test", session="s", entries=(), head=None, context=())
    planned = plan(transcript, Config())
    text = encode_trace(Trace(transcript, Config(), planned, Asked(), settle(planned, Asked())))
    assert text.startswith('{"format":"context-guard-trace","v":1,')
    assert {"transcript", "config", "plan", "asked", "settlement"} < json.loads(text).keys()


def test_the_command_offers_every_stage() -> None:
    """`replay --from` names the stages that the pipeline can begin again at."""
    assert STAGES == replay.STAGES
