"""A session file of Pi: the tree of its entries, one branch of it, and what Pi shows the model of that branch.

Follows Pi 1.6.0, which reads without validation. So does this: a broken line is passed over, and what is missing or of
a wrong type inside an entry counts as absent. Bytes that are not UTF-8 become U+FFFD, as in Pi; the file keeps them.
"""

import json
from typing import Any, NoReturn

from msgspec import Struct
from returns.result import Failure, Result, Success

from context_guard.formats.errors import FormatError
from context_guard.text import WHITESPACE

VERSION = 3
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks: of UTF-8, and of UTF-16 in its two orders."""

Json = dict[str, Any]


class PiSession(Struct, frozen=True):
    header: Json
    version: int
    """As the file has it; `entries` are always as version 3 has them."""
    entries: tuple[Json, ...]
    """Without the header, in the order of the file. Each has an `id`; all else may be missing."""
    lines: tuple[int, ...]
    """Physical line of each entry, from 1."""
    places: dict[str, int]
    """Place of each id in `entries`."""
    leaf: str | None
    """Where Pi goes on: the last entry of the file."""
    broken_lines: tuple[int, ...]
    """Physical lines that Pi passes over without a word. What stood there took its descendants' past with it."""
    torn: bool
    """Whether the last line is one of the broken ones: cut off, or still being written."""
    terminated: bool
    """Whether the file ends in a newline."""


Projection = list[tuple[Json, list[Json]]]
"""Entries in the order in which the model sees them, each with its messages as the edits leave them."""


def parse(data: bytes) -> Result[PiSession, FormatError]:
    """Every session that Pi 1.6 opens; versions 1 and 2 are migrated in memory, with ids counted from the top."""
    if data.startswith(MARKS):
        return Failure(FormatError(_MARKED))
    lines, broken = decode_lines(data.decode("utf-8", "replace"))
    if not lines:
        return Failure(FormatError(_NO_JSON if broken else _EMPTY))
    header = lines[0][1]
    if header.get("type") != "session" or not isinstance(header.get("id"), str):
        return Failure(FormatError(_NO_HEADER))
    version = header.get("version") or 1
    if not isinstance(version, int | float) or version > VERSION:
        return Failure(FormatError(_NEWER.format(version=_printed(version))))
    if version < VERSION:
        _migrate([entry for _, entry in lines], version)
    return Success(_session(header, int(max(version, 0)), lines, broken, data.endswith(b"\n")))


def branch(session: PiSession, leaf: str | None = None) -> tuple[int, ...]:
    """Places of the entries from the root to the leaf. A missing parent or a cycle ends the walk, as a root does."""
    found: dict[int, None] = {}
    place = session.places.get(leaf or session.leaf or "")
    while place is not None and place not in found:
        found[place] = None
        parent = session.entries[place].get("parentId")
        place = session.places.get(parent) if parent and isinstance(parent, str) else None
    return tuple(reversed(found))


def select(path: list[Json]) -> list[int]:
    """Indexes of the branch's entries that are left after its last compaction, in the model's order: that first."""
    last = next((i for i in range(len(path) - 1, -1, -1) if path[i].get("type") == "compaction"), None)
    if last is None:
        return list(range(len(path)))
    kept = path[last].get("firstKeptEntryId")
    first = next((i for i in range(last) if path[i]["id"] == kept), last)
    before = [i for i in range(first, last) if message_of(path[i]).get("role") != "system"]
    return [last, *before, *range(last + 1, len(path))]


def edits_in_force(path: list[Json], selected: list[int]) -> dict[str, int]:
    """Index of the edit that counts for each target: the last one that no compaction dropped."""
    return {path[i]["targetId"]: i for i in selected if is_edit(path[i])}


def project(session: PiSession, leaf: str | None = None) -> Projection:
    """What Pi's `buildSessionProjection` gives for this leaf."""
    path = [session.entries[place] for place in branch(session, leaf)]
    selected = select(path)
    edits = edits_in_force(path, selected)
    shown: Projection = []
    for place, i in enumerate(selected):
        # A compaction that a later one kept has had its say.
        outdated = place > 0 and path[i].get("type") == "compaction"
        messages = [] if outdated else _messages(path[i])
        edit = edits.get(path[i]["id"])
        shown.append((path[i], messages if edit is None else _edited(messages, path[edit]["replacement"])))
    return shown


def message_of(entry: Json) -> Json:
    """The message of a message entry; empty for every other one."""
    message = entry.get("message") if entry.get("type") == "message" else None
    return message if isinstance(message, dict) else {}


