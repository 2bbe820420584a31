"""Real coding agents behind the proxy, with a scripted model: what the model reads of a large output, and the way back."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from build import lines

from context_guard.text import MARKER
from context_guard_effects.store import open_store
from outside.agent_drivers import AGENTS, REPO, Agent, Home, install_agents, make_python
from outside.pi_driver import NpmUnreachable, Pi
from outside.scripted_provider import Request, ScriptedProvider, Turn
from outside.scripted_wires import Call

pytestmark = pytest.mark.outside

NEEDED = "def make_pool(size):  # the pool is made here"
LOG = "\n".join([lines(150), NEEDED, lines(150)])
ANSWER = "make_pool makes the pool."
SETTLED_SECONDS = 60.0


@pytest.fixture(scope="session")
def programs() -> dict[str, str]:
    try:
        return install_agents()
    except NpmUnreachable as error:
        pytest.skip(f"real agents are needed: {error}")


@pytest.fixture(scope="session")
def guarded_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_python(tmp_path_factory.mktemp("python"))


@pytest.fixture
def agent_home(tmp_path: Path, guarded_python: Path) -> Home:
    home = Home(tmp_path, guarded_python)
    home.work.mkdir()
    (home.work / "log.txt").write_text(LOG)
    return home


@contextmanager
def proxy(home: Home, upstream: str) -> Iterator[str]:
    """The command, with its address. An edit has to pay at once: the test does not wait until a cache has expired."""
    command = [str(home.python), "-m", "context_guard_effects.cli", "proxy", "--listen", "127.0.0.1:0", "--quiet"]
    command += ["--upstream", f"anthropic={upstream}", "--upstream", f"openai={upstream}"]
    command += ["--set", "runEndBreakEven=false"]
    with (home.folder / "proxy.txt").open("wb") as log:
        process = subprocess.Popen(command, env=home.environment(), stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    with process.stdout as stdout:
        try:
            yield stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def wait_for_pass(home: Home) -> None:
    """Until a pass is in the store."""
    until = time.monotonic() + SETTLED_SECONDS
    while time.monotonic() < until:
        if home.store.exists():
            with open_store(home.store) as store:
                if store.status().outputs:
                    return
        time.sleep(0.2)
    raise AssertionError((home.folder / "proxy.txt").read_text())


def find_id(note: str) -> str:
    """The id that the note tells the model, in whichever words."""
    found = re.search(r'"entryId":"([^"]+)"|`context-guard recall (\S+)`', note)
    assert found is not None, note
    return found[1] or found[2]


def play(provider: ScriptedProvider, shell: Call, recall: Callable[[str], Call]) -> None:
    """Two runs: the first reads the log, the second gets it back by what the note says."""

    def asks_back(request: Request) -> Turn:
        (note,) = request.results().values()
        return Turn(calls=[recall(find_id(note))])

    provider.play(Turn(calls=[shell]), Turn(ANSWER), asks_back, Turn("Done."))


def check(provider: ScriptedProvider) -> str:
    """What holds of the four requests, whatever the agent; the note."""
    assert 4 == len(provider.requests), [request.path for request in provider.requests]
    _, read, again, recalled = (request.results() for request in provider.requests)
    (call_id,) = read
    assert LOG in read[call_id]
    assert [call_id] == list(again)
    note = again[call_id]
    assert note.startswith(MARKER)
    assert NEEDED in note
    assert len(note) < len(LOG) / 3
    assert note == recalled.pop(call_id)
    (original,) = recalled.values()
    assert LOG in original
    return note


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_sees_the_replacement_and_recalls_the_original(
    agent: Agent, programs: dict[str, str], agent_home: Home
) -> None:
    """Set up by `install`, and taken out again by `uninstall`: not a byte of its settings is left changed."""
    agent.prepare(agent_home)
    mine = {path: path.read_bytes() for path in agent_home.folder.rglob("*") if path.is_file()}
    with ScriptedProvider(asides=True) as provider, proxy(agent_home, provider.url) as url:
        agent_home.guard("install", agent.name, "--yes", "--proxy", url)
        play(provider, agent.shell("cat log.txt"), agent.recall)
        assert ANSWER in agent.ask(programs, agent_home, "Where is the pool made?", False)
        wait_for_pass(agent_home)
        assert "Done." in agent.ask(programs, agent_home, "And who uses it?", True)
        note = check(provider)
    way = f"{agent.tools[0]}(" if agent.tools else "`context-guard recall "
    assert way in note
    agent_home.guard("uninstall", agent.name, "--yes")
    assert mine == {path: path.read_bytes() for path in mine}
