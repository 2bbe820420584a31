"""Sessions broken on purpose, each by one small maker, from a healthy one that real Pi wrote."""

import base64
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

Json = dict[str, Any]
Maker = Callable[[list[Json]], list[Json | bytes]]

HEALTHY = (Path(__file__).resolve().parents[1] / "docs" / "examples" / "pi-search.jsonl").read_bytes()
"""19 lines: header, settings, system message, two prompts with three and one rounds of tool calls."""

PROMPT, CALLING, SEARCHED, ANSWER = "25f15166", "90599452", "395f9238", "adcc0c85"
PARALLEL, FIRST_OF_THREE, LAST_OF_THREE = "600d4908", "1b4d8729", "dfb6760b"
SYSTEM, SECOND_PROMPT, LAST = "fc3693dd", "53716d0c", "bd346ce5"
READING = "8ca5c0f5"

CALL_OF_READING = "toolu_scripted_0003_1"


class Fault(Struct, frozen=True):
    kind: str
    make: Maker
    is_mended: bool
    brick: bool | None = None
    """Whether it bricks the session; None for what is harmless."""


def broken(fault: Fault) -> bytes:
    lines = fault.make([json.loads(line) for line in HEALTHY.splitlines()])
    return b"".join(line if isinstance(line, bytes) else _encoded(line) for line in lines)


def _encoded(line: Json) -> bytes:
    """As Pi writes it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def entry(lines: list[Json], id: str) -> Json:
    return next(line for line in lines if line["id"] == id)


def appended(*new: Json) -> Maker:
    """Entries at the end, each a child of the one before it."""

    def make(lines: list[Json]) -> list[Json | bytes]:
        parent = lines[-1]["id"]
        chained: list[Json | bytes] = [*lines]
        for number, line in enumerate(new):
            chained.append(
                {"id": f"0ed1700{number}", "parentId": parent, "timestamp": "2026-12-01T08:00:00.000Z", **line}
            )
            parent = f"0ed1700{number}"
        return chained

    return make


def edit(target: Any, *content: Any) -> Json:
    """With content a replacement by these blocks, without it an omission."""
    return {"type": "context_edit", "targetId": target, "replacement": {"content": [*content]} if content else None}


def emptying(target: str) -> Json:
    return {"type": "context_edit", "targetId": target, "replacement": {"content": ""}}


def changed(id: str, change: Callable[[Json], object]) -> Maker:
    def make(lines: list[Json]) -> list[Json | bytes]:
        change(entry(lines, id))
        return [*lines]

    return make


def behind_mark(number: int) -> Maker:
    """The line of this number with a byte order mark, as an editor or the joining of two files leaves it."""
    return lambda lines: [
        b"\xef\xbb\xbf" + json.dumps(line).encode() + b"\n" if at == number else line for at, line in enumerate(lines)
    ]


def marked_label(lines: list[Json]) -> list[Json | bytes]:
    label = {"type": "label", "id": "0ed17000", "parentId": lines[3]["id"], "targetId": PROMPT, "label": "start"}
    return behind_mark(4)([*lines[:4], label, *lines[4:]])


def in_utf16(lines: list[Json]) -> list[Json | bytes]:
    return ["".join(json.dumps(line) + "\n" for line in lines).encode("utf-16")]


def emptied_of_content(id: str) -> Maker:
    return changed(id, lambda line: line["message"].pop("content"))


def with_block(id: str, block: Any) -> Maker:
    return changed(id, lambda line: line["message"]["content"].append(block))


def replaced(id: str, text: Callable[[Json], bytes]) -> Maker:
    """The entry's line as these bytes."""
    return lambda lines: [text(line) if line["id"] == id else line for line in lines]


def cut(line: Json) -> bytes:
    """As a full disk leaves a line: its beginning alone."""
    return json.dumps(line, separators=(",", ":")).encode()[:200] + b"\n"


