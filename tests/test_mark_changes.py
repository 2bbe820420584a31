"""Marks placed on a skeleton are marks placed on the request that it was made of."""

import copy
import gzip
import json
from typing import Any

import pytest
from shared_data import SHARED, needs_shared

from context_guard.cache.breakpoints import place_breakpoints
from context_guard.cache.mark_changes import mark_changes
from context_guard.cache.marks import read_marks

Json = dict[str, Any]
PAYLOADS = SHARED / "pi" / "payloads"
REQUESTS = sorted(PAYLOADS.glob("*/*-anthropic.json.gz"))[::7] if PAYLOADS.is_dir() else []
MARK = {"type": "ephemeral"}


def apply(body: Json, wanted: Json) -> Json:
    """As the extension does it."""
    changed = copy.deepcopy(body)
    for change in mark_changes(body, wanted):
        *way, last = change.path
        holder: Any = changed
        for key in way:
            holder = holder[key]
        if change.life is None:
            del holder[last]["cache_control"]
        elif isinstance(holder[last], str):
            holder[last] = [{"type": "text", "text": holder[last], "cache_control": json.loads(change.control)}]
        else:
            holder[last]["cache_control"] = json.loads(change.control)
    return changed


@needs_shared
@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: f"{path.parent.name}/{path.name[:4]}")
def test_the_changes_make_the_placed_request(path: Any) -> None:
    stored = json.loads(gzip.decompress(path.read_bytes()))
    body = stored.get("body", stored)
    placed = place_breakpoints(body).body
    assert placed == apply(body, placed)


def test_a_mark_that_makes_room_is_taken_away_and_a_bare_text_becomes_a_block() -> None:
    body: Json = {
        "tools": [{"name": "a", "cache_control": MARK}],
        "system": [{"type": "text", "text": words, "cache_control": MARK} for words in ("You are …", "Be of help.")],
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": "There."},
            {"role": "user", "content": [{"type": "text", "text": "Thanks.", "cache_control": MARK}]},
        ],
    }
    placed = place_breakpoints(body).body
    changed = apply(body, placed)
    assert placed == changed
    assert len(read_marks(changed)) == 4
    assert changed["messages"][0]["content"] == [{"type": "text", "text": "Where?", "cache_control": MARK}]
