"""One output through the real stages: which lines stay under a judge and its settings, and what the judge thought."""

from collections.abc import Callable

from benchmarks.quality.later_use import Output
from benchmarks.train_local_judge.material import Case
from benchmarks.train_local_judge.rows import to_candidate, to_span
from msgspec import Struct

from context_guard.answers import Answers, Unanswered
from context_guard.candidates import Candidate
from context_guard.chunks import Cut, cut_chunks
from context_guard.config import Config
from context_guard.decisions import decide_output
from context_guard.holds import Holds, add_holds, find_holds
from context_guard.keep_sets import decide_keep_set
from context_guard.records import Phase
from context_guard.requests import Request, build_request, chunk_id
from context_guard.segments import Segment, pack_segments
from context_guard.trims import find_trims

Judge = Callable[[Request], Answers | Unanswered]


class Cutting(Struct, frozen=True):
    lines: tuple[int, ...] | None
    """Lines that stay, from 0; None when the output is left whole."""
    chunks: tuple[tuple[int, int, float, bool], ...] = ()
    """First line, line after the last, raw probability and whether it stays, of each part that was asked about."""


def cut_case(case: Case, config: Config, judge: Judge) -> Cutting:
    span, candidate = to_span(case), to_candidate(case)
    cut = cut_chunks(candidate, config)
    segments = pack_segments(cut, config)
    requests = tuple(
        None if segment.oversize else build_request(span, candidate, cut, segment, "run-end") for segment in segments
    )
    holds = find_holds(candidate, cut, span, config)
    return _cut(candidate, cut, segments, requests, holds, span.answer, "run-end", config, judge)


def cut_output(output: Output, config: Config, judge: Judge) -> Cutting:
    return _cut(
        output.candidate,
        output.cut,
        output.segments,
        output.requests,
        output.holds,
        output.span.answer,
        output.phase,
        config,
        judge,
    )


def _cut(
    candidate: Candidate,
    cut: Cut,
    segments: tuple[Segment, ...],
    requests: tuple[Request | None, ...],
    holds: Holds,
    answer: str,
    phase: Phase,
    config: Config,
    judge: Judge,
) -> Cutting:
    outcomes = [None if request is None else judge(request) for request in requests]
    keep_sets = tuple(
        decide_keep_set(segment, outcome, config) for segment, outcome in zip(segments, outcomes, strict=True)
    )
    decision = decide_output(candidate, cut, keep_sets, answer, config, phase, holds)
    kept = sorted({index for keep_set in keep_sets for index in keep_set.kept})
    if config.hard_keeps:
        kept = add_holds(kept, cut, holds)
    stays = range(len(cut.chunks)) if decision.outcome == "kept" else kept
    raw = {name: p for outcome in outcomes if isinstance(outcome, Answers) for name, p in outcome.raw}
    chunks = tuple(
        (chunk.start, chunk.end, raw[chunk_id(chunk.index)], chunk.index in stays)
        for chunk in cut.chunks
        if chunk_id(chunk.index) in raw
    )
    if decision.outcome == "kept":
        return Cutting(None, chunks)
    trims = find_trims(cut, kept, answer) if config.trim_lines else {}
    gone = {line for found in trims.values() for trim in found for line in range(trim.start, trim.end)}
    shown = {line for index in kept for line in range(cut.chunks[index].start, cut.chunks[index].end)}
    return Cutting(tuple(sorted(shown - gone)), chunks)