def is_edit(entry: Json) -> bool:
    """Whether it is a context edit that Pi could apply; one that names no target or no replacement changes nothing."""
    if entry.get("type") != "context_edit" or not isinstance(entry.get("targetId"), str):
        return False
    replacement = entry.get("replacement", "")
    return replacement is None or (isinstance(replacement, dict) and isinstance(replacement.get("content"), str | list))


def decode_lines(text: str) -> tuple[list[tuple[int, Json]], list[int]]:
    """The objects with their physical lines from 1, and the lines that hold none."""
    lines: list[tuple[int, Json]] = []
    broken: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(WHITESPACE):
            continue
        value = decode_line(line)
        if isinstance(value, dict):
            lines.append((number, value))
        else:
            broken.append(number)
    return lines, broken


def decode_line(line: str) -> Any:
    """The JSON value; None for null and for what is no JSON."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""The standard library's, for lone surrogates; without NaN and Infinity, which JavaScript does not take."""


def _session(
    header: Json, version: int, lines: list[tuple[int, Json]], broken: list[int], terminated: bool
) -> PiSession:
    entries: list[Json] = []
    numbers: list[int] = []
    last = max([lines[-1][0], *broken[-1:]])
    broken = list(broken)
    for number, entry in lines:
        if entry.get("type") == "session":
            continue
        if isinstance(entry.get("id"), str):
            entries.append(entry)
            numbers.append(number)
        else:
            broken.append(number)
    return PiSession(
        header=header,
        version=version,
        entries=tuple(entries),
        lines=tuple(numbers),
        places={entry["id"]: place for place, entry in enumerate(entries)},
        leaf=entries[-1]["id"] if entries else None,
        broken_lines=tuple(sorted(broken)),
        torn=last in broken,
        terminated=terminated,
    )


def _migrate(lines: list[Json], version: float) -> None:
    """Version 1 knew no tree: its lines become a chain. Version 2 called an extension's message `hookMessage`."""
    if version < 2:
        _chain(lines)
    for entry in lines:
        message = message_of(entry)
        if message.get("role") == "hookMessage":
            message["role"] = "custom"


def _chain(lines: list[Json]) -> None:
    previous: str | None = None
    for place, entry in enumerate(lines):
        if entry.get("type") == "session":
            continue
        entry["id"] = f"{place:08x}"
        entry["parentId"] = previous
        previous = entry["id"]
        index = entry.pop("firstKeptEntryIndex", None) if entry.get("type") == "compaction" else None
        if isinstance(index, int) and 0 <= index <= place and lines[index].get("type") != "session":
            entry["firstKeptEntryId"] = lines[index]["id"]


def _messages(entry: Json) -> list[Json]:
    match entry.get("type"):
        case "message":
            message = message_of(entry)
            empty = _EMPTY_CONTENT.get(str(message.get("role")))
            if empty is not None and message.get("content") is None:
                return [message | {"content": empty}]
            return [message] if message else []
        case "custom_message":
            content = entry.get("content")
            name = entry.get("customType")
            return [{"role": "custom", "customType": name, "content": [] if content is None else content}]
        case "branch_summary" if entry.get("summary"):
            return [{"role": "branchSummary", "summary": entry["summary"], "fromId": entry.get("fromId")}]
        case "compaction":
            system = entry.get("systemMessage")
            summary = {"role": "compactionSummary", "summary": entry.get("summary")}
            return [system, summary] if isinstance(system, dict) else [summary]
        case _:
            return []


_EMPTY_CONTENT: dict[str, str | list[Any]] = {"system": "", "user": [], "assistant": [], "toolResult": []}


def _edited(messages: list[Json], replacement: Json | None) -> list[Json]:
    if replacement is None:
        return []
    return [
        message | {"content": _as_blocks(replacement["content"], message["role"])}
        if message.get("role") in ("user", "assistant", "toolResult", "custom")
        else message
        for message in messages
    ]


def _as_blocks(content: Any, role: str) -> Any:
    """Only these two roles cannot hold a bare string."""
    if isinstance(content, str) and role in ("assistant", "toolResult"):
        return [{"type": "text", "text": content}]
    return content


def _printed(version: Any) -> str:
    return json.dumps(version)[:20]


_EMPTY = "The session is empty: give a session file that its host has written to."
_NO_JSON = "This is not a Pi session: no line of it is JSON. Give a .jsonl file from Pi's sessions folder."
_MARKED = (
    "The file begins with a byte order mark, and Pi does not open it. In a copy, save it as UTF-8 without a byte order "
    "mark."
)
_NO_HEADER = (
    'This is not a Pi session: its first line is not {"type":"session",…}. '
    "Give a .jsonl file from Pi's sessions folder."
)
_NEWER = f"This session has version {{version}}, and {VERSION} is the last one known here: update the context guard."
