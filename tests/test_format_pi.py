"""Pi's session files: what Pi shows the model of them, and what becomes of it in a transcript."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pi_sessions import HEADER, NOW, RECORD, calling, edit, message, result, session_bytes, user
from shared_data import SHARED, needs_shared

from context_guard.drafts import Append, Omit, Replace
from context_guard.formats.pi import read, to_transcript
from context_guard.formats.pi_edits import DROPPED, Skipped, edit_lines
from context_guard.formats.pi_session import PiSession, parse, project
from context_guard.recall import recall
from context_guard.sizes import visible_chars
from context_guard.transcript import (
    Entry,
    Image,
    Model,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Usage,
    images_of,
    shown,
    text_of,
)


def pi_file(name: str) -> bytes:
    return (SHARED / "pi" / f"{name}.jsonl").read_bytes()


def pi_transcript(name: str, leaf: str | None = None) -> Transcript:
    return read(pi_file(name), leaf).unwrap()


def entry_of(transcript: Transcript, id: str) -> Entry:
    return next(entry for entry in transcript.entries if entry.id == id)


GOLDEN = sorted(
    path.stem for path in (SHARED / "pi" / "golden").glob("*.json") if not path.name.endswith(".leaves.json")
)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def printed(body: dict[str, Any]) -> str:
    """A message's text as the recordings of Pi hashed it."""
    content = body["summary"] if body.get("summary") is not None else body.get("content")
    if isinstance(content, str):
        return content
    keys = {"text": "text", "thinking": "thinking", "toolCall": "arguments"}
    parts = [block.get(keys.get(block["type"], ""), "") for block in content or []]
    return "\0".join(part if isinstance(part, str) else compact(part) for part in parts)


@needs_shared
@pytest.mark.parametrize("name", GOLDEN)
def test_the_projection_of_every_leaf_is_the_one_of_pi(name: str) -> None:
    """Whatever entry a branch ends at, the model sees the messages that Pi 1.6 itself computes."""
    folder = SHARED / "pi" / "golden"
    expected = json.loads((folder / f"{name}.leaves.json").read_text("utf-8"))
    session = parse(pi_file(name)).unwrap()
    actual = {
        leaf: sha(
            compact(
                [
                    [entry["id"], ",".join(f"{body['role']}:{sha(printed(body))}" for body in bodies)]
                    for entry, bodies in project(session, leaf)
                ]
            )
        )
        for leaf in expected
    }
    assert expected == actual
    assert len(session.entries) == len(expected)


@needs_shared
@pytest.mark.parametrize("name", GOLDEN)
def test_the_newest_leaf_and_its_projection_are_those_of_pi(name: str) -> None:
    """Without a leaf, the branch ends where Pi would go on."""
    golden = json.loads((SHARED / "pi" / "golden" / f"{name}.json").read_text("utf-8"))
    session = parse(pi_file(name)).unwrap()
    assert golden["leaf"] == session.leaf
    assert [
        (entry["id"], [(body["role"], body["sha"]) for body in entry["messages"]])
        for entry in golden["final"]["entries"]
    ] == [(entry["id"], [(body["role"], sha(printed(body))) for body in bodies]) for entry, bodies in project(session)]
    model = read(pi_file(name)).unwrap().model
    assert model is not None
    assert golden["final"]["model"] == {"provider": model.provider, "modelId": model.id}


@needs_shared
@pytest.mark.parametrize("name", GOLDEN)
def test_a_transcript_shows_what_the_projection_shows(name: str) -> None:
    """Order, omissions and sizes of the visible texts agree for every leaf."""
    session = parse(pi_file(name)).unwrap()
    for entry in session.entries:
        context = shown(to_transcript(session, entry["id"]))
        for seen, (source, bodies) in zip(context, project(session, entry["id"]), strict=True):
            assert source["id"] == seen.id
            if bodies and bodies[0]["role"] != "bashExecution":
                assert printed(bodies[-1]).replace("\0", "") == plain(seen)
            assert bool(bodies) or not seen.visible


