"""The readers of sessions on disk: every host's file is told by its content, and read to the last character."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_sessions import DOCUMENT_HOSTS, LINE_HOSTS, Turn, chars, lines, openhands
from returns.result import Failure, Success
from shared_data import SHARED, needs_shared

from context_guard.formats import claude_code, codex, opencode
from context_guard.formats import openhands as openhands_format
from context_guard.formats.signatures import HEAD_BYTES, detect_document, detect_lines
from context_guard.formats.transcripts import LINE_READERS, read_document
from context_guard.transcript import AnyBlock, Text, Thinking, ToolCall, ToolResult, Transcript, shown

TURNS = (
    Turn(
        "Where is the pool made?", (("rg pool", "pool.py:3: make_pool()\n" * 40), ("cat pool.py", "x = 1\n")), "There."
    ),
    Turn("Größe? 🙂", (("ls", "a\nb"),), "Two files."),
)

few = settings(max_examples=50, deadline=None)

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
turns = st.lists(
    st.builds(Turn, texts, st.lists(st.tuples(texts, texts), max_size=2).map(tuple), texts), min_size=1, max_size=3
).map(tuple)


def size(transcript: Transcript) -> int:
    """Characters of texts, thinking, calls and results as they were first seen."""
    return sum(_size(block) for entry in transcript.entries for block in entry.raw)


def _size(block: AnyBlock) -> int:
    match block:
        case Text(text=text) | Thinking(text=text):
            return len(text)
        case ToolCall(name=name, args=args):
            return len(name) + len(args)
        case ToolResult(content=content):
            return sum(map(_size, content))
        case _:
            return 0


def split(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@pytest.mark.parametrize("name", LINE_HOSTS)
@few
@given(said=turns)
def test_a_file_of_lines_is_read_to_the_last_character(name: str, said: tuple[Turn, ...]) -> None:
    """Its host is told by its lines, and nothing is lost or counted twice."""
    data = LINE_HOSTS[name](said)
    assert name == detect_lines(data[:HEAD_BYTES])
    (transcript,) = LINE_READERS[name](split(data)).unwrap()
    assert chars(said) == size(transcript)
    assert sum(len(turn.calls) + 1 for turn in said) == sum(it.role == "assistant" for it in transcript.entries)


@pytest.mark.parametrize("name", DOCUMENT_HOSTS)
@few
@given(said=turns)
def test_a_document_is_read_to_the_last_character(name: str, said: tuple[Turn, ...]) -> None:
    """The same of hosts that write one JSON value; what holds no call at all tells nothing about a bare list."""
    value = DOCUMENT_HOSTS[name](said)
    if not any(turn.calls for turn in said) and name in ("anthropic", "openai-chat", "openai-responses"):
        assert detect_document(value) is None
        return
    assert name == detect_document(value)
    (transcript,) = read_document(value).unwrap()
    assert chars(said) == size(transcript)


@few
@given(said=turns)
def test_a_folder_of_events_is_read_to_the_last_character(said: tuple[Turn, ...]) -> None:
    (transcript,) = openhands_format.read(openhands(said), {"id": "c-1"}).unwrap()
    assert (chars(said), "c-1") == (size(transcript), transcript.session)


@pytest.mark.parametrize("name", LINE_HOSTS)
@few
@given(data=st.data())
def test_a_cut_file_is_nobodys_or_its_own_hosts(name: str, data: st.DataObject) -> None:
    """Cut anywhere, a file is never taken for another host's, and what is whole in it can be read."""
    whole = LINE_HOSTS[name](TURNS)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    found = detect_lines(cut)
    assert found in (None, name)
    if found is not None:
        for transcript in LINE_READERS[found](split(cut)).unwrap():
            assert size(transcript) <= chars(TURNS)


