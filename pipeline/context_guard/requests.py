"""Stage 5. What the judge is asked: one request a segment, with the state it needs and a question for each decision.

The wordings are data (`wording.py`).
"""

from typing import Literal

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.chunks import Cut
from context_guard.history import History
from context_guard.readable import readable
from context_guard.records import Phase
from context_guard.segments import Segment
from context_guard.span import Span
from context_guard.text import clip, plural, shorten, trim
from context_guard.wording import (
    FOCUS_CHUNK,
    FOCUS_NONE,
    FOCUS_WHOLE,
    MID_RUN,
    RUN_END,
    RUN_END_WITH_HISTORY,
    SegmentText,
    YesNoText,
)

QUESTION_CHARS = 4_000
ANSWER_CHARS = 6_000
NOTES_CHARS = 2_000
ARGS_CHARS = 600

WHOLE = "whole"
NONE = "none"

RequestKind = Literal["segment", "small", "exchange"]


class YesNo(Struct, frozen=True, tag="yes_no"):
    id: str
    instructions: str
    yes: str
    no: str


class Choice(Struct, frozen=True, tag="choice"):
    id: str
    instructions: str
    options: tuple[tuple[str, str], ...]
    """Option and what choosing it means, in order."""


Question = YesNo | Choice


class Part(Struct, frozen=True):
    """One named piece of the material: a chunk, a small output or an old exchange."""

    id: str
    text: str
    tool: str = ""
    failed: bool = False
    superseded: str = ""
    reply: str = ""
    calls: tuple[str, ...] = ()
    size: str = ""


class State(Struct, frozen=True):
    """What the judge is told beside the questions. Empty fields are not sent."""

    situation: str
    history: History
    question: str
    answer: str = ""
    """Final answer; empty while the run goes on."""
    notes: str = ""
    latest_note: str = ""
    later_calls: tuple[str, ...] | None = None
    superseded: str = ""
    tool: str = ""
    status: str = ""
    args: str = ""
    size: str = ""
    parts: tuple[Part, ...] = ()


class Request(Struct, frozen=True):
    id: str
    kind: RequestKind
    phase: Phase
    entry_ids: tuple[str, ...]
    """The outputs or exchanges asked about; one for a segment."""
    state: State
    questions: tuple[Question, ...]
    run: Span | None = None
    """The run that the output is of, for a judge on this machine alone: no wire carries it."""


KEEP_WHOLE = "keep_whole"
FOCUS = "focus"


def chunk_id(index: int) -> str:
    """`chunk_N`, counted from 1 over the whole output."""
    return f"chunk_{index + 1}"


def build_request(span: Span, candidate: Candidate, cut: Cut, segment: Segment, phase: Phase) -> Request:
    """The request for one segment; its id is the segment's."""
    text = _wording(span.history, phase)
    part = "the tool output" if segment.of == 1 else "this part of the tool output"
    ids = [chunk_id(index) for index in segment.chunks]
    return Request(
        id=segment.id,
        kind="segment",
        phase=phase,
        entry_ids=(candidate.entry_id,),
        state=_state(span, candidate, cut, segment, text, phase),
        questions=(
            yes_no(KEEP_WHOLE, text.keep_whole, part=part),
            Choice(
                id=FOCUS,
                instructions=text.focus.format(part=part),
                options=(
                    (WHOLE, FOCUS_WHOLE),
                    (NONE, FOCUS_NONE),
                    *((name, FOCUS_CHUNK.format(id=name)) for name in ids),
                ),
            ),
            *(yes_no(name, text.chunk, part=part) for name in ids),
        ),
        run=span,
    )


def yes_no(name: str, text: YesNoText, part: str = "") -> YesNo:
    return YesNo(
        id=name,
        instructions=text.ask.format(id=name, part=part),
        yes=text.yes.format(id=name, part=part),
        no=text.no.format(id=name, part=part),
    )


def _wording(history: History, phase: Phase) -> SegmentText:
    if phase == "mid-run":
        return MID_RUN
    return RUN_END if history.is_empty else RUN_END_WITH_HISTORY


def _state(span: Span, candidate: Candidate, cut: Cut, segment: Segment, text: SegmentText, phase: Phase) -> State:
    lines = plural(cut.chunks[-1].end, "line")
    mid_run = phase == "mid-run"
    return State(
        situation=text.situation + ("" if span.history.is_empty else text.with_history),
        history=span.history,
        question=clip(span.question, QUESTION_CHARS),
        answer=clip(span.answer, ANSWER_CHARS),
        notes=recent_notes(span.notes, NOTES_CHARS) if mid_run else clip(trim(span.notes), NOTES_CHARS),
        latest_note=clip(trim(span.latest), NOTES_CHARS) if mid_run else "",
        later_calls=candidate.later_calls if mid_run else None,
        superseded=candidate.superseded,
        tool=candidate.tool,
        status=text.failed if candidate.is_error else "",
        args=shorten(candidate.args, ARGS_CHARS),
        size=lines if segment.of == 1 else f"{lines}; this is part {segment.index + 1} of {segment.of}",
        parts=tuple(Part(id=chunk_id(index), text=readable(cut.chunks[index].text)) for index in segment.chunks),
    )


def recent_notes(notes: str, limit: int) -> str:
    """The end of the notes, at most `limit` characters, with a cut mark in front."""
    return notes if len(notes) <= limit else "[…]\n" + notes[len(notes) - (limit - 4) :]