def plain(entry: Entry) -> str:
    """The same text from the visible blocks, without what separates them."""
    parts: list[str] = []
    for block in entry.visible or ():
        match block:
            case Text(text=text) | Thinking(text=text) | ToolCall(args=text):
                parts.append(text)
            case ToolResult(content=content):
                parts.extend(inner.text for inner in content if isinstance(inner, Text))
    return "".join(parts)


@needs_shared
def test_compaction_comes_first() -> None:
    """The model sees the summary, then what was kept, then what came after; what was dropped is not in the context."""
    transcript = pi_transcript("05-compaction")
    context = shown(transcript)
    assert context[0].id == "e5d02d78"
    assert (context[0].role, len(text_of(context[0].visible))) == ("summary", 813)
    assert [entry.id for entry in context[1:4]] == ["ededb3d7", "a664022b", "e0ba4390"]
    assert transcript.context[0] > transcript.context[1]
    dropped = [entry for i, entry in enumerate(transcript.entries) if i not in transcript.context]
    assert all(entry.visible == () for entry in dropped)
    assert any(entry.raw for entry in dropped)


@needs_shared
def test_real_edits_records_and_images() -> None:
    """Edits in force change what is visible and never what is raw; the guard's own records come decoded."""
    edited = pi_transcript("08-context-edits")
    distilled = entry_of(edited, "1618dab3")
    assert distilled.result is not None
    assert text_of(distilled.visible).startswith("[context-guard] Distilled the output of bash")
    assert text_of(distilled.raw) != text_of(distilled.visible)
    assert distilled.raw_result is not None
    assert distilled.raw_result.call_id == distilled.result.call_id
    assert {edit.id: edit for edit in edited.edits}["1f0fac68"].content == distilled.visible
    assert [stored.record.phase for stored in edited.records] == ["run-end", "mid-run", "run-end", "run-end"]

    offline = pi_transcript("11-offline-images")
    assert any(entry.visible is None for entry in offline.entries)
    before = pi_transcript("03-images")
    sizes = [(image.width, image.height) for entry in before.entries for image in images_of(entry.raw)]
    assert sizes == [(640, 400), (320, 900), (200, 120)]


@needs_shared
def test_roles_of_real_entries() -> None:
    """Each entry of Pi has one role; what no model sees is meta and has no blocks."""
    leaves = [("07-openai-switch", None), ("06-tree", "475b3852"), ("06-tree", "3365d2ac"), ("06-tree-b", None)]
    branches = [pi_transcript(name, leaf) for name, leaf in leaves]
    roles = {
        ("custom_message" if entry.role == "note" else entry.kind, entry.role)
        for transcript in branches
        for entry in transcript.entries
    }
    assert {
        ("branch_summary", "summary"),
        ("custom", "meta"),
        ("custom_message", "note"),
        ("label", "meta"),
        ("message", "assistant"),
        ("message", "shell"),
        ("message", "system"),
        ("message", "tool"),
        ("message", "user"),
        ("model_change", "meta"),
        ("session_info", "meta"),
        ("thinking_level_change", "meta"),
    } == roles
    shells = [entry for entry in branches[0].entries if entry.role == "shell"]
    assert [bool(entry.visible) for entry in shells] == [True, False]
    assert all(not entry.raw and not entry.visible for t in branches for entry in t.entries if entry.role == "meta")


def test_a_custom_message_keeps_the_name_that_its_extension_gave_it() -> None:
    """So that a recalled exchange can say whose message it was."""
    named = {"type": "custom_message", "id": "n", "customType": "my-lint", "content": "3 warnings", "display": True}
    unnamed = named | {"id": "o", "customType": 5}
    transcript = read(session_bytes(user("p"), named, unnamed)).unwrap()
    assert [entry.kind for entry in transcript.entries] == ["message", "my-lint", "custom_message"]
    assert "## custom message (my-lint)\n3 warnings" in recall(transcript, "p").unwrap().text


