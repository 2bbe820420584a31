"""Where each large output stands in its run: how much there is beside it, how old it is, what was done since.

Whether a run is needed again is told by such facts at least as well as by the words in its outputs
(docs/local-judge.md), and they cost nothing to read.
"""

import re
from functools import lru_cache
from math import log, log1p
from typing import NamedTuple

from context_guard.candidates import is_large
from context_guard.config import Config
from context_guard.local_judge.features import Features
from context_guard.local_judge.query import RUNS_REMEMBERED
from context_guard.local_judge.tools import KINDS, is_prose, kind_of
from context_guard.records import Phase
from context_guard.requests import QUESTION_CHARS, Request
from context_guard.span import Call, RunResult, Span

CLOSING = 200
"""Where a text that ends by asking back does so."""

_DEFAULTS = Config()
_EDIT = re.compile(r"edit|write|patch|replace|create", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w-])[\w-]{1,100}\.\w{1,6}\b")
_SHORTEST_FILE = 5


class Standing(NamedTuple):
    own: Features
    run: tuple[Features, ...]
    """Of all large outputs of the run, this one among them."""
    is_known: bool
    """Whether the request came with its run; else the output counts as the only one of it."""


def read_standing(request: Request) -> Standing:
    if request.run is not None:
        found = read_standings(request.run, request.phase)
        own = next((facts for entry_id, facts in found if entry_id == request.entry_ids[0]), None)
        if own is not None:
            return Standing(own, tuple(facts for _, facts in found), is_known=True)
    alone = read_standings(_alone(request), "run-end")[0][1]
    return Standing(alone, (alone,), is_known=False)


def newer_texts(request: Request) -> tuple[str, ...]:
    """The large outputs of the run that came after this one."""
    if request.run is None:
        return ()
    results = _large(request.run, request.phase)
    at = next((i for i, result in enumerate(results) if result.entry_id == request.entry_ids[0]), len(results))
    return tuple(result.text for result in results[at + 1 :])


@lru_cache(maxsize=RUNS_REMEMBERED)
def read_standings(run: Span, phase: Phase) -> tuple[tuple[str, Features], ...]:
    results = _large(run, phase)
    chars = sum(len(result.text) for result in results)
    edits = [call for call in run.calls if _is_edit(call)]
    shared = {
        "run_log": log1p(chars),
        "outputs": float(len(results)),
        "turns": float(run.turns),
        "calls": float(len(run.calls)),
        "edits": float(len({call.turn for call in edits})),
        "words_log": log1p(len(run.notes) + len(run.latest)),
        "latest_log": log1p(len(run.latest)),
        "asks_back": float("?" in run.latest[-CLOSING:]),
        "question_log": log1p(min(QUESTION_CHARS, len(run.question))),
        "exchanges": float(len(run.history.exchanges)),
    }
    told = _files(run.answer)
    found: list[tuple[str, Features]] = []
    newer = chars
    for at, result in enumerate(results):
        newer -= len(result.text)
        turn = result.turn or 0
        files = _files(result.args)
        since = [call for call in edits if call.turn > turn]
        kind = kind_of(result.tool, result.args)
        own = {
            "chars_log": log(len(result.text)),
            "share": len(result.text) / chars,
            "newer": float(len(results) - 1 - at),
            "newer_log": log1p(newer),
            "age_log": log1p(max(0, run.turns - 1 - turn)),
            "edits_since": float(len({call.turn for call in since})),
            "edited_since": float(any(files & _files(call.args) for call in since)),
            "file_told": float(bool(files & told)),
            "prose": float(is_prose(result.args)),
            **{f"is_{each}": float(kind == each) for each in KINDS},
        }
        found.append((result.entry_id, shared | own))
    return tuple(found)


def _large(run: Span, phase: Phase) -> list[RunResult]:
    """The outputs that a pass judges, or would have judged earlier."""
    large = [result for result in run.results if is_large(result, _DEFAULTS)]
    if phase == "run-end":
        return large
    return [r for r in large if r.turn is not None and run.turns - r.turn >= _DEFAULTS.mid_run_min_age_turns]


def _alone(request: Request) -> Span:
    """A run of nothing but the request's output."""
    state = request.state
    text = "\n".join(part.text for part in state.parts)
    result = RunResult(
        entry_id=request.entry_ids[0],
        tool="tool" if state.tool in _DEFAULTS.exclude_tools else state.tool,
        args=state.args,
        turn=0,
        text=text.ljust(_DEFAULTS.min_result_chars),
        is_error=False,
        is_text_only=True,
        is_raw=True,
    )
    return Span(
        start_id="",
        start=0,
        end=0,
        question=state.question,
        answer=state.answer,
        latest=state.answer or state.latest_note,
        notes=state.notes,
        history=state.history,
        turns=1 + _DEFAULTS.mid_run_min_age_turns,
        calls=(),
        results=(result,),
    )


def _is_edit(call: Call) -> bool:
    return _EDIT.search(call.name) is not None or "apply_patch" in call.args


@lru_cache(maxsize=1_000)
def _files(text: str) -> frozenset[str]:
    return frozenset(name.lower() for name in _FILE.findall(text) if len(name) >= _SHORTEST_FILE)
