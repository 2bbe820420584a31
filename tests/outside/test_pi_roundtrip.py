"""A session of real Pi, distilled while Pi is closed, opened by Pi again: what the model then gets."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outside.pi_driver import REPO, PiFailed, PiHome
from outside.processes import processes_with
from outside.scripted_provider import Call, Request, ScriptedProvider, Turn
from outside.shop import make_shop

pytestmark = pytest.mark.outside

MARKER = "[context-guard]"
OMISSION = re.compile(r"\[… \d+ lines? omitted")
EXAMPLE = REPO / "docs" / "examples" / "pi-search.jsonl"
QUESTION = "Where is the default timeout of the HTTP client set, and to what?"
ANSWER = "`shop/http/defaults.py:3` sets it: `DEFAULT_TIMEOUT = 12.5`."
SEARCH = Turn("I'll search for it.", [Call("bash", {"command": "grep -rn timeout shop | sort"})])
FOLLOW_UP = "Who reads it?"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "project")


@pytest.fixture
def session(project: Path, home: PiHome, provider: ScriptedProvider) -> Path:
    """The file of a closed session: one prompt, a search of some 28,000 characters, an answer."""
    provider.play(SEARCH, Turn(ANSWER))
    with home.start(project) as pi:
        pi.prompt(QUESTION)
    (file,) = home.session_files()
    assert processes_with(home.environment()) == []
    return file


def test_an_edit_appended_to_a_closed_session_is_what_the_model_gets_next(
    session: Path, project: Path, home: PiHome, provider: ScriptedProvider
) -> None:
    """The host's side alone, by a hand-written line: Pi loads an appended edit and goes on behind it."""
    before = session.read_bytes()
    (result,) = _results(session)
    replacement = f"{MARKER} Distilled by hand."
    edit = {
        "type": "context_edit",
        "id": "0ed17000",
        "parentId": _entries(session)[-1]["id"],
        "timestamp": "2026-01-01T00:00:00.000Z",
        "targetId": result["id"],
        "replacement": {"content": [{"type": "text", "text": replacement}]},
    }
    with session.open("ab") as file:
        file.write(json.dumps(edit).encode() + b"\n")

    request = _prompted_again(session, project, home, provider)

    assert request.results() == {_call_id(result): replacement}
    assert session.read_bytes().startswith(before)
    assert _entries(session)[len(before.splitlines()) + 1]["parentId"] == edit["id"]


def test_pi_goes_on_with_what_the_command_line_distilled(
    session: Path, project: Path, home: PiHome, provider: ScriptedProvider
) -> None:
    """`distill FILE --write` swaps the text under the same tool-call id for lines of the raw one; all else stays."""
    before = session.read_bytes()
    (result,) = _results(session)
    raw = _text(result)

    _distill(session, home)
    added = _entries(session)[len(before.splitlines()) :]
    request = _prompted_again(session, project, home, provider)

    assert [entry["targetId"] for entry in added if entry["type"] == "context_edit"] == [result["id"]]
    assert [entry["customType"] for entry in added if entry["type"] == "custom"] == ["context-guard"]
    assert list(request.results()) == [_call_id(result)]
    header, *body = request.results()[_call_id(result)].splitlines()
    assert header.startswith(MARKER)
    assert result["id"] in header
    assert sum(map(len, body)) < len(raw)
    assert "shop/http/defaults.py:3:" in "\n".join(body)
    _assert_in_order([line for line in body if not OMISSION.match(line)], raw.splitlines())
    assert _without_results(request)[:3] == _without_results(provider.requests[1])[:3]
    assert [_shown_text(message) for message in request.messages[-2:]] == [ANSWER, FOLLOW_UP]
    assert session.read_bytes().startswith(before)


def test_distilling_twice_changes_nothing_more(session: Path, home: PiHome) -> None:
    """What is already replaced is left alone, so a second pass adds no edit."""
    _distill(session, home)
    edits = [entry for entry in _entries(session) if entry["type"] == "context_edit"]

    _distill(session, home)

    assert [entry for entry in _entries(session) if entry["type"] == "context_edit"] == edits