def test_an_entry_with_everything() -> None:
    """Blocks, model, usage, time and source of an entry come over as Pi has them."""
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes((0, 0, 5, 0, 0, 0, 3, 192, 8, 2))).decode()
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}}
    more = {"provider": "p", "model": "m", "api": "a", "usage": usage, "stopReason": "toolUse", "timestamp": 7}
    content = [
        {"type": "text", "text": "x"},
        {"type": "image", "mimeType": "image/png", "data": png},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "new", "n": 1},
    ]
    data = session_bytes(
        {"type": "model_change", "id": "m", "provider": "q", "modelId": "n"},
        calling("a", "c1", responseId="r", **more),
        result("b", "c1", content, details={"fullOutputPath": "/tmp/o"}),
        {"type": "model_change", "id": "n", "provider": "p", "modelId": "m"},
    )
    transcript = read(data).unwrap()
    model = Model("p", "m", "a")
    visible = (ToolCall(id="c1", name="bash", args='{"command":"make","n":1}'),)
    assert (
        Entry(
            id="a",
            parent="m",
            role="assistant",
            raw=visible,
            visible=visible,
            kind="message",
            time=7,
            model=model,
            usage=Usage(1, 2, 3, 4, 0.5),
            stop="toolUse",
            response_id="r",
            written=1_796_054_502_100,
            src="line:3",
        )
        == transcript.entries[1]
    )
    images = (
        Image("image/png", ref="line:4/1", width=1280, height=960),
        Image("image/png", ref="line:4/2"),
    )
    expected = ToolResult("c1", "bash", (Text("x"), *images, Opaque("new", 20)), is_error=False, full_ref="/tmp/o")
    assert expected == transcript.entries[2].result
    assert model == transcript.model
    assert (transcript.session, transcript.cwd, transcript.head) == ("s1", "/work", "n")


def test_the_last_edit_wins_even_when_it_brings_an_entry_back() -> None:
    """An omitted entry that a later edit gives its raw content is seen again; a bare string becomes a text block."""
    data = session_bytes(user("u"), calling("a", "c"), result("r", "c"), edit("e1", "r"), edit("e2", "r", "out"))
    omitted = read(data, "e1").unwrap()
    restored = read(data).unwrap()
    assert None is entry_of(omitted, "r").visible
    assert entry_of(restored, "r").raw == entry_of(restored, "r").visible
    assert [None, (ToolResult("c", "bash", (Text("out"),), is_error=False),)] == [e.content for e in restored.edits]
    assert len("out") == visible_chars(entry_of(restored, "r"))


def test_an_edit_without_a_replacement_changes_nothing() -> None:
    """An edit that Pi could not apply is passed over, and what it aimed at stays visible."""
    broken = {"type": "context_edit", "id": "e", "targetId": "u"}
    transcript = read(session_bytes(user("u"), broken)).unwrap()
    assert (Text("hello"),) == entry_of(transcript, "u").visible
    assert transcript.edits == ()


def test_older_versions_are_migrated_in_memory() -> None:
    """Version 1 lines become a chain, its kept index an id; `hookMessage` of version 2 becomes `custom`."""
    first = [
        {"type": "session", "id": "s", "cwd": "/"},
        {"type": "message", "message": {"role": "user", "content": "one"}},
        {"type": "message", "message": {"role": "hookMessage", "content": "hook"}},
        {"type": "compaction", "summary": "sum", "firstKeptEntryIndex": 2},
        {"type": "message", "message": {"role": "user", "content": "two"}},
    ]
    session = parse("\n".join(json.dumps(line) for line in first).encode()).unwrap()
    ids = ["00000001", "00000002", "00000003", "00000004"]
    assert [(1, None), (1, ids[0]), (1, ids[1]), (1, ids[2])] == [
        (session.version, entry["parentId"]) for entry in session.entries
    ]
    assert [(ids[2], "compactionSummary"), (ids[1], "custom"), (ids[3], "user")] == [
        (entry["id"], bodies[-1]["role"]) for entry, bodies in project(session)
    ]
    second = session_bytes(message("h", {"role": "hookMessage", "content": "x"}), header=HEADER | {"version": 2})
    assert parse(second).unwrap().entries[0]["message"]["role"] == "custom"


