"""Drafts as the lines that Pi would have appended for them: edits and the record, chained from the last entry."""

from collections.abc import Iterator

from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.drafts import Append, Draft, Omit, Replace
from context_guard.formats.errors import FormatError
from context_guard.formats.pi_session import VERSION, Json, PiSession, branch, message_of, select
from context_guard.records import RECORD_TYPE, encode_record
from context_guard.text import compact_json

DROPPED = "a compaction has taken it out of the context"


class Skipped(Struct, frozen=True):
    """An edit that could have no effect, and is not written."""

    target: str
    reason: str


class EditLines(Struct, frozen=True):
    data: bytes
    """To append in one piece; empty when there is nothing to write."""
    ids: tuple[str, ...]
    """Of the new entries, in order."""
    skipped: tuple[Skipped, ...] = ()


def edit_lines(
    session: PiSession, drafts: tuple[Draft, ...], ids: Iterator[str], now: str
) -> Result[EditLines, FormatError]:
    """The lines for these drafts, or why none may be written.

    As in Pi, one target that cannot be edited refuses all drafts: half of an omitted exchange would leave a tool
    result without its call. A target that is no longer in the context does no harm and is only skipped. `ids` yields
    candidates of 8 hex digits (those in use are passed over); `now` is ISO 8601 as Pi writes it, in UTC with
    milliseconds and Z.
    """
    path = [session.entries[place] for place in branch(session)]
    by_id = {entry["id"]: entry for entry in path}
    refusals = [_unfit(session), *(_refused(draft, session, by_id) for draft in drafts)]
    for refusal in refusals:
        if refusal:
            return Failure(FormatError(refusal))
    dropped = by_id.keys() - {path[i]["id"] for i in select(path)}
    written = [draft for draft in drafts if isinstance(draft, Append) or draft.target not in dropped]
    skipped = [draft.target for draft in drafts if not isinstance(draft, Append) and draft.target in dropped]
    new = _chain(session, written, ids, now)
    return Success(
        EditLines(
            data=_encode(session, new),
            ids=tuple(entry["id"] for entry in new),
            skipped=tuple(Skipped(target, DROPPED) for target in skipped),
        )
    )


def _unfit(session: PiSession) -> str:
    """Why nothing can be appended to this file at all."""
    if session.version != VERSION:
        return f"The session has version {session.version}: open it once in Pi, which brings it to version {VERSION}."
    if session.torn:
        return "The last line of the session is broken: Pi may still be writing it. Try again when Pi has ended."
    return ""


def _refused(draft: Draft, session: PiSession, by_id: dict[str, Json]) -> str:
    """Why Pi's own `appendContextEdit` would refuse this draft."""
    if isinstance(draft, Append):
        return ""
    target = by_id.get(draft.target)
    if target is None:
        where = "is not on the session's active branch" if draft.target in session.places else "is not in the session"
        return f"Entry {draft.target} {where}: read the session again."
    role = "custom_message" if target.get("type") == "custom_message" else message_of(target).get("role")
    if role not in ("custom_message", "user", "assistant", "toolResult"):
        return f"Entry {draft.target} holds nothing that an edit may replace."
    return ""


def _chain(session: PiSession, drafts: list[Draft], ids: Iterator[str], now: str) -> list[Json]:
    taken = set(session.places)
    parent = session.leaf
    new: list[Json] = []
    for draft in drafts:
        fresh = next(candidate for candidate in ids if candidate not in taken)
        taken.add(fresh)
        new.append(_line(draft, {"id": fresh, "parentId": parent, "timestamp": now}))
        parent = fresh
    return new


def _line(draft: Draft, base: Json) -> Json:
    """One entry, keys in the order Pi writes them."""
    body = draft_body(draft)
    if body["type"] == "custom":
        return {**body, **base}
    return {"type": body.pop("type"), **base, **body}


def draft_body(draft: Draft) -> Json:
    """The draft as an extension of Pi returns it from a boundary: an entry that has no id and no parent yet."""
    match draft:
        case Append(record=record):
            return {"type": "custom", "customType": RECORD_TYPE, "data": encode_record(record)}
        case Replace(target=target, texts=texts):
            content = [{"type": "text", "text": text} for text in texts]
            return {"type": "context_edit", "targetId": target, "replacement": {"content": content}}
        case Omit(target=target):
            return {"type": "context_edit", "targetId": target, "replacement": None}


def _encode(session: PiSession, new: list[Json]) -> bytes:
    """UTF-8, lone surrogates as JSON escapes: the only characters that UTF-8 lacks, and how JavaScript prints them."""
    if not new:
        return b""
    text = "".join(compact_json(entry) + "\n" for entry in new)
    start = "" if session.terminated else "\n"
    return (start + text).encode("utf-8", "backslashreplace")