def test_print_mode_gets_the_same_context(
    session: Path, project: Path, home: PiHome, provider: ScriptedProvider
) -> None:
    """Pi's other ways in read the session alike: the same messages leave, up to the new prompt."""
    _distill(session, home)
    provider.play(Turn("Every client does."))

    assert home.ask_once(project, FOLLOW_UP, session).strip() == "Every client does."

    (text,) = provider.requests[-1].results().values()
    assert text.startswith(MARKER)
    assert processes_with(home.environment()) == []


def test_nothing_that_a_tool_started_outlives_pi(project: Path, home: PiHome, provider: ScriptedProvider) -> None:
    """A driver that is left by an error takes Pi and its tools along, background jobs too."""
    provider.play(Turn("Waiting.", [Call("bash", {"command": "sleep 300 & echo started; sleep 301"})]))

    with pytest.raises(PiFailed, match=r"nothing came in 0 s"):
        _give_up_while_a_tool_runs(project, home)

    assert processes_with(home.environment()) == []


def test_a_script_that_ends_too_early_fails_the_run(project: Path, home: PiHome) -> None:
    """A request that no turn was written for is an error of the test, not an answer."""
    with home.start(project) as pi, pytest.raises(PiFailed, match="no turn left"):
        pi.prompt(QUESTION)


def test_pi_opens_the_example_session(project: Path, home: PiHome, provider: ScriptedProvider) -> None:
    """docs/examples/pi-search.jsonl is a session as Pi writes it, and Pi goes on with all of it."""
    session = home.sessions / EXAMPLE.name
    stored = EXAMPLE.read_text(encoding="utf-8")
    session.write_text(stored.replace("/home/user/context-guard", str(project)), encoding="utf-8")
    results = [_text(result) for result in _results(session)]

    request = _prompted_again(session, project, home, provider)

    assert list(request.results().values()) == results
    assert max(map(len, results)) > 30_000


def _give_up_while_a_tool_runs(project: Path, home: PiHome) -> None:
    with home.start(project) as pi:
        pi.command("prompt", message="Wait.")
        pi.wait_for(lambda event: "started" in json.dumps(event.get("partialResult", "")))
        assert len(processes_with(home.environment())) >= 3, "Pi, its shell and the first sleeper"
        pi.wait_for(lambda event: event["type"] == "agent_settled", seconds=0)


def _prompted_again(session: Path, project: Path, home: PiHome, provider: ScriptedProvider) -> Request:
    """The request that Pi sends when the session is opened again and goes on."""
    provider.play(Turn("Every client does."))
    with home.start(project, session) as pi:
        pi.prompt(FOLLOW_UP)
    assert processes_with(home.environment()) == []
    return provider.requests[-1]


def _distill(session: Path, home: PiHome) -> None:
    sources = os.pathsep.join(str(REPO / folder) for folder in ("pipeline", "effects"))
    done = subprocess.run(
        [sys.executable, "-m", "context_guard_effects.cli", "distill", str(session), "--write", "--json"],
        check=False,
        env={**os.environ, "PYTHONPATH": sources, "HOME": str(home.folder)},
        cwd=home.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


def _entries(session: Path) -> list[dict[str, Any]]:
    """Every line of the file, the header too."""
    return [json.loads(line) for line in session.read_bytes().splitlines()]


def _results(session: Path) -> list[dict[str, Any]]:
    return [
        entry for entry in _entries(session) if entry["type"] == "message" and entry["message"]["role"] == "toolResult"
    ]


def _call_id(result: dict[str, Any]) -> str:
    found: str = result["message"]["toolCallId"]
    return found


def _text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["message"]["content"])


def _without_results(request: Request) -> list[Any]:
    """The messages with the texts of tool results and the cache markers left out: what no edit may touch."""
    messages = json.loads(json.dumps(request.messages))
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            block.pop("cache_control", None)
            if block["type"] == "tool_result":
                block.pop("content")
    return list(messages)


def _shown_text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def _assert_in_order(kept: list[str], raw: list[str]) -> None:
    """Every kept line is a line of the raw text, in the order of the raw text."""
    assert kept
    rest = iter(raw)
    assert [line for line in kept if line not in rest] == []
