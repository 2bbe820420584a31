"""A session that grows line by line is the session that is read at once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pi_sessions import calling, edit, result, session_bytes, user
from shared_data import SHARED, needs_shared

from context_guard.formats.pi import to_transcript
from context_guard.formats.pi_entries import PIN_TYPE
from context_guard.formats.pi_growth import append_entries, append_lines, empty_session, extend_transcript
from context_guard.formats.pi_session import parse
from context_guard.records import RECORD_TYPE

Json = dict[str, Any]
SESSIONS = sorted(path.name for path in (SHARED / "pi").glob("*.jsonl")) if SHARED.is_dir() else []


def assert_grows_alike(data: bytes) -> None:
    """After every line: the same session, and the same transcript by one step from the one before."""
    first, *lines = data.splitlines(keepends=True)
    session = parse(first).unwrap()
    transcript = to_transcript(session)
    seen = first
    for line in lines:
        seen += line
        session = append_lines(session, line)
        assert parse(seen).unwrap() == session
        whole = to_transcript(session)
        assert extend_transcript(session, transcript, session.leaf or "") in (whole, None)
        transcript = whole


@needs_shared
@pytest.mark.parametrize("name", SESSIONS)
def test_a_real_session_grows_alike(name: str) -> None:
    assert_grows_alike((SHARED / "pi" / name).read_bytes())


def entries(kind: str, number: int, target: str, parent: str | None) -> Json:
    """One of the entries that a session may go on with."""
    name = f"e{number}"
    made: dict[str, Json] = {
        "user": user(name, f"Do {number}."),
        "calling": calling(name, f"c{number}", provider="p", model=target, api="a"),
        "result": result(name, f"c{number - 1}", "out " * number),
        "edit": edit(name, target, [{"type": "text", "text": f"short {number}"}]),
        "omit": edit(name, target),
        "model": {"type": "model_change", "id": name, "provider": "p", "modelId": target},
        "record": {"type": "custom", "customType": RECORD_TYPE, "id": name, "data": {"v": 1, "savedChars": number}},
        "pin": {"type": "custom", "customType": PIN_TYPE, "id": name, "data": {"entryId": target}},
        "unpin": {"type": "custom", "customType": PIN_TYPE, "id": name, "data": {"entryId": target, "pinned": False}},
        "shell": {
            "type": "message",
            "id": name,
            "message": {"role": "bashExecution", "command": "ls", "excludeFromContext": number % 2 == 0},
        },
        "compaction": {"type": "compaction", "id": name, "summary": "S", "firstKeptEntryId": target},
        "broken": {"type": "label"},
    }
    return made[kind] | {"parentId": parent}


EDITS = ["edit", "omit", "pin", "unpin", "compaction", "record"]
KINDS = [*EDITS, "user", "calling", "result", "model", "shell", "broken"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 30), st.booleans()), max_size=14))
def test_a_made_up_session_grows_alike(steps: list[tuple[str, int, bool]]) -> None:
    """Edits of anything, models, pins, branches, broken lines: nothing shows that it came in pieces."""
    made: list[Json] = []
    for number, (kind, aim, branches) in enumerate(steps, 1):
        target = f"e{aim % number}"
        parent = target if branches else f"e{number - 1}"
        made.append(entries(kind, number, target, parent if number > 1 else None))
    lines = [{"type": "session", "version": 3, "id": "s", "cwd": "/w"}, *made]
    assert_grows_alike("".join(json.dumps(line) + "\n" for line in lines).encode())


def test_entries_by_the_pipe_are_the_session_too() -> None:
    """A session without a file is the same branch, and an entry that comes twice is one."""
    data = session_bytes(user("u"), calling("a", "c"), result("r", "c", "out"))
    stored = [json.loads(line) for line in data.splitlines()[1:]]
    session = append_entries(append_entries(empty_session("s1", "/work"), stored[:2]), stored)
    assert to_transcript(session).entries[2].raw == to_transcript(parse(data).unwrap()).entries[2].raw
    assert len(session.entries) == 3
