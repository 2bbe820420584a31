"""Real coding agents behind the proxy, with a scripted model: what the model reads of a large output and gets back."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from build import lines

from context_guard.text import MARKER
from context_guard_effects.store import open_store
from outside.agent_drivers import AGENTS, Agent, Home, install_agents, make_python
from outside.pi_driver import NpmUnreachable, Pi, PiHome
from outside.scripted_provider import Call, Request, ScriptedProvider, Turn

pytestmark = pytest.mark.outside

NEEDED = "def make_pool(size):  # the pool is made here"
LOG = "\n".join([lines(250), NEEDED, lines(250)])
"""Large enough not to be kept as a small run; Claude Code cuts what is above 30,000 characters."""
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


def check_replies(provider: ScriptedProvider, url: str) -> None:
    """What the agent asked, asked again through the proxy: its reply is what the provider sent, byte for byte."""
    for request in provider.requests[:4]:
        name = "anthropic" if request.api == "anthropic" else "openai"
        path = request.path.removeprefix(f"/{name}")
        for turn in (Turn("Lone \ud83d, two\u2028lines and ünïcode.", [Call("none", {"a": "é"})]), Turn("x" * 2_000)):
            provider.play(turn)
            headers = [(key, value) for key, value in request.headers if key.lower() not in ("host", "content-length")]
            with httpx.stream("POST", f"{url}/{name}{path}", headers=headers, content=request.raw, timeout=30) as reply:
                received = b"".join(reply.iter_raw())
            assert (200, provider.replies[-1]) == (reply.status_code, received)
            assert request.raw == provider.requests[-1].raw


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
        check_replies(provider, url)
    way = f"{agent.tools[0]}(" if agent.tools else "`context-guard recall "
    assert way in note
    agent_home.guard("uninstall", agent.name, "--yes")
    assert mine == {path: path.read_bytes() for path in mine}


def test_pi_sees_the_replacement_and_recalls_it_in_its_shell(pi: Pi, agent_home: Home) -> None:
    """By its base URL alone, without the extension."""
    recall = f"{agent_home.python} -m context_guard_effects.cli recall --store {agent_home.store}"
    with ScriptedProvider() as provider, proxy(agent_home, provider.url) as url:
        play(provider, Call("bash", {"command": "cat log.txt"}), lambda id: Call("bash", {"command": f"{recall} {id}"}))
        with PiHome(agent_home.folder / "pi", pi, f"{url}/anthropic").start(agent_home.work) as process:
            process.prompt("Where is the pool made?")
            wait_for_pass(agent_home)
            process.prompt("And who uses it?")
        assert "`context-guard recall " in check(provider)
        check_replies(provider, url)


@pytest.mark.parametrize("api", ["anthropic", "openai-chat", "openai-responses"])
def test_a_loop_over_an_sdk_sees_the_replacement_and_recalls_the_original(
    api: str, programs: dict[str, str], agent_home: Home
) -> None:
    """By its base URL alone; its own tool `recall` runs the command."""
    recall = [str(agent_home.python), "-m", "context_guard_effects.cli", "recall", "--store", str(agent_home.store)]
    with ScriptedProvider() as provider, proxy(agent_home, provider.url) as url:
        base = f"{url}/{api.partition('-')[0]}"
        script = Path(__file__).with_name("sdk_loop.py")
        command = [programs["python"], str(script), api, base, str(agent_home.work / "log.txt"), json.dumps(recall)]
        play(provider, Call("show_log", {}), lambda id: Call("recall", {"id": id}))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, env=agent_home.environment(), text=True, **pipes) as loop:  # type: ignore[call-overload]
            assert loop.stdin is not None
            assert loop.stdout is not None
            loop.stdin.write("Where is the pool made?\n")
            loop.stdin.flush()
            assert f"{ANSWER}\n" == loop.stdout.readline()
            wait_for_pass(agent_home)
            out, err = loop.communicate("And who uses it?\n", timeout=60)
            assert ("Done.\n", "") == (out, err)
        assert "recall(" in check(provider)
        check_replies(provider, url)
