"""Proxies side by side on one store: an agent's requests may go through any of them."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import needs_postgres  # noqa: F401
import pytest
import trio
from msgspec import Struct
from proxy_program import ENV, send, started
from proxy_world import Asked, Provider, Turn, World, plain, result_of, running, until, whole
from returns.result import Result

from context_guard.answers import Answers, Unanswered
from context_guard.requests import Request
from context_guard.text import MARKER
from context_guard_effects.proxy import settling
from context_guard_effects.store import Server, given_as, open_store
from context_guard_effects.store.clock import now_ms
from context_guard_effects.store.postgres import open_postgres
from context_guard_effects.store.postgres.store import PostgresStore
from context_guard_effects.testing import KeepJudge, made_output
from outside.postgres_server import Missing, running_cluster
from outside.postgres_stores import Databases, environment

pytestmark = pytest.mark.outside
ANSWER = Turn("Line 142 holds the NEEDLE.")


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    try:
        with running_cluster() as cluster:
            yield Databases(cluster)
    except Missing as error:
        pytest.skip(f"PostgreSQL is needed: {error}")


@pytest.fixture
def place(databases: Databases) -> Server:
    return databases.place("app")


class Slow(KeepJudge):
    """So slow that proxies meet over the same run."""

    async def __call__(self, request: Request) -> Result[Answers, Unanswered]:
        await trio.sleep(0.01)
        return await super().__call__(request)


class Conversation(Struct, frozen=True):
    name: str

    @property
    def run(self) -> list[dict[str, Any]]:
        call = Turn(call_id="call_1", args=(("q", self.name),)).message("anthropic")
        asked = {"role": "user", "content": f"Where is the needle of {self.name}?"}
        return [asked, *call, *result_of("anthropic", "call_1", made_output(self.name))]

    @property
    def next(self) -> list[dict[str, Any]]:
        return [*self.run, *ANSWER.message("anthropic"), {"role": "user", "content": "And what does it say?"}]


def test_a_hundred_conversations_over_two_proxies(place: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request goes to either, some to both at once: every run is judged once, a conversation that was edited stays
    so with the same bytes, whichever proxy sends it."""
    monkeypatch.setattr(settling, "ELSEWHERE_MS", 300)
    provider = Provider()
    provider.script[:] = [plain(whole("anthropic", ANSWER))]
    conversations = [Conversation(f"c{n}") for n in range(100)]
    with open_store(place) as first, open_store(place) as second:
        with (
            running(provider, first, Slow("NEEDLE")) as one,
            running(provider, second, Slow("NEEDLE")) as two,
            ThreadPoolExecutor(8) as agents,
        ):
            worlds = one, two
            list(agents.map(lambda it: talk(worlds, it), conversations))
            for world in worlds:
                world.settled()
            for start in range(0, len(conversations), 20):  # a queue holds 32: those that found no room are judged now
                for at, conversation in enumerate(conversations[start : start + 20]):
                    worlds[at % 2].post("anthropic", conversation.next)
                for world in worlds:
                    world.settled()
            for conversation in conversations:
                for world in worlds:
                    assert 200 == world.post("anthropic", conversation.next).status_code
            told = [line for world in worlds for line in world.log.getvalue().splitlines() if "problem" in line]
            problems = [line for line in told if "more runs end than can be judged" not in line]
        assert [] == problems
        assert 100 == first.status().passes
    check_sent(provider)
    provider.close()


def check_sent(provider: Provider) -> None:
    """Each conversation ended with the same edited bytes from both proxies, and stayed edited once it was."""
    sent = bodies_of(provider.asked)
    assert 100 == len(sent)
    assert [] == [bodies for bodies in sent if len(set(bodies[-2:])) != 1 or MARKER not in bodies[-1].decode()]
    assert [] == [bodies for bodies in sent if not stays(bodies)]


