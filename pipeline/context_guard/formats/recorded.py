"""What the readers of recorded sessions share: messages with what the host noted about them, as a `Transcript`."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from context_guard.formats.message import Message, entry_ids
from context_guard.formats.values import string
from context_guard.transcript import AnyBlock, Edit, Entry, Model, Text, ToolResult, Transcript, Usage, only_result

SYNTHETIC = "<synthetic>"
"""Claude Code's name for a message of its own in the model's place."""

APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "google": "google-generative-ai"}
MAKERS = (
    (r"claude|sonnet|opus|haiku", "anthropic"),
    (r"gpt-|codex|\bo[134]\b|o[134]-", "openai"),
    (r"gemini", "google"),
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS_END = 100_000_000_000
"""Numbers below are seconds since 1970, from here on milliseconds: the year 5138, and March 1973."""


class About(Struct, frozen=True, kw_only=True):
    """What a session says about itself."""

    host: str
    session: str = ""
    cwd: str | None = None
    version: str = ""
    overhead_chars: int | None = None


class HostEdit(Struct, frozen=True):
    """Something that the host itself took out of the context."""

    behind: int
    """Place of the message behind which it did; -1 before all."""
    target: int
    """Place of the message that it changed."""
    text: str | None
    """What the model sees instead; None when it sees nothing."""


def to_recorded(about: About, messages: Sequence[Message], edits: Iterable[HostEdit] = ()) -> Transcript:
    """The messages as one branch. Behind a compaction the model sees its summary and what follows, nothing else."""
    ids = entry_ids(messages)
    by_place: dict[int, list[HostEdit]] = {}
    for edit in edits:
        by_place.setdefault(edit.behind, []).append(edit)
    entries: list[Entry] = []
    done: list[Edit] = []
    context: list[int] = []
    at_of: dict[int, int] = {}
    for place in range(-1, len(messages)):
        if place >= 0:
            if messages[place].role == "summary" and messages[place].kind == "compaction":
                context.clear()
            at_of[place] = len(entries)
            context.append(len(entries))
            parent = entries[-1].id if entries else None
            entries.append(messages[place].to_entry(ids[place], messages[place].blocks, parent))
        for edit in by_place.get(place, ()):
            name = f"edit-{len(done) + 1}"
            content = _content(edit.text, messages[edit.target].blocks)
            context.append(len(entries))
            done.append(Edit(id=name, target=ids[edit.target], at=len(entries), content=content))
            entries.append(Entry(id=name, parent=entries[-1].id if entries else None, role="meta"))
    seen = frozenset(context)
    targets = {ids[place]: at for place, at in at_of.items()}
    for made in done:
        at = targets[made.target]
        entries[at] = msgspec.structs.replace(entries[at], visible=made.content)
    entries = [it if at in seen else msgspec.structs.replace(it, visible=()) for at, it in enumerate(entries)]
    return Transcript(
        host=about.host,
        session=about.session,
        entries=tuple(entries),
        head=entries[-1].id if entries else None,
        context=tuple(context),
        edits=tuple(done),
        model=next((it.model for it in reversed(messages) if it.model is not None), None),
        cwd=about.cwd,
        version=about.version,
        overhead_chars=about.overhead_chars,
        keeps=tuple((it.id, it.id) for it in entries if it.role == "summary" and it.kind == "compaction"),
    )


def once_each(messages: Sequence[Message]) -> list[Message]:
    """Usage stays only on the first message of a response: hosts repeat it on each part they write."""
    seen: set[str] = set()
    found: list[Message] = []
    for message in messages:
        is_again = message.response_id is not None and message.response_id in seen
        if message.response_id is not None and message.usage is not None:
            seen.add(message.response_id)
        found.append(msgspec.structs.replace(message, usage=None) if is_again else message)
    return found


def model_named(name: Any, provider: Any = "") -> Model | None:
    """A model by the host's names for it; who made it is told by the name where the provider is only a gateway."""
    full, given = string(name), string(provider).lower()
    if not full or full == SYNTHETIC:
        return None
    before, _, own = full.rpartition("/")
    maker = next((maker for pattern, maker in MAKERS if re.search(pattern, own.lower())), "")
    known = given if given in APIS or given == "openai-codex" else maker or before.rpartition("/")[2] or given
    return Model(known, own, APIS.get(known, ""))


def milliseconds(time: Any) -> int | None:
    """Of ISO 8601, UTC unless it says more, or of seconds or milliseconds since 1970."""
    if isinstance(time, bool):
        return None
    if isinstance(time, int | float):
        scaled = time * 1_000 if abs(time) < SECONDS_END else time
        return round(scaled) if -(2**53) < scaled < 2**53 else None
    try:
        moment = datetime.fromisoformat(time)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None


def count(found: Any, *keys: str) -> int:
    """The first of these keys that holds a whole number; 0 without one."""
    if not isinstance(found, dict):
        return 0
    numbers = (found.get(key) for key in keys)
    return next((it for it in numbers if isinstance(it, int) and not isinstance(it, bool) and 0 <= it < 2**53), 0)


def openai_usage(found: Any) -> Usage | None:
    """Of chat completions, Responses and Codex: their input counts what came from the cache and what went into it."""
    if not isinstance(found, dict):
        return None
    details = found.get("prompt_tokens_details") or found.get("input_tokens_details")
    read = count(found, "cached_input_tokens", "cache_read_input_tokens") or count(details, "cached_tokens")
    written = count(found, "cache_write_input_tokens", "cache_creation_input_tokens")
    whole = count(found, "input_tokens", "prompt_tokens")
    output = count(found, "output_tokens", "completion_tokens")
    return Usage(input=max(0, whole - read - written), output=output, cache_read=read, cache_write=written)


def dollars(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12 else None


def _content(text: str | None, blocks: tuple[AnyBlock, ...]) -> tuple[AnyBlock, ...] | None:
    if text is None:
        return None
    result = only_result(blocks)
    return (Text(text),) if result is None else (_with_text(result, text),)


def _with_text(result: ToolResult, text: str) -> ToolResult:
    return msgspec.structs.replace(result, content=(Text(text),))