@pytest.mark.parametrize("version", ["-1e999", "-1", "0", "false", "null"])
def test_a_version_below_all_others_is_the_oldest(version: str) -> None:
    """JSON knows numbers that Python takes for infinite; as in Pi, each below 2 is migrated."""
    header = f'{{"type":"session","id":"s","version":{version}}}\n'.encode()
    session = parse(header + b'{"type":"message","message":{"role":"user","content":"x"}}\n').unwrap()
    assert (session.version < 2, session.leaf) == (True, "00000001")


def test_broken_lines_are_passed_over_and_reported() -> None:
    """As in Pi, a line that is no JSON costs itself and, as a missing parent, everything before it."""
    lines = session_bytes(user("a"), user("b"), user("c")).split(b"\n")
    lines[2] = lines[2][:20]
    session = parse(b"\n".join([lines[0], b"", *lines[1:3], b'{"x":NaN}', b"[]", lines[3]])).unwrap()
    assert session.broken_lines == (4, 5, 6)
    assert session.lines == (3, 7)
    assert [entry["id"] for entry, _ in project(session)] == ["c"]
    assert (session.torn, session.terminated) == (False, False)
    assert parse(b"\n".join(lines[:3])).unwrap().torn


def test_a_cycle_ends_the_walk() -> None:
    """Parents that lead back to a child end the branch, as a missing parent does."""
    transcript = read(session_bytes(user("a") | {"parentId": "b"}, user("b") | {"parentId": "a"})).unwrap()
    assert [entry.id for entry in transcript.entries] == ["a", "b"]


def test_odd_text_is_read() -> None:
    """Lone surrogates, line separators and bytes that are not UTF-8 go the way Pi reads them."""
    data = session_bytes(user("a", "\ud83d x")) + b'{"type":"message","id":"b","parentId":"a","message":'
    data += b'{"role":"user","content":"\xe2\x80\xa8 \xff."}}\n'
    texts = [text_of(entry.raw) for entry in read(data).unwrap().entries]
    assert texts == ["\ud83d x", "\u2028 \ufffd."]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "no line of it is JSON"),
        (b"hello\n", "no line of it is JSON"),
        (b'{"type":"user","message":{}}\n', "its first line is not"),
        (b'{"type":"session","version":3}\n', "its first line is not"),
        (b'{"type":"session","id":"s","version":4}\n', "update the context guard"),
        (b'{"type":"session","id":"s","version":"x"}\n', "update the context guard"),
        (session_bytes(user("a")), "no entry 'zzz'"),
    ],
)
def test_what_is_no_session_says_so_in_one_line(data: bytes, words: str) -> None:
    """Every input that cannot be read gives one line that says what is wrong and what to do."""
    error = read(data, "zzz").failure()
    assert words in error.message
    assert "\n" not in error.message


ODD: list[Any] = [
    *(None, True, -1, 2**70, 1.5, 1e300, "", "a", "b", [], ["x", None], {}),
    *({"content": "x"}, {"content": 3}, {"fullOutputPath": 1}, {"cost": {"total": 1e300}, "input": "x"}),
    *([{"type": "image", "data": data} for data in (1, "A", "iVBORw0KGgo=", "\ud83d")],),
    *([{"type": "toolCall", "arguments": []}, {"type": ["x"]}, {"type": "thinking", "thinking": None}],),
]
ANYTHING = st.sampled_from(ODD)
KEYS = ["parentId", "message", "content", "summary", "systemMessage", "targetId", "replacement", "firstKeptEntryId"]
TYPES = ["message", "custom_message", "compaction", "branch_summary", "context_edit", "custom", "model_change"]
BODIES = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "toolResult", "bashExecution", "custom", "x"])},
    optional=dict.fromkeys(["content", "usage", "timestamp", "details", "exitCode", "toolName"], ANYTHING),
)
ENTRIES = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "c", "d"]), "type": st.sampled_from(TYPES)},
    optional=dict.fromkeys([*KEYS, "timestamp", "customType", "provider"], ANYTHING) | {"message": BODIES | ANYTHING},
)


