"""Stage 1. The run that just finished, or still goes on: what was asked, what was answered, what its tools returned.

A run begins at a user's prompt. A message sent while the agent was at work (steering) does not begin one: it joins the
question. A prompt that waited for the run before it to end (a queued follow-up) begins a run of its own, and as the
host settles only once for both, a run-end pass judges both: `find_spans` returns the queued ones before the current.
"""

import msgspec
from msgspec import Struct

from context_guard.boundary import RUN_END, Boundary
from context_guard.config import Config
from context_guard.history import History, Past, read_history, read_past
from context_guard.records import Phase
from context_guard.runs import find_run_start, is_queued, prompt_text
from context_guard.text import trim
from context_guard.transcript import (
    Entry,
    ToolCall,
    ToolResult,
    Transcript,
    calls_of,
    is_text_only,
    shown,
    text_of,
)

ADDED = "[The user added during the run]"


class Call(Struct, frozen=True):
    """A tool call of the run; `turn` counts the run's assistant messages from 0."""

    id: str
    name: str
    args: str
    turn: int
    failed: bool = False
    """Whether its result says so."""


class RunResult(Struct, frozen=True):
    """A tool result of the run with everything that the later stages ask of it."""

    entry_id: str
    tool: str
    args: str
    turn: int | None
    """Turn of its call; None when the call is not in the span."""
    text: str
    """What the model sees of it."""
    is_error: bool
    is_text_only: bool
    is_raw: bool
    """The model sees what the host stored, and recall can give back all of it."""
    full_ref: str | None = None
    is_pinned: bool = False
    """No pass touches it: the user or the provider needs it as it is."""


class Span(Struct, frozen=True):
    start_id: str
    start: int
    """Place of the prompt in the context (index into `shown`)."""
    end: int
    """Place after the run's last entry."""
    question: str
    answer: str
    """Last text of the assistant; empty mid-run, where `latest` has it."""
    latest: str
    notes: str
    history: History
    turns: int
    """Assistant messages in the run."""
    calls: tuple[Call, ...]
    results: tuple[RunResult, ...]
    is_finished: bool = True
    """Its last assistant message is an answer: not cut short, not a failure, not waiting for a tool."""


def find_spans(transcript: Transcript, config: Config, boundary: Boundary = RUN_END) -> tuple[Span, ...]:
    """The current run, last, after the earlier runs that the boundary asks for; empty without any prompt.

    At run end those are the runs whose follow-ups were queued, or every run.
    """
    phase = boundary.phase
    context = shown(transcript)
    start = find_run_start(context, len(context))
    if start is None:
        return ()
    bounds = [(start, len(context))]
    while phase == "run-end" and (boundary.every_run or is_queued(context, bounds[0][0])):
        earlier = find_run_start(context, bounds[0][0])
        if earlier is None:
            break
        bounds.insert(0, (earlier, bounds[0][0]))
    past = read_past(context)
    return tuple(_with_pins(_read_span(past, start, end, config, phase), transcript) for start, end in bounds)


def find_earlier_spans(
    transcript: Transcript, config: Config, before: Span, wanted: frozenset[str]
) -> tuple[Span, ...]:
    """The finished runs before `before` that hold one of the wanted results, oldest first."""
    context = shown(transcript)
    past = read_past(context)
    places = [place for place in range(before.start) if context[place].id in wanted]
    spans: list[Span] = []
    end = before.start
    while places and (start := find_run_start(context, end)) is not None and end > places[0]:
        if any(start < place < end for place in places):
            spans.insert(0, _with_pins(_read_span(past, start, end, config, "run-end"), transcript))
        end = start
    return tuple(span for span in spans if span.is_finished)


def _read_span(past: Past, start: int, end: int, config: Config, phase: Phase) -> Span:
    run = past.context[start:end]
    texts = [text for entry in run if entry.role == "assistant" and (text := trim(text_of(entry.visible)))]
    latest = texts[-1] if texts else ""
    calls, results, turns = _pair(run)
    return Span(
        start_id=run[0].id,
        start=start,
        end=end,
        question=_question(run),
        answer="" if phase == "mid-run" else latest,
        latest=latest,
        notes="\n\n".join(texts[:-1]),
        history=read_history(past, start, config.history_exchanges),
        turns=turns,
        calls=calls,
        results=results,
        is_finished=_is_finished(run),
    )


def _with_pins(span: Span, transcript: Transcript) -> Span:
    pinned = transcript.pinned.intersection(result.entry_id for result in span.results)
    if not pinned:
        return span
    results = (msgspec.structs.replace(it, is_pinned=it.entry_id in pinned) for it in span.results)
    return msgspec.structs.replace(span, results=tuple(results))


def _is_finished(run: tuple[Entry, ...]) -> bool:
    last = next((entry for entry in reversed(run) if entry.role == "assistant" and entry.visible is not None), None)
    return last is not None and last.stop not in ("aborted", "error") and not calls_of(last.visible)


def _question(run: tuple[Entry, ...]) -> str:
    added = [
        f"{ADDED} {trim(prompt_text(entry))}" for entry in run[1:] if entry.role == "user" and entry.visible is not None
    ]
    return "\n\n".join([prompt_text(run[0]), *added])


def _pair(run: tuple[Entry, ...]) -> tuple[tuple[Call, ...], tuple[RunResult, ...], int]:
    """The run's calls, its results each with the call before it that bears its id, and its number of turns."""
    open_calls: dict[str, int] = {}
    calls: list[Call] = []
    results: list[RunResult] = []
    turn = -1
    for entry in run:
        if entry.role == "assistant" and entry.visible is not None:
            turn += 1
            for call in calls_of(entry.visible):
                open_calls[call.id] = len(calls)
                calls.append(_call(call, turn))
        elif entry.role == "tool" and (result := entry.result) is not None:
            index = open_calls.get(result.call_id)
            if index is not None and result.is_error:
                calls[index] = msgspec.structs.replace(calls[index], failed=True)
            results.append(_run_result(entry, result, calls[index] if index is not None else None))
    return tuple(calls), tuple(results), turn + 1


def _call(call: ToolCall, turn: int) -> Call:
    return Call(id=call.id, name=call.name, args=call.args, turn=turn)


def _run_result(entry: Entry, result: ToolResult, call: Call | None) -> RunResult:
    text = text_of(result.content)
    return RunResult(
        entry_id=entry.id,
        tool=result.name or (call.name if call else "") or "tool",
        args=call.args if call else "",
        turn=call.turn if call else None,
        text=text,
        is_error=bool(result.is_error),
        is_text_only=is_text_only(result),
        is_raw=text == text_of(entry.raw),
        full_ref=result.full_ref,
    )
