"""How a note says that the original is recalled: by the tool under the name that this host shows, or in a shell."""

import shlex

import pytest
from build import answer, call, lines, prompt, result, session
from hypothesis import given
from hypothesis import strategies as st

from context_guard.answers import Asked
from context_guard.candidates import is_recall
from context_guard.config import Config
from context_guard.local_judge import judge_locally
from context_guard.recall_way import find_recall_way
from context_guard.settings import apply_settings
from context_guard.span import RunResult
from context_guard.stages import plan, settle
from context_guard.text import recall_call, recall_hint


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("recall", 'Full output: recall({"entryId":"3f2a"}).'),
        ("mcp__context-guard__recall", 'Full output: mcp__context-guard__recall({"entryId":"3f2a"}).'),
        ("shell", "Full output: `context-guard recall 3f2a` in a shell."),
        ("recall+shell", 'Full output: recall({"entryId":"3f2a"}) or `context-guard recall 3f2a` in a shell.'),
    ],
)
def test_a_note_names_the_way_that_the_host_has(way: str, told: str) -> None:
    assert told == recall_hint("Full output", "3f2a", way)


def test_every_note_of_a_pass_names_it() -> None:
    """The setting `recallWith` reaches what the model reads."""
    transcript = session(
        prompt("Where is the pool made?"),
        call("bash", {"command": "make log"}),
        result("\n".join([lines(300), "def make_pool(size):", lines(300)])),
        answer("`def make_pool(size):` makes it."),
    )
    planned = plan(transcript, Config(recall_with="shell"))
    settled = settle(planned, Asked(outcomes=tuple(map(judge_locally, planned.requests))))
    texts = [text for draft in settled.drafts for text in getattr(draft, "texts", ())]
    assert texts
    assert all("`context-guard recall e3` in a shell." in text for text in texts)


@pytest.mark.parametrize("way", ["", "two words", "shell+recall", "recall(", "recall+mcp", "a" * 129])
def test_what_is_no_way_is_refused(way: str) -> None:
    """The value before it is used, with a warning."""
    parsed = apply_settings({"recallWith": way}, Config())
    assert ("recall", 1) == (parsed.config.recall_with, len(parsed.warnings))


@given(st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1))
def test_a_shell_reads_the_id_as_one_word(entry_id: str) -> None:
    command = recall_call(entry_id, "shell").split("`")[1]
    assert ["context-guard", "recall", entry_id] == shlex.split(command)


@pytest.mark.parametrize(
    ("tools", "way"),
    [
        ([{"name": "Bash"}, {"name": "mcp__context-guard__recall"}], "mcp__context-guard__recall"),
        ([{"type": "function", "function": {"name": "context-guard_recall"}}], "context-guard_recall"),
        ([{"type": "function", "name": "recall"}], "recall"),
        ([{"name": "product_recall"}, {"type": "web_search"}, 7], "shell"),
        (None, "shell"),
        ({"name": "recall"}, "shell"),
    ],
)
def test_a_proxy_sees_the_way_among_the_tools_of_a_request(tools: object, way: str) -> None:
    """Else it tells the shell, which every coding agent has."""
    assert way == find_recall_way({"tools": tools})


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("recall", True),
        ("mcp__context-guard__recall", True),
        ("context-guard_recall", True),
        ("product_recall", False),
        ("recall_all", False),
    ],
)
def test_a_recall_is_known_under_the_name_of_each_host(tool: str, expected: bool) -> None:
    """What the agent has just asked back is left alone."""
    assert expected == is_recall(_called(tool))


def _called(tool: str) -> RunResult:
    transcript = session(prompt("?"), call(tool, {"entryId": "x"}), result(lines(9)), answer("."))
    return plan(transcript, Config()).spans[0].results[0]