def without(*ids: str) -> Maker:
    return lambda lines: [line for line in lines if line["id"] not in ids]


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def png(width: int, height: int) -> str:
    """A black picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"\x00" * ((width + 7) // 8 + 1) * height))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + data + chunk(b"IEND", b"")).decode()


def padded(picture: str, chars: int) -> str:
    """The picture with so much behind its end."""
    return base64.b64encode(base64.b64decode(picture) + bytes(chars * 3 // 4)).decode()


def picture(data: Any, mime: str = "image/png") -> Json:
    return {"type": "image", "data": data, "mimeType": mime}


def again(lines: list[Json], of: str, **more: Any) -> Json:
    copy: Json = json.loads(json.dumps(entry(lines, of)))
    return {**copy, "parentId": lines[-1]["id"], **more}


def result_again(lines: list[Json]) -> list[Json | bytes]:
    """A second result right behind the last one of the first batch."""
    copy = again(lines, FIRST_OF_THREE, id="0ed17000", parentId=LAST_OF_THREE)
    entry(lines, READING)["parentId"] = "0ed17000"
    at = lines.index(entry(lines, READING))
    return [*lines[:at], copy, *lines[at:]]


def call_again(lines: list[Json]) -> list[Json | bytes]:
    """The first call and its result once more at the end, as a proxy that counts its ids from 1 makes them."""
    call = again(lines, CALLING, id="0ed17000")
    result = again(lines, SEARCHED, id="0ed17001", parentId="0ed17000")
    return [*lines, call, result]


def in_a_fork(lines: list[Json]) -> list[Json | bytes]:
    """An edit that was appended while Pi ran: Pi went on beside it."""
    edit_line = edit(SEARCHED, text("short")) | {"id": "0ed17000", "parentId": ANSWER, "timestamp": ""}
    at = lines.index(entry(lines, SECOND_PROMPT))
    return [*lines[:at], edit_line, *lines[at:]]


def many_pictures(lines: list[Json]) -> list[Json | bytes]:
    """Twenty small ones, and one that is too large among so many."""
    content = entry(lines, SEARCHED)["message"]["content"]
    content += [picture(png(8, 8))] * 20 + [picture(png(2400, 8))]
    return [*lines]


COMPACTION = {"type": "compaction", "summary": "## Goal", "tokensBefore": 9000}

BRICKS, SHORTENS = True, False

FAULTS: dict[str, Fault] = {
    # the file
    "header cut": Fault("no-header", lambda lines: [cut(lines[0])[:40] + b"\n", *lines[1:]], False, BRICKS),
    "a mark in front": Fault("byte-order-mark", behind_mark(0), False, BRICKS),
    "the file in UTF-16": Fault("byte-order-mark", in_utf16, False, BRICKS),
    "a mark in the middle": Fault("broken-line", marked_label, False),
    "two headers": Fault("second-header", lambda lines: [*lines[:15], lines[0], *lines[15:]], False),
    "two files in one": Fault(
        "second-header",
        lambda lines: [
            *lines[:6],
            {**lines[0], "id": "other"},
            {**again(lines, PROMPT, id="0ed17000"), "parentId": None},
        ],
        False,
        SHORTENS,
    ),
    "version 2": Fault("old-version", lambda lines: [{**lines[0], "version": 2}, *lines[1:]], False),
    "torn last line": Fault("torn-line", lambda lines: [*lines, cut(lines[-1])[:90]], False),
    "a line of another program": Fault("broken-line", lambda lines: [*lines[:9], b"Killed\n", *lines[9:]], False),
    "a line without an id": Fault("no-id", lambda lines: [*lines[:9], b'{"type":"note"}\n', *lines[9:]], False),
    "no leaf": Fault("lost-leaf", lambda lines: [*lines, b'{"type":"note"}\n'], True, SHORTENS),
    "bytes that are no text": Fault(
        "not-utf8",
        replaced(PROMPT, lambda line: json.dumps(line).encode().replace(b"Where", b"Wh\xffre") + b"\n"),
        False,
    ),
    "the same line twice": Fault("duplicate-id", lambda lines: [*lines, lines[-1]], False),
    "an id given twice": Fault(
        "duplicate-id", changed(LAST_OF_THREE, lambda line: line.update(id="a9d46ce1")), False, SHORTENS
    ),
    # the tree
    "an answer's line cut": Fault("missing-parent", replaced(ANSWER, cut), True, SHORTENS),
    "a calling line cut": Fault("missing-parent", replaced(PARALLEL, cut), True, SHORTENS),
    "a result's line garbled": Fault("missing-parent", replaced(SEARCHED, lambda _: b"\x00\x00\x00\n"), True, SHORTENS),
    "a line gone": Fault("missing-parent", without(ANSWER), True, SHORTENS),
    "a batch gone": Fault("missing-parent", without(PARALLEL, FIRST_OF_THREE), True, SHORTENS),
    "no parent named": Fault("no-parent", changed(SECOND_PROMPT, lambda line: line.pop("parentId")), False, SHORTENS),
    "a circle": Fault("parent-circle", changed(PROMPT, lambda line: line.update(parentId=ANSWER)), False, BRICKS),
    "its own parent": Fault("parent-circle", changed(ANSWER, lambda line: line.update(parentId=ANSWER)), False, BRICKS),
    "the kept start of a compaction gone": Fault(
        "lost-start", appended({**COMPACTION, "firstKeptEntryId": "00000000"}), False, SHORTENS
    ),
    # messages
    "no message": Fault("no-message", changed(ANSWER, lambda line: line.update(message=None)), False, BRICKS),
    "an answer as a text": Fault(
        "bad-content", changed(ANSWER, lambda line: line["message"].update(content="Yes.")), True, BRICKS
    ),
    "content that is a number": Fault(
        "bad-content", changed(SEARCHED, lambda line: line["message"].update(content=5)), True, BRICKS
    ),
    "a text block without text": Fault("bad-content", with_block(PROMPT, {"type": "text"}), True, BRICKS),
    "arguments that are no object": Fault(
        "bad-content",
        changed(CALLING, lambda line: line["message"]["content"][-1].update(arguments="{}")),
        True,
        BRICKS,
    ),
    "half a pair in a call": Fault(
        "surrogate-in-call",
        changed(CALLING, lambda line: line["message"]["content"][-1]["arguments"].update(command="echo \ud83d")),
        True,
        BRICKS,
    ),
    "half a pair in a text": Fault("surrogate-in-text", with_block(PROMPT, text("\ud83d")), False),
    "a picture that is a page": Fault("bad-picture", with_block(SEARCHED, picture("PGh0bWw+")), True, BRICKS),
    "a picture as a data URL": Fault(
        "bad-picture", with_block(PROMPT, picture("data:image/png;base64,iVBORw0KGgo=")), True, BRICKS
    ),
    "a picture without data": Fault("bad-picture", with_block(SEARCHED, picture("")), True, BRICKS),
    "a picture under another name": Fault(
        "bad-picture", with_block(SEARCHED, picture(png(8, 8), "image/jpeg")), True, BRICKS
    ),
    "a picture of a whole page": Fault("huge-picture", with_block(SEARCHED, picture(png(16, 8001))), True, BRICKS),
    "a picture of six megabytes": Fault(
        "huge-picture", with_block(SEARCHED, picture(padded(png(8, 8), 6_000_000))), True, BRICKS
    ),
    "a large picture among many": Fault("huge-picture", many_pictures, True, BRICKS),
    "a picture in a text": Fault(
        "encoded-data", with_block(SEARCHED, text(f'{{"png":"{"iVBOR" * 24_000}"}}')), True, SHORTENS
    ),
    # calls and results
    "a call omitted alone": Fault("orphaned-result", appended(edit(PARALLEL)), True, BRICKS),
    "a call replaced by a text": Fault("orphaned-result", appended(edit(CALLING, text("I searched."))), True, BRICKS),
    "a compaction between call and result": Fault(
        "orphaned-result", appended({**COMPACTION, "firstKeptEntryId": FIRST_OF_THREE}), True, BRICKS
    ),
    "one result of an omitted batch": Fault(
        "orphaned-result", appended(*map(edit, (PARALLEL, FIRST_OF_THREE, "d3f5b74d"))), True, BRICKS
    ),
    "a result edited after its exchange went": Fault(
        "resurrected-entry", appended(edit(CALLING), edit(SEARCHED), edit(SEARCHED, text("short"))), True, BRICKS
    ),
    "a result twice": Fault("second-result", result_again, True, BRICKS),
    "an id of a call twice": Fault("repeated-call-id", call_again, True, BRICKS),
    "a result omitted alone": Fault("hidden-result", appended(edit(FIRST_OF_THREE)), True, SHORTENS),
    "a run that was broken off": Fault("unanswered-call", lambda lines: [*lines[:12]], False),
    # edits
    "an edit without a replacement": Fault(
        "broken-edit", appended({"type": "context_edit", "targetId": PROMPT}), True, BRICKS
    ),
    "a replacement that is a text": Fault(
        "broken-edit", appended({"type": "context_edit", "targetId": ANSWER, "replacement": "short"}), True, BRICKS
    ),
    "an edit of nothing": Fault("edit-without-target", appended(edit("00000000")), False),
    "an edit of no id": Fault("edit-without-target", appended(edit(None)), False),
    "the system prompt omitted": Fault("edit-on-wrong-target", appended(edit(SYSTEM)), True, SHORTENS),
    "an output without content": Fault("no-content", emptied_of_content(SEARCHED), False),
    "an output whose content is null": Fault(
        "no-content", changed(SEARCHED, lambda line: line["message"].update(content=None)), False
    ),
    "a prompt without content": Fault("no-content", emptied_of_content(SECOND_PROMPT), False),
    "a prompt emptied": Fault("emptied-entry", appended(emptying(SECOND_PROMPT)), True, SHORTENS),
    "a result emptied": Fault("emptied-entry", appended(edit(SEARCHED, text(" "))), True, SHORTENS),
    "an edit beside the branch": Fault("edit-off-branch", in_a_fork, False),
    # what only the provider's own rules show
    "an answer that ends in thinking": Fault(
        "refused",
        with_block(LAST, {"type": "thinking", "thinking": "x", "thinkingSignature": "s"}),
        False,
        BRICKS,
    ),
}
"""Every kind of fault, in the words of whoever meets it."""
