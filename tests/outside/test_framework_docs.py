"""docs/frameworks.md: every block runs as it stands against a scripted model, and its second run is sent the edit."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from context_guard.text import MARKER
from outside.scripted_provider import Call, Script, ScriptedProvider, Turn

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## (?P<name>[^\n]+)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {found["name"]: BLOCK.findall(found["body"]) for found in SECTION.finditer(PAGE)}

NOTE = f"{MARKER} Distilled the output"
READ = Call("read_file", {"path": "docs/cli.md"}, "call_1")
ANSWER = "With `context-guard store purge`; `--older-than` takes an age."
USUAL: list[Script] = [Turn(calls=[READ]), Turn(ANSWER), Turn("You are welcome.")]
SCRIPTS: dict[str, list[Script]] = {
    "Claude Agent SDK": [
        Turn(calls=[Call("Read", {"file_path": str(ROOT / "docs" / "cli.md")}, "call_1")]),
        *USUAL[1:],
    ],
    "smolagents": [
        USUAL[0],
        Turn(calls=[Call("final_answer", {"answer": ANSWER}, "call_2")]),
        Turn(calls=[Call("final_answer", {"answer": "You are welcome."}, "call_3")]),
    ],
}
RUNS_ONCE = ("LiteLLM", "mini-swe-agent", "OpenHands")


@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks and name not in RUNS_ONCE])
def test_a_block_guards_its_second_run(frameworks: str, name: str, tmp_path: Path) -> None:
    """The file is read raw in the first run; in the second its place holds what the answer rests on, under its call."""
    (code,) = BLOCKS[name]
    requests, printed = play(frameworks, code, SCRIPTS.get(name, USUAL), tmp_path)
    assert len(requests) == 3
    assert (False, False, True) == tuple(NOTE in json.dumps(request) for request in requests), printed
    assert "store purge" in json.dumps(requests[2])
    assert "Kept out of the context now: about" in printed or "Store " in printed


def test_the_hook_of_litellm_judges_when_the_next_run_begins(frameworks: str, tmp_path: Path) -> None:
    """For each kind of call: the first request of the next run is edited, one in the middle of a run is not judged."""
    (code,) = BLOCKS["LiteLLM"]
    _, printed = play(frameworks, code + LITELLM, [], tmp_path)
    assert ["anthropic_messages True False", "acompletion True False", "aresponses True False"] == printed.splitlines()


LITELLM = f"""
import asyncio
from context_guard_effects.testing import answer, call, messages, prompt, result

text = open("docs/cli.md").read()
for kind, (name, guard) in GUARDS.items():
    provider = guard.codec.host
    done = messages(provider, prompt("How?"), call("read_file", {{}}, id="call_1"), result(text), answer({ANSWER!r}))
    half = done[:-1]
    sent = [
        asyncio.run(context_guard.async_pre_call_hook(None, None, {{"model": "m", name: list_}}, kind))[name]
        for list_ in (half, done + messages(provider, prompt("Thanks.")))
    ]
    print(kind, *({NOTE!r} in str(list_) for list_ in reversed(sent)))
"""


def test_the_model_of_mini_swe_agent_is_guarded(frameworks: str, tmp_path: Path) -> None:
    """A run of it passes through the guard; a short one leaves everything as it is."""
    (code,) = BLOCKS["mini-swe-agent"]
    end = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo done"
    script = [Turn(calls=[Call("bash", {"command": command}, f"call_{at}")]) for at, command in enumerate(("ls", end))]
    requests, printed = play(frameworks, code, list(script), tmp_path)
    assert len(requests) == 2
    assert "Kept out of the context now: nothing." in printed
    assert "Problem" not in printed


def play(python: str, code: str, script: list[Script], folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The bodies of the requests, and what was printed."""
    (folder / "block.py").write_text(code, encoding="utf-8")
    with ScriptedProvider(script) as provider:
        done = subprocess.run(
            [python, folder / "block.py"],
            cwd=ROOT,
            env=environment(provider.url, folder),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [request.body for request in provider.requests], done.stdout


def environment(url: str, folder: Path) -> dict[str, str]:
    """A home of its own, every provider on loopback."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("pipeline", "effects")),
        "HOME": str(folder),
        "CONTEXT_GUARD_STORE": str(folder / "store.db"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_BASE": url,
        "ANTHROPIC_API_KEY": "no-key",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "no-key",
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_CONFIGURED": "true",
    }
