"""A case, `<case>/case.toml`: a conversation, settings and what the judge says, for a human to read.

    says = "One sentence: the behaviour that the case pins."
    long = true                                # its output is a real one: snapshots may have more lines than a page
    phase = "mid-run"                          # run-end without it
    now = 9000                                 # ms; entries come one a second. Without it the cache has expired
    every_run = true                           # judge each run by its own answer, as in a session at rest
    model = "openai/gpt"                       # and api = "openai-responses"; Anthropic's without it
    cwd = "/project"
    [config]                                   # keys as in a settings file, over SMALL
    [[entry]]                                  # named e1, e2, … in their order
    prompt = "…"                               # or answer, note, summary, omit = "e3", record = {…}
    [[entry]]
    call = ["bash", { command = "npm test" }]  # or calls = […] for several at once; says = "text beside it";
                                               # arguments that TOML cannot hold as JSON text
    [[entry]]
    result = ["…"]                             # a text, or lines: texts, { repeat = 40, line = "line {}" },
                                               # { words = [[90, "x"], [1, "y"]] } for one long line,
                                               # { escaped = '\\ud83d' } for what TOML refuses
    [[entry]]                                  # (any text of an entry may be such lines)
    edit = ["e3", "what the model sees"]
    [needs]
    e3 = [[12, 15], 40]                        # lines that the model has to be shown, counted from 1
    [answers.e3]                               # to the output's only request; "e3#1" for its second segment
    keep_whole = 0.1
    focus = { chunk_2 = 0.6, none = 0.2 }      # the first one is the choice
    chunk_2 = 0.9
    rest = 0.05                                # every chunk without a line of its own
    [answers]                                  # e5 = 0.1 for a small output or the prompt of an exchange
                                               # a text is a failure: "timeout", "never asked", "error: …", "refused: …"

`judge = "local"` asks the embedded judge in place of `[answers]`. An answer may have `stop = "aborted"` or "error".
`context-guard case` writes one from a session.
"""

import json
from typing import Any

import msgspec

from context_guard.answers import Answer, Answered, Answers, Asked, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.local_judge import JUDGE, judge_locally
from context_guard.needs import as_pairs, as_ranges, without
from context_guard.records import decode_record
from context_guard.requests import Request
from context_guard.settings import apply_settings
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.trace import record_json, replacement_text, trace_text
from context_guard.transcript import Model, Transcript
from context_guard_effects.testing import build

SMALL = Config(
    min_result_chars=600,
    min_run_chars=600,
    min_chunk_chars=150,
    max_chunk_chars=150,
    small_result_min_chars=0,
    image_keep_turns=0,
    prune_exchanges=False,
    run_end_break_even=False,
    cut_by_kind=False,
)
"""Settings under which a case fits on a page: sizes scaled down, and only large outputs unless a case says more."""

Toml = dict[str, Any]

PAGE = 60
"""Lines of a snapshot that a reviewer reads at once."""


def run_case(case: Toml) -> tuple[Transcript, Plan, Settlement]:
    """The pass of a case. Raises ValueError or KeyError for what is no case."""
    transcript, planned = plan_case(case)
    outcomes = tuple(_outcome(request, case) for request in planned.requests)
    asked = Asked(
        outcomes=outcomes,
        judge=JUDGE if case.get("judge") == "local" else "canned",
        timed_out=any(isinstance(it, Unanswered) and it.reason == "timeout" for it in outcomes),
    )
    return transcript, planned, settle(planned, asked)


def plan_case(case: Toml) -> tuple[Transcript, Plan]:
    """The same up to the requests; the answers may still be missing."""
    transcript = build.session(*map(_piece, case["entry"]), model=_model(case))
    transcript = msgspec.structs.replace(transcript, cwd=case.get("cwd"))
    settings = apply_settings(case.get("config", {}), SMALL)
    if settings.warnings:
        raise ValueError(settings.warnings[0])
    boundary = Boundary(phase=case.get("phase", "run-end"), now=case.get("now"), every_run=case.get("every_run", False))
    return transcript, plan(transcript, settings.config, boundary)


def missing_lines(case: Toml, settlement: Settlement) -> dict[str, list[list[int]]]:
    """Of what the case `needs`, the lines that the model is not shown, written as there: [first, last] from 1."""
    found: dict[str, list[list[int]]] = {}
    for name, lines in case.get("needs", {}).items():
        decision = next((it for it in settlement.decisions if it.entry_id == name), None)
        is_gone = any(name in (it.omitted or ()) for it in settlement.decisions)
        is_edited = is_gone or (decision is not None and decision.replacement is not None)
        shown = (decision.shown or () if decision else ()) if is_edited else None
        missing = () if shown is None else without(as_ranges(lines), shown)
        if missing:
            found[name] = as_pairs(missing)
    return found