@few
@given(
    names=st.permutations(sorted(LINE_HOSTS)),
    at=st.integers(0, 12),
)
def test_a_mixed_file_is_nobodys(names: list[str], at: int) -> None:
    """Lines of two hosts in one file name none, and a reader refuses those of another host wherever they stand."""
    own, other = (split(LINE_HOSTS[name](TURNS)) for name in names[:2])
    mixed = [*own[: at + 1], *other, *own[at + 1 :]]
    assert detect_lines(b"".join(mixed)) is None
    assert isinstance(LINE_READERS[names[0]](mixed), Failure)  # type: ignore[index]


@few
@given(names=st.permutations(sorted(DOCUMENT_HOSTS)))
def test_a_document_with_marks_of_two_hosts_is_nobodys(names: list[str]) -> None:
    """Two documents put together are never taken for one that is neither."""
    first, second = (DOCUMENT_HOSTS[name](TURNS) for name in names[:2])
    mixed = copy.deepcopy(first)
    for key, value in second.items():
        is_list = isinstance(mixed.get(key), list) and isinstance(value, list)
        mixed[key] = [*mixed[key], *value] if is_list else mixed.get(key, value)
    assert detect_document(mixed) in (None, *names[:2])


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*at, key)
            yield from places(inner, (*at, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return changed


def broken(data: st.DataObject, value: Any) -> Any:
    """With something else in up to three places."""
    for _ in range(data.draw(st.integers(1, 3))):
        found = list(places(value))
        value = put(value, data.draw(st.sampled_from(found)), data.draw(junk)) if found else value
    return value


@pytest.mark.parametrize("name", DOCUMENT_HOSTS)
@few
@given(data=st.data())
def test_whatever_stands_in_a_document_its_reader_copes(name: str, data: st.DataObject) -> None:
    """Values of any kind in any place give a transcript, or one line that says why not; never an exception."""
    found = read_document(broken(data, DOCUMENT_HOSTS[name](TURNS)))
    assert isinstance(found, Success) or "\n" not in found.failure().message


@pytest.mark.parametrize("name", LINE_HOSTS)
@few
@given(data=st.data())
def test_whatever_stands_in_a_line_its_reader_copes(name: str, data: st.DataObject) -> None:
    objects = [json.loads(line) for line in split(LINE_HOSTS[name](TURNS))]
    LINE_READERS[name](split(lines(broken(data, objects))))  # type: ignore[index]


@few
@given(data=st.data())
def test_whatever_stands_in_an_event_its_reader_copes(data: st.DataObject) -> None:
    events = [it for it in broken(data, openhands(TURNS)) if isinstance(it, dict)]
    openhands_format.read(events, broken(data, {"id": "c", "agent": {"llm": {"model": "x"}}}))


def test_calls_that_ran_at_once_belong_to_one_response() -> None:
    """Claude Code forks its chain there: both lines of the response and both results count, its usage once."""
    said = {"id": "msg_1", "role": "assistant", "model": "claude-sonnet-5-5", "usage": {"input_tokens": 7}}

    def line(name: str, parent: str | None, kind: str, message: Any) -> Any:
        return {"type": kind, "uuid": name, "parentUuid": parent, "sessionId": "s", "message": message}

    def call(name: str) -> Any:
        return said | {"content": [{"type": "tool_use", "id": name, "name": "bash", "input": {}}]}

    def result(name: str) -> Any:
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": name * 3}]}

    written = [
        line("u1", None, "user", {"role": "user", "content": "Both!"}),
        line("u2", "u1", "assistant", call("a")),
        line("u3", "u2", "assistant", call("b")),
        line("u4", "u2", "user", result("a")),
        line("u5", "u3", "user", result("b")),
        line("u6", "u5", "assistant", {**said, "id": "msg_2", "content": [{"type": "text", "text": "Done."}]}),
    ]
    (transcript,) = claude_code.read(split(lines(written))).unwrap()
    assert ["user", "assistant", "tool", "tool", "assistant"] == [it.role for it in transcript.entries]
    assert [7, 7] == [it.usage.input for it in transcript.entries if it.usage is not None]


def test_a_compaction_of_claude_code_begins_the_context_anew() -> None:
    """The summary and what follows is all that the model sees; what was before stays on the branch."""
    before = json.loads(b"[" + b",".join(split(LINE_HOSTS["claude-code"](TURNS))) + b"]")
    last = before[-1]["uuid"]
    common = {"sessionId": "s-1", "isSidechain": False}
    written = [
        *before,
        {**common, "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}
        | {"logicalParentUuid": last},
        {**common, "type": "user", "uuid": "c", "parentUuid": "b", "isCompactSummary": True}
        | {"message": {"role": "user", "content": "What was said."}},
        {**common, "type": "user", "uuid": "d", "parentUuid": "c", "message": {"role": "user", "content": "Go on."}},
    ]
    (transcript,) = claude_code.read(split(lines(written))).unwrap()
    assert ["summary", "user"] == [it.role for it in shown(transcript)]
    assert chars(TURNS) + len("What was said.Go on.") == size(transcript)


def test_a_compaction_of_codex_begins_the_context_anew() -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "So far: all."}]}]
    compacted = {"timestamp": "2026-11-30T01:00:00Z", "type": "compacted"}
    data = LINE_HOSTS["codex"](TURNS) + lines([{**compacted, "payload": {"replacement_history": history}}])
    (transcript,) = codex.read(split(data)).unwrap()
    assert ["summary"] == [it.role for it in shown(transcript)]