@given(st.lists(ENTRIES, max_size=6))
def test_every_session_has_a_transcript(entries: list[dict[str, Any]]) -> None:
    """Whatever types stand inside the entries, reading a session fails for none of them."""
    transcript = read(session_bytes(*entries)).unwrap()
    assert sorted(set(transcript.context)) == sorted(transcript.context)
    assert hash(transcript) == hash(read(session_bytes(*entries)).unwrap())


def appended(session: PiSession, *drafts: Replace | Omit | Append) -> list[dict[str, Any]]:
    lines = edit_lines(session, drafts, iter(["r", "11111111", "22222222", "33333333"]), NOW).unwrap()
    return [json.loads(line) for line in lines.data.splitlines()]


def test_drafts_become_lines_as_pi_writes_them() -> None:
    """Edits and record hang on the last entry one after the other, with ids that the session does not have yet."""
    session = parse(session_bytes(user("u"), calling("a", "c"), result("r", "c"))).unwrap()
    replaced, omitted, record = appended(session, Replace("r", ("x", "\ud83d")), Omit("u"), Append(RECORD))
    base = {"timestamp": NOW}
    assert (
        base
        | {
            "type": "context_edit",
            "id": "11111111",
            "parentId": "r",
            "targetId": "r",
            "replacement": {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "\ud83d"}]},
        }
        == replaced
    )
    assert list(omitted) == ["type", "id", "parentId", "timestamp", "targetId", "replacement"]
    assert (omitted["replacement"], omitted["parentId"]) == (None, "11111111")
    assert list(record) == ["type", "customType", "data", "id", "parentId", "timestamp"]
    assert (record["customType"], record["data"]["savedChars"], record["parentId"]) == ("context-guard", 5, "22222222")


@pytest.mark.parametrize(
    ("target", "words"),
    [("zzz", "is not in the session"), ("b", "not on the session's active branch"), ("s", "nothing that an edit")],
)
def test_one_target_that_pi_would_refuse_refuses_all(target: str, words: str) -> None:
    """Drafts belong together: none is written when one aims off the branch or at what Pi does not edit."""
    data = session_bytes(
        user("u"), message("s", {"role": "system", "content": ""}), user("b"), user("c") | {"parentId": "s"}
    )
    refused = edit_lines(parse(data).unwrap(), (Omit("u"), Omit(target)), iter(["1"]), NOW)
    assert words in refused.failure().message


def test_a_target_that_a_compaction_dropped_is_skipped() -> None:
    """An edit without effect is not written, and the caller is told."""
    compaction = {"type": "compaction", "id": "k", "summary": "s", "firstKeptEntryId": "v"}
    session = parse(session_bytes(user("u"), user("v"), compaction)).unwrap()
    lines = edit_lines(session, (Omit("u"), Omit("v")), iter(["1"]), NOW).unwrap()
    assert (Skipped("u", DROPPED),) == lines.skipped
    assert lines.ids == ("1",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (session_bytes(user("u"), header=HEADER | {"version": 2}), "open it once in Pi"),
        (session_bytes(user("u")) + b'{"type":"mess', "last line of the session is broken"),
    ],
)
def test_a_file_that_must_not_be_appended_to(data: bytes, words: str) -> None:
    """An old version would be rewritten by Pi, a torn last line would be glued to ours."""
    refused = edit_lines(parse(data).unwrap(), (Append(RECORD),), iter(["1"]), NOW)
    assert words in refused.failure().message