def snapshot_texts(planned: Plan, settled: Settlement) -> dict[str, str]:
    """The files that pin a pass, by name."""
    return {
        "trace.txt": trace_text(planned, settled),
        "replacement.txt": replacement_text(planned, settled),
        "record.json": record_json(settled),
    }


def _model(case: Toml) -> Model:
    provider, _, name = case.get("model", "").partition("/")
    return Model(provider=provider, id=name, api=case.get("api", "")) if provider else build.MODEL


def _piece(entry: Toml) -> build.Piece:
    images, says = entry.get("images", 0), _text(entry.get("says", ""))
    match entry:
        case {"prompt": pieces}:
            return build.prompt(_text(pieces), images=images, time=entry.get("time"))
        case {"call": [tool, args]}:
            return build.call(tool, args, says=says)
        case {"call": [tool]}:
            return build.call(tool, says=says)
        case {"calls": found}:
            return build.calls(*((tool, args) for tool, args in found), says=says)
        case {"result": pieces}:
            return build.result(_text(pieces), error=entry.get("error", False), images=images)
        case {"answer": pieces}:
            return msgspec.structs.replace(build.answer(_text(pieces)), stop=entry.get("stop", "stop"))
        case {"summary": text}:
            return build.summary(_text(text))
        case {"note": text}:
            return build.note(_text(text))
        case {"edit": [target, text]}:
            return build.edit(target, _text(text))
        case {"omit": target}:
            return build.edit(target, None)
        case {"record": data}:
            record = decode_record({"v": 1, **data})
            if record is None:
                raise ValueError(f"no record of version 1: {data}")
            return build.recorded(record)
        case _:
            raise ValueError(f"no such entry: {entry}")


def _text(pieces: str | list[str | Toml]) -> str:
    """A text as it is, or the lines of its pieces."""
    if isinstance(pieces, str):
        return pieces
    return "\n".join(line for piece in pieces for line in _lines(piece))


def _lines(piece: str | Toml) -> list[str]:
    match piece:
        case str():
            return [piece]
        case {"repeat": count, "line": line}:
            start = piece.get("from", 1)
            return [line.format(number) for number in range(start, start + count)]
        case {"words": words}:
            return ["".join(word * count for count, word in words)]
        case {"escaped": line}:
            return [json.loads(f'"{line}"')]
        case _:
            raise ValueError(f"no such piece: {piece}")


def _outcome(request: Request, case: Toml) -> Answered:
    if case.get("judge") == "local":
        return judge_locally(request)
    answers = case.get("answers", {})
    if request.kind != "segment":
        return _whole(request, [answers.get(entry_id) for entry_id in request.entry_ids])
    return _segment(request, answers.get(request.id, answers.get(request.entry_ids[0])))


def _whole(request: Request, said: list[Any]) -> Answered:
    failure = next((it for it in said if isinstance(it, str)), None)
    if failure is not None:
        return _failure(request, failure)
    given = zip(request.questions, said, strict=True)
    return Answers(request.id, tuple(YesNoAnswer(question.id, p) for question, p in given if p is not None))


def _segment(request: Request, said: Any) -> Answered:
    if not isinstance(said, dict):
        return _failure(request, said or "never asked")
    found: list[Answer] = []
    for question in request.questions:
        value = said.get(question.id, said.get("rest") if question.id.startswith("chunk_") else None)
        if isinstance(value, dict):
            found.append(ChoiceAnswer(question.id, next(iter(value)), tuple(value.items())))
        elif value is not None:
            found.append(YesNoAnswer(question.id, value))
    return Answers(request.id, tuple(found))


def _failure(request: Request, said: str) -> Unanswered:
    """timeout · never asked · error: what was raised · refused: what the judge replied in place of answers"""
    reason, _, detail = said.partition(": ")
    match reason:
        case "timeout":
            return Unanswered(request.id, "timeout")
        case "never asked":
            return Unanswered(request.id, "timeout", started=False)
        case "error" | "refused":
            return Unanswered(request.id, "error", detail, replied=reason == "refused")
        case _:
            raise ValueError(f"no such failure: {said}")
