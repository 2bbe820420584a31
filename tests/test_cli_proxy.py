"""`context-guard proxy` and `watch` as programs."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import complaint, guard
from proxy_program import ROOT, judged, send, started
from proxy_world import Provider, Turn, events, result_of, streamed, until

from context_guard.text import MARKER
from context_guard_effects.store import open_store
from context_guard_effects.testing import made_output, noted_id

ANSWER = Turn("The needle is in src/one/part_142.py, line 142.")
OUTPUT = made_output("one", 1_000)
"""The embedded judge leaves a smaller run as it is."""
RUN: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is the NEEDLE?"},
    *Turn(call_id="call_1").message("anthropic"),
    *result_of("anthropic", "call_1", OUTPUT),
]
NEXT = [*RUN, *ANSWER.message("anthropic"), {"role": "user", "content": "Thanks. And?"}]


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    made.script[:] = [streamed(events("anthropic", ANSWER))]
    yield made
    made.close()


def test_a_proxy_that_is_killed_goes_on_with_the_same_edits(provider: Provider, tmp_path: Path) -> None:
    """kill -9 in the middle of a conversation: its successor sends the same bytes, and recall has the original."""
    store = tmp_path / "store.db"
    with started(provider, "--store", str(store)) as (process, client):
        send(client, RUN)
        until(lambda: judged(client))
        send(client, NEXT)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with started(provider, "--store", str(store)) as (_, client):
        send(client, NEXT)
        shown = watch(str(client.base_url))
    _, before, after = (asked.body for asked in provider.asked)
    assert before == after
    assert MARKER in after.decode()
    note = noted_id(json.loads(after)["messages"], "anthropic")
    assert OUTPUT == guard("recall", note, "--raw", "--store", store).stdout
    assert "1 request, 48.5 kB kept out" in shown
    assert "model-1" in shown


def watch(address: str) -> str:
    return guard("watch", address, "--once").stdout


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for children in listed for child in children.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only here a process's children are told")
def test_what_judges_may_die(provider: Provider, tmp_path: Path) -> None:
    """Requests go on, the problem is told, and the next pass has a new process."""
    with started(provider, "--store", str(tmp_path / "store.db"), "--quiet") as (process, client):
        send(client, RUN)
        until(lambda: judged(client))
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.2)
        other = json.loads(json.dumps(RUN).replace("part_", "other_"))
        assert 200 == send(client, other).status_code
        until(lambda: len(judged(client)) == 2)


def test_it_ends_when_it_is_told_to(provider: Provider, tmp_path: Path) -> None:
    with started(provider, "--store", str(tmp_path / "store.db")) as (process, client):
        assert "ok\n" == client.get("/healthz").text
        process.terminate()
        assert 0 == process.wait(timeout=30)


def test_it_ends_when_what_is_on_the_way_has_come(provider: Provider, tmp_path: Path) -> None:
    """Told to end in the middle of a reply: the agent gets all of it, the run is judged, and nothing new is taken."""
    pieces = events("anthropic", ANSWER)
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(20)

    provider.script[:] = [streamed(pieces, then=wait)]
    with started(provider, "--store", str(tmp_path / "store.db")) as (process, client), ThreadPoolExecutor(1) as agent:
        reply = agent.submit(send, client, RUN)
        assert begun.wait(20)
        process.terminate()
        until(lambda: refuses(str(client.base_url)))
        go_on.set()
        assert b"".join(pieces) == reply.result(20).content
        assert 0 == process.wait(timeout=30)
    with open_store(tmp_path / "store.db") as store:
        assert 1 == store.status().passes


def refuses(address: str) -> bool:
    try:
        httpx.get(f"{address}/healthz", trust_env=False)
    except httpx.ConnectError:
        return True
    return False


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "no port": (("--listen", "localhost"), 2, "HOST:PORT"),
    "others could ask": (("--listen", "0.0.0.0:0"), 2, "--token"),
    "no address": (("--upstream", "x=ftp://a"), 2, "https://"),
    "no name": (("--upstream", "https://a.example"), 2, "NAME=URL"),
    "a name that paths begin with": (("--upstream", "v1=https://a.example"), 2, "v1"),
    "a key in the address": (("--upstream", "x=https://user:pw@a.example"), 2, "leave that out"),
    "the same name twice": (("--upstream", "x=http://a", "--upstream", "x=http://b"), 2, "same name"),
    "no judge": (("--judge", "nobody"), 2, "nobody"),
    "no store": (("--store", str(ROOT / "pyproject.toml")), 3, "pyproject.toml"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_start_is_told_before_anything_listens(name: str, tmp_path: Path) -> None:
    words, code, says = WRONG[name]
    given = words if "--store" in words else (*words, "--store", str(tmp_path / "store.db"))
    ended = guard("proxy", *given)
    assert code == ended.exit_code
    assert says in complaint(ended)


def test_without_its_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_guard_effects.proxy.PACKAGES", ("hypercorn", "no_such_package"))
    assert "no_such_package is not installed: pip install 'context-guard[proxy]'" in complaint(guard("proxy"))


def test_watch_says_where_it_looked() -> None:
    ended = guard("watch", "http://127.0.0.1:9")
    assert 3 == ended.exit_code
    assert "http://127.0.0.1:9" in complaint(ended)