def test_a_result_that_opencode_pruned_shows_its_line() -> None:
    """From that moment on the model sees that line; the raw text stays."""
    tables = DOCUMENT_HOSTS["opencode"](TURNS)
    part = next(it for it in tables["part"] if '"tool"' in it["data"])
    data = json.loads(part["data"])
    data["state"]["time"] = {"start": 1, "end": 2, "compacted": 1_796_000_020_000}
    part["data"] = json.dumps(data)
    (transcript,) = opencode.read_document(tables)
    pruned = next(it for it in transcript.entries if it.visible != it.raw)
    assert opencode.CLEARED == pruned.visible[0].content[0].text  # type: ignore[index, union-attr]
    assert chars(TURNS) == size(transcript)


def test_what_openhands_forgot_is_out_of_the_context() -> None:
    events = openhands(TURNS)
    forgot = {"id": "z", "kind": "Condensation", "source": "environment", "summary": "Short."}
    events.append({**forgot, "forgotten_event_ids": ["e0", "e1", "e2"]})
    (transcript,) = openhands_format.read(events, {}).unwrap()
    assert 3 == sum(it.visible is None for it in shown(transcript))


# What the real hosts wrote, counted here from their raw JSON and by nothing that the readers use.


def args(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def claude_code_count(path: Path) -> int:
    total = 0
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if line["type"] == "attachment":
            total += sum(len(it["content"]) for it in line.get("rendered", ()))
        elif line["type"] in ("user", "assistant"):
            total += anthropic_count(line["message"]["content"])
    return total


def anthropic_count(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    total = 0
    for part in content:
        if part["type"] == "text":
            total += len(part["text"])
        elif part["type"] == "tool_use":
            total += len(part["name"]) + args(part["input"])
        elif part["type"] == "tool_result":
            found = part["content"]
            total += (
                len(found) if isinstance(found, str) else sum(len(it.get("text", it.get("result"))) for it in found)
            )
    return total


def codex_count(path: Path) -> int:
    total = 0
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        item = line["payload"]
        if line["type"] == "response_item":
            total += sum(len(part["text"]) for part in item.get("content", ()))
            total += len(item.get("name", "")) + len(item.get("arguments", "")) + len(item.get("output", ""))
    return total


def chat_count(messages: Any) -> int:
    total = 0
    for message in messages:
        total += len(message.get("content") or "")
        for call in message.get("tool_calls", ()):
            total += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return total


def opencode_count(path: Path) -> int:
    """In the sample the bodies of tool parts are stripped to a note that is no JSON: they count as lost."""
    parts = [it["data"] for it in json.loads(path.read_text(encoding="utf-8"))["part"] if it["data"].startswith("{")]
    return sum(len(it["text"]) for it in map(json.loads, parts) if it["type"] == "text")


def openhands_count(path: Path) -> int:
    total = 0
    for event in (json.loads(it.read_text(encoding="utf-8")) for it in path.iterdir()):
        texts = [event.get("system_prompt"), *event.get("llm_message", {}).get("content", ())]
        texts += event.get("observation", {}).get("content", ())
        total += sum(len(it["text"]) for it in texts if it)
        if event["kind"] == "ActionEvent":
            total += len(event["tool_name"]) + len(event["tool_call"]["arguments"])
    return total


def pi_count(path: Path) -> int:
    """The branch of the last entry, as it was first written; a user's command as Pi words it."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    by_id = {it["id"]: it for it in entries}
    total, entry = 0, entries[-1]
    while entry is not None:
        message = entry.get("message", entry)
        if message.get("role") == "bashExecution":
            total += len(f"Ran `{message['command']}`\n```\n{message['output']}\n```")
        elif entry["type"] in ("message", "custom_message"):
            content = message["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                total += len(part.get("text", "")) + len(part.get("thinking", ""))
                if part["type"] == "toolCall":
                    total += len(part["name"]) + args(part["arguments"])
        elif entry["type"] in ("compaction", "branch_summary"):
            total += len(entry["summary"])
        entry = by_id.get(entry.get("parentId"))
    return total


SAMPLES = SHARED / "hosts" / "samples"
COUNTS: dict[str, tuple[str, Callable[[Path], int]]] = {
    "claude-code-2.1.332.jsonl": ("claude-code", claude_code_count),
    "codex-0.171.0.jsonl": ("codex", codex_count),
    "pi-1.6.0.jsonl": ("pi", pi_count),
    "cline-3.0.65.messages.json": (
        "cline",
        lambda path: sum(anthropic_count(it["content"]) for it in json.loads(path.read_text())["messages"]),
    ),
    "mini-swe-agent-2.4.6.traj.json": (
        "mini-swe-agent",
        lambda path: chat_count(json.loads(path.read_text())["messages"][:-1]),
    ),
    "opencode-1.18.33.json": ("opencode", opencode_count),
}


@needs_shared
def test_every_sample_has_its_count() -> None:
    """A new one fails here until it is counted."""
    assert {it.name for it in SAMPLES.iterdir()} == {*COUNTS, "openhands-sdk-1.58.2-events"}


@needs_shared
@pytest.mark.parametrize("name", COUNTS)
def test_what_a_host_wrote_is_read_to_the_last_character(name: str) -> None:
    host, count = COUNTS[name]
    path = SAMPLES / name
    data = path.read_bytes()
    if path.suffix == ".jsonl":
        assert host == detect_lines(data[:HEAD_BYTES])
        found = LINE_READERS[host](split(data))
    else:
        assert detect_lines(data[:HEAD_BYTES]) is None
        assert host == detect_document(json.loads(data))
        found = read_document(json.loads(data))
    assert count(path) == sum(map(size, found.unwrap()))


@needs_shared
def test_the_events_that_openhands_wrote_are_read_to_the_last_character() -> None:
    folder = SAMPLES / "openhands-sdk-1.58.2-events"
    events = [json.loads(it.read_text(encoding="utf-8")) for it in sorted(folder.iterdir())]
    (transcript,) = openhands_format.read(events, {}).unwrap()
    assert openhands_count(folder) == size(transcript)


@needs_shared
@pytest.mark.parametrize("path", sorted((SHARED / "pi").glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_pi_wrote_is_read_to_the_last_character(path: Path) -> None:
    data = path.read_bytes()
    assert detect_lines(data[:HEAD_BYTES]) == "pi"
    (transcript,) = LINE_READERS["pi"](split(data)).unwrap()
    assert pi_count(path) == size(transcript)