def talk(worlds: tuple[World, World], conversation: Conversation) -> None:
    """One agent: a run, sent twice at once where its client is impatient, and prompts behind it."""
    dice = random.Random(conversation.name)
    ways = dice.sample(worlds, dice.choice((1, 1, 2)))
    posts = [threading.Thread(target=world.post, args=("anthropic", conversation.run)) for world in ways]
    for post in posts:
        post.start()
    for post in posts:
        post.join()
    for _ in range(4):
        time.sleep(dice.uniform(0, 0.05))
        assert 200 == dice.choice(worlds).post("anthropic", conversation.next).status_code


def bodies_of(asked: list[Asked]) -> list[list[bytes]]:
    """Of the requests behind each run, as the provider got them."""
    found: dict[str, list[bytes]] = {}
    for it in asked:
        messages = it.json["messages"]
        if len(messages) == len(Conversation("").next):
            found.setdefault(messages[0]["content"], []).append(it.body)
    return list(found.values())


def stays(bodies: list[bytes]) -> bool:
    """As the agent sent it until the edits hold, and with the same bytes ever after."""
    edited = [MARKER in body.decode() for body in bodies]
    return edited == sorted(edited) and len(set(bodies)) <= 2


class Long(Conversation, frozen=True):
    """With an output that the embedded judge cuts."""

    @property
    def run(self) -> list[dict[str, Any]]:
        *asked, _ = super().run
        return [*asked, *result_of("anthropic", "call_1", made_output(self.name, 1_000))]


def test_a_hundred_conversations_over_two_programs_of_which_one_is_killed(place: Server) -> None:
    """kill -9 in the middle: what it was judging or had yet to judge is judged by the other or by its successor, once,
    and both send every conversation with the same bytes."""
    named = {**ENV, **environment(), "CONTEXT_GUARD_STORE": given_as(place)}
    provider = Provider()
    provider.script[:] = [plain(whole("anthropic", ANSWER))]
    conversations = [Long(f"c{n}") for n in range(100)]
    with open_store(place) as store, started(provider, "--quiet", env=named) as (_, stays_up):
        with started(provider, "--quiet", env=named) as (process, dies):
            for at, conversation in enumerate(conversations[:50]):
                send((dies, stays_up)[at % 2], conversation.run)
            until(lambda: store.status().passes >= 5)
            process.kill()
            process.wait()
        with started(provider, "--quiet", env=named) as (_, successor):
            ways = stays_up, successor
            for at, conversation in enumerate(conversations[50:]):
                send(ways[at % 2], conversation.run)
            until(lambda: not any(map(queued, ways)))
            for start in range(0, len(conversations), 10):  # those of which a queue had no room, or was lost
                for at, conversation in enumerate(conversations[start : start + 10]):
                    assert 200 == send(ways[at % 2], conversation.next).status_code
                until(lambda: not any(map(queued, ways)))
            for conversation in conversations:
                for client in ways:
                    assert 200 == send(client, conversation.next).status_code
        assert () == store.check()
        assert 100 == store.status().passes
    check_sent(provider)
    provider.close()


def queued(client: httpx.Client) -> int:
    found: int = client.get("/context-guard/status").json()["queued"]
    return found


CLAIMING = """
import time
from context_guard_effects.store import open_store
store = open_store()
claim = store.claim("run x")
print("ready", flush=True)
time.sleep(60)
"""


def take(store: PostgresStore, found: list[Callable[[], None]]) -> bool:
    found += filter(None, [store.claim("run x")])
    return bool(found)


def test_a_claim_ends_with_its_process(place: Server) -> None:
    """kill -9 in the middle of judging: another may do it at once. Who asks meanwhile is told that somebody has it."""
    named = {**environment(), "CONTEXT_GUARD_STORE": given_as(place)}
    with open_postgres(place, now_ms) as store:
        with subprocess.Popen([sys.executable, "-c", CLAIMING], env=named, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert None is store.claim("run x")
            other = store.claim("run y")
            assert other is not None
            other()
            process.send_signal(signal.SIGKILL)
        found: list[Callable[[], None]] = []
        until(lambda: take(store, found))
        assert None is store.claim("run x")
        found[0]()
        again = store.claim("run x")
        assert again is not None
        again()
