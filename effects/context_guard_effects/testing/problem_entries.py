"""A branch as the entries of a case: secrets masked, and of it only the parts that were asked for."""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from context_guard.labels import read_args
from context_guard.records import encode_record
from context_guard.redact import redact, redact_pieces
from context_guard.secret_rules import ENV_FILE
from context_guard.transcript import (
    AnyBlock,
    Entry,
    ToolCall,
    Transcript,
    calls_of,
    images_of,
    text_of,
)

Toml = dict[str, Any]

LONGEST_SECRET = 400
"""Characters of a mask that is made as long as what it masks; encoded data is longer."""

_MASK = re.compile(r"\[redacted [^\]]+\]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Part(Struct, frozen=True):
    """What can be left out by itself: a result with its call, what was said beside calls, or a whole entry."""

    entry_id: str
    says: bool = False


class Masked(Struct, frozen=True):
    """A branch without its secrets."""

    transcript: Transcript
    texts: dict[str, str]
    """By entry: what was said, or the tool's output."""
    args: dict[str, str]
    """By entry and place of the call in it."""
    secrets: int
    """Texts in which something was masked."""


def mask(transcript: Transcript) -> Masked:
    texts: dict[str, str] = {}
    args: dict[str, str] = {}
    secrets = 0
    made: dict[str, ToolCall] = {}
    for entry in transcript.entries:
        blocks = _blocks(entry)
        for at, call in enumerate(calls_of(blocks)):
            made[call.id] = call
            args[f"{entry.id}/{at}"] = redact(call.args)
            secrets += args[f"{entry.id}/{at}"] != call.args
        result = entry.raw_result
        call_args = made[result.call_id].args if result is not None and result.call_id in made else ""
        text = text_of(blocks)
        (masked,) = redact_pieces([text], is_env=ENV_FILE.search(call_args) is not None)
        texts[entry.id] = _as_long(masked, text)
        secrets += texts[entry.id] != text
    return Masked(transcript, texts, args, secrets)


def _as_long(masked: str, text: str) -> str:
    """With every mask as long as the secret was, where it was longer: outputs are cut by size."""
    lines, originals = masked.split("\n"), text.split("\n")
    if masked == text or len(lines) != len(originals):
        return masked
    return "\n".join(_padded(line, len(original)) for line, original in zip(lines, originals, strict=True))


def _padded(line: str, length: int) -> str:
    missing = length - len(line)
    found = _MASK.search(line)
    if found is None or not 0 < missing <= LONGEST_SECRET:
        return line
    return f"{line[: found.end() - 1]}{'*' * missing}{line[found.end() - 1 :]}"


def parts_of(transcript: Transcript) -> list[Part]:
    """Everything that a case of the branch could hold, in the order of the model's context."""
    parts: list[Part] = []
    for place in transcript.context:
        entry = transcript.entries[place]
        if entry.visible is not None and entry.role not in ("meta", "system", "shell"):
            parts.append(Part(entry.id, says=bool(calls_of(entry.visible))))
    edits = (Part(edit.id) for edit in transcript.edits)
    return [*parts, *edits, *(Part(stored.id) for stored in transcript.records)]


def to_entries(masked: Masked, parts: frozenset[Part], output: dict[str, str]) -> tuple[list[Toml], dict[str, str]]:
    """The entries, and the name of each in the case by its id. `output`: texts in place of an entry's own."""
    transcript = masked.transcript
    edits = {edit.id: edit for edit in transcript.edits}
    records = {stored.id: stored for stored in transcript.records}
    wanted = {part.entry_id for part in parts}
    results = {entry.id: entry for entry in transcript.entries if entry.raw_result is not None and entry.id in wanted}
    order = [transcript.entries[place] for place in transcript.context]
    order += [entry for entry in transcript.entries if entry.id in edits or entry.id in records]
    entries: list[Toml] = []
    names: dict[str, str] = {}

    def add(entry_id: str, entry: Toml) -> None:
        entries.append(entry)
        names[entry_id] = f"e{len(entries)}"

    for entry in order:
        text = output.get(entry.id, masked.texts[entry.id])
        if entry.id in wanted and entry.id in edits:
            edit = edits[entry.id]
            if edit.target in names:
                shown = redact(text_of(edit.content))
                target = names[edit.target]
                add(entry.id, {"omit": target} if edit.content is None else {"edit": [target, _text(shown)]})
        elif entry.id in wanted and entry.id in records:
            add(entry.id, {"record": _renamed(encode_record(records[entry.id].record), names)})
        elif calls := calls_of(_blocks(entry)):
            own = [(at, call, _result_of(call, results)) for at, call in enumerate(calls)]
            kept = [(at, call, found) for at, call, found in own if found is not None]
            says = {"says": _text(text)} if Part(entry.id, says=True) in parts and text else {}
            if kept:
                called = [_call(call, masked.args[f"{entry.id}/{at}"]) for at, call, _ in kept]
                add(entry.id, ({"call": called[0]} if len(called) == 1 else {"calls": called}) | says)
                for _, _, found in kept:
                    add(found.id, _result(found, output.get(found.id, masked.texts[found.id])))
                    del results[found.id]
            elif says:
                add(entry.id, {"answer": _text(text)})
        elif entry.id in results and Part(entry.id) in parts:
            add(entry.id, _result(entry, text))
        elif Part(entry.id) in parts and entry.raw_result is None:
            add(entry.id, _said(entry, text))
    return entries, names


def _blocks(entry: Entry) -> tuple[AnyBlock, ...]:
    """What the host stored: edits in force are entries of their own."""
    return entry.raw


def _result_of(call: ToolCall, results: dict[str, Entry]) -> Entry | None:
    return next((it for it in results.values() if it.raw_result and it.raw_result.call_id == call.id), None)


def _said(entry: Entry, text: str) -> Toml:
    images = {"images": count} if (count := len(images_of(entry.raw))) else {}
    match entry.role:
        case "user":
            return {"prompt": _text(text), **images}
        case "summary":
            return {"summary": _text(text)}
        case "note":
            return {"note": _text(text)}
        case _:
            stop = {"stop": entry.stop} if entry.stop in ("aborted", "error") else {}
            return {"answer": _text(text), **stop}


def _result(entry: Entry, text: str) -> Toml:
    result = entry.raw_result
    images = {"images": count} if (count := len(images_of(entry.raw))) else {}
    return {"result": _text(text)} | ({"error": True} if result and result.is_error else {}) | images


def _call(call: ToolCall, args: str) -> list[Any]:
    """The arguments as a table, where TOML has all that is in them; else as JSON text."""
    table = read_args(args)
    if not args:
        return [call.name]
    if table and _is_toml(table):
        return [call.name, table]
    return [call.name, args if not _LONE_SURROGATE.search(args) else json.dumps(table)]


def _is_toml(value: Any) -> bool:
    match value:
        case dict():
            return all(map(_is_toml, value.values()))
        case list():
            return all(map(_is_toml, value))
        case str():
            return _LONE_SURROGATE.search(value) is None
        case _:
            return isinstance(value, bool | int | float)


def _text(text: str) -> str | list[Any]:
    """Lines, where there are several; those that TOML cannot hold as escapes."""
    if "\n" not in text and not _LONE_SURROGATE.search(text):
        return text
    return [{"escaped": json.dumps(line)[1:-1]} if _LONE_SURROGATE.search(line) else line for line in text.split("\n")]


def _renamed(record: Toml, names: dict[str, str]) -> Toml:
    """The record with the names of the case for ids; what is about entries that are not in it goes."""
    results: Iterator[Toml] = (it for it in record["results"] if it["entryId"] in names)
    named = [it | {"entryId": names[it["entryId"]], "label": redact(it["label"])} for it in results]
    return record | {"results": named}
