"""Whole passes of the original, run through our pipeline: what it collects, decides and writes, in the goldens' form.

Sizes there are UTF-16 code units. Where a session holds characters above U+FFFF, each of them is spread over two
characters of the private use area before it enters the pipeline, so that sizes and cuts can be compared one to one.
"""

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from shared_data import SHARED

from context_guard.answers import Answer, Answered, Answers, Asked, ChoiceAnswer, JudgeUsage, Unanswered, YesNoAnswer
from context_guard.boundary import Boundary
from context_guard.cache.points import CachePoint
from context_guard.config import Config
from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.formats import pi
from context_guard.records import encode_record
from context_guard.requests import Request
from context_guard.settings import apply_settings
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Model, Transcript

GOLDEN = SHARED / "golden"
PRIVATE = 0xE000 - 0xD800
LONG = 300


def pass_names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in (GOLDEN / "dev").glob("*.json.gz"))


@cache
def load_pass(name: str) -> dict[str, Any]:
    with gzip.open(GOLDEN / "dev" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        loaded: dict[str, Any] = spread(json.load(file))
    return loaded


@cache
def run_pass(name: str, config: Config | None = None) -> tuple[Transcript, Plan, Settlement]:
    """Our pass over the same session with the same answers; the original's settings unless told otherwise."""
    golden = load_pass(name)
    transcript = msgspec.structs.replace(
        read_session(golden["session"], golden["leafId"]), model=Model(**golden["model"])
    )
    settings = apply_settings(golden["config"], config or Config.original())
    assert settings.warnings == ()
    planned = plan(
        transcript,
        settings.config,
        Boundary(
            phase=golden["phase"],
            now=golden.get("now"),
            written=tuple(
                CachePoint(entry_id=it["entryId"], model=it["model"], time=it["time"], leaf_id=it["leafId"])
                for it in golden.get("cacheLog", [])
            ),
            has_judge=golden.get("classifier") != "unavailable",
        ),
    )
    outcomes = tuple(answer_request(request, planned, golden["answers"]) for request in planned.requests)
    asked = Asked(outcomes=outcomes, judge=planned.config.model, timed_out=_timed_out(outcomes))
    return transcript, planned, settle(planned, asked)


@cache
def read_session(name: str, leaf: str) -> Transcript:
    path = GOLDEN / "sessions" / name if name.endswith(".gz") else SHARED / "pi" / name
    data = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    if re.search(rb"[\xf0-\xf4]|\\u[dD][89a-fA-F]", data):
        lines = [line for line in data.decode("utf-8").split("\n") if line]
        data = "\n".join(json.dumps(spread(json.loads(line)), ensure_ascii=False) for line in lines).encode()
    return without_shell(pi.read(data, leaf).unwrap())


def without_shell(transcript: Transcript) -> Transcript:
    """The original counts nothing for the user's own shell commands, though the model sees them; we do."""
    entries = (
        msgspec.structs.replace(entry, visible=()) if entry.role == "shell" else entry for entry in transcript.entries
    )
    return msgspec.structs.replace(transcript, entries=tuple(entries))


def answer_request(request: Request, planned: Plan, answers: dict[str, Any]) -> Answered:
    if request.kind == "segment":
        entry_id, _, index = request.id.rpartition("#")
        canned = answers.get("large", {}).get(entry_id)
        return _answer_segment(request, canned[int(index)] if canned else {"error": "exception: no canned answer"})
    canned = answers.get("small" if request.kind == "small" else "exchanges", {})
    given = [canned.get(entry_id) for entry_id in request.entry_ids]
    failed = next((it for it in given if isinstance(it, dict)), None)
    if failed:
        return _failure(request, failed["error"])
    found = [
        YesNoAnswer(id=question.id, probability=p)
        for question, p in zip(request.questions, given, strict=True)
        if p is not None
    ]
    return Answers(request_id=request.id, answers=tuple(found), usage=JudgeUsage(input_tokens=1_000))


def _answer_segment(request: Request, canned: Any) -> Answered:
    if isinstance(canned, dict) and "error" in canned:
        return _failure(request, canned["error"])
    answers: list[Answer] = []
    for key, value in canned.items() if isinstance(canned, dict) else ():
        if key == "focus":
            answers.append(
                ChoiceAnswer(id=key, choice=value["choice"], probabilities=tuple(value["probabilities"].items()))
            )
        else:
            answers.append(YesNoAnswer(id=key, probability=value))
    return Answers(request_id=request.id, answers=tuple(answers), usage=JudgeUsage(input_tokens=1_000))


def _failure(request: Request, error: str) -> Unanswered:
    if error == "timeout":
        return Unanswered(request_id=request.id, reason="timeout")
    replied = not error.startswith("exception")
    return Unanswered(
        request_id=request.id, reason="aborted" if error == "aborted" else "error", detail=error, replied=replied
    )


def _timed_out(outcomes: tuple[Answered, ...]) -> bool:
    return any(isinstance(it, Unanswered) and it.reason == "timeout" for it in outcomes)


def edits_of(drafts: tuple[Draft, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for draft in drafts:
        match draft:
            case Replace(target=target, texts=texts):
                content = [{"type": "text", "text": text} for text in texts]
                found.append({"targetId": target, "replacement": {"content": content}})
            case Omit(target=target):
                found.append({"targetId": target, "replacement": None})
    return found


def record_of(drafts: tuple[Draft, ...]) -> dict[str, Any] | None:
    for draft in drafts:
        if isinstance(draft, Append):
            record = encode_record(draft.record)
            return {key: value for key, value in record.items() if key not in ("ms", "costUsd")}
    return None


def items_of(planned: Plan) -> dict[str, Any]:
    """What was collected, as `expected_items` has it."""
    mid_run = planned.phase == "mid-run"
    items = planned.collected
    cuts = {cut.entry_id: cut for cut in planned.chunks}
    last_user, start = planned.layout.last_user, planned.spans[-1].start if planned.spans else 0
    large: list[dict[str, Any]] = []
    for it in items.large:
        row: dict[str, Any] = {"entryId": it.entry_id, "tool": it.tool, "label": it.label, "chars": len(it.text)}
        if it.is_error:
            row["isError"] = True
        if it.entry_id in cuts:
            cut = cuts[it.entry_id]
            own = [segment for segment in planned.segments if segment.entry_id == it.entry_id]
            row |= {
                "grep": cut.is_grep,
                "chunks": [[chunk.start, chunk.end, list(chunk.files)] for chunk in cut.chunks],
                "segments": [list(segment.chunks) for segment in own],
            }
            if any(segment.oversize for segment in own):
                row["oversize"] = [segment.index for segment in own if segment.oversize]
        if mid_run:
            row |= {"turn": it.turn, "laterCalls": list(it.later_calls)}
            if it.superseded:
                row["superseded"] = it.superseded
        large.append(row)
    small = [
        {"entryId": it.entry_id, "tool": it.tool, "label": it.label, "chars": len(it.text), "stubChars": len(it.stub)}
        | {"turn": it.turn}
        | ({"isError": True} if it.is_error else {})
        | ({"superseded": it.superseded} if it.superseded else {})
        for it in items.small
    ]
    exchanges = [
        {"promptId": it.prompt_id, "entryIds": list(it.entry_ids), "chars": it.chars, "messages": it.messages}
        | {"stubChars": len(it.stub), "toolCalls": list(it.calls)}
        | {"prompt": digest(it.prompt), "answer": digest(it.answer)}
        for it in items.exchanges
    ]
    images = [
        {"entryId": it.entry_id, "tool": it.tool, "label": it.label, "age": it.age, "images": it.images}
        | {"imageTokens": it.tokens, "beforeChars": it.before_chars, "afterChars": it.after_chars}
        | ({"recent": it.place > last_user} if mid_run else {"early": it.place < start})
        for it in items.images
    ]
    return {"large": large, "small": small, "exchanges": exchanges, "images": images}


def spread(value: Any) -> Any:
    """The value with every character above U+FFFF as two of the private use area, half a pair as one."""
    if isinstance(value, str):
        return value if value.isascii() else "".join(map(_spread_char, value))
    if isinstance(value, list):
        return [spread(item) for item in value]
    if isinstance(value, dict):
        return {key: spread(item) for key, item in value.items()}
    return value


def _spread_char(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return chr(code + PRIVATE) if 0xD800 <= code < 0xE000 else char
    high, low = divmod(code - 0x10000, 0x400)
    return chr(0xD800 + PRIVATE + high) + chr(0xDC00 + PRIVATE + low)


def digest(text: str) -> Any:
    """A long text as the goldens have it: its length and the head of its hash."""
    if len(text) <= LONG:
        return text
    units = "".join(chr(ord(char) - PRIVATE) if 0xE000 <= ord(char) < 0xE800 else char for char in text)
    joined = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    sha = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return {"chars": len(text), "sha256": sha}


def path_of(name: str) -> Path:
    return GOLDEN / "dev" / f"{name}.json.gz"
