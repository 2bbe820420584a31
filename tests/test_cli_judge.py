"""`judge check` and `stage requests --judge`: whether a judge can be asked, and what it would be told."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trio
from judge_requests import run

from context_guard_effects.testing import FAULTS, FakeSystemOne, fake_system_one

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "pi-search.jsonl"

Done = subprocess.CompletedProcess[bytes]


def guard(*words: str, **environment: str) -> Done:
    """The command in a process of its own, as a user runs it, with no key but those given."""
    clean = {
        name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_KEY", "_PROXY", "_proxy"))
    }
    return subprocess.run(
        [sys.executable, "-m", "context_guard_effects.cli", *words],
        capture_output=True,
        env=clean | {"PYTHONPATH": f"{ROOT / 'pipeline'}{os.pathsep}{ROOT / 'effects'}"} | environment,
        check=False,
        timeout=60,
    )


def against(
    words: Callable[[FakeSystemOne], tuple[str, ...]], fault: str = "", **environment: str
) -> tuple[Done, FakeSystemOne]:
    """The command beside a fake server, and that server afterwards."""

    async def test() -> tuple[Done, FakeSystemOne]:
        async with fake_system_one() as server:
            server.always = FAULTS[fault] if fault else None
            given = {"TYPESAFE_BASE_URL": server.url, "TYPESAFE_API_KEY": server.key} | environment
            return await trio.to_thread.run_sync(partial(guard, *words(server), **given)), server

    return run(test)


def check(*words: str) -> Callable[[FakeSystemOne], tuple[str, ...]]:
    return lambda _: ("judge", "check", *words)


def test_a_judge_that_answers() -> None:
    """Who answered, how many questions, how fast, tokens, cost: one line."""
    done, server = against(check("--judge", "jev"))
    assert (done.returncode, done.stderr) == (0, b"")
    line = done.stdout.decode()
    assert line.startswith("typesafe/jev-1.13.0 answered 4 of 4 questions in ")
    assert " input tokens, $0.0000" in line
    assert line.count("\n") == 1
    assert server.requests[0].headers["authorization"] == f"Bearer {server.key}"


def test_the_local_judge_can_be_tried_too() -> None:
    done = guard("judge", "check")
    assert done.returncode == 0
    line = done.stdout.decode()
    assert line.startswith("local/trained-1 answered 4 of 4 questions in ")
    assert " ms, at no cost; P(needed) is " in line


@pytest.mark.parametrize("reference", ["local+jev", "jev,local"])
def test_of_two_judges_each_is_tried(reference: str) -> None:
    """A line each; the remote one is asked even where the embedded one would be sure, and its failure is told."""
    done, server = against(check("--judge", reference))
    assert [line.partition(" ")[0] for line in done.stdout.decode().splitlines()] == [
        "local/trained-1",
        "typesafe/jev-1.13.0",
    ]
    assert len(server.requests) == 1
    failed, _ = against(check("--judge", reference), TYPESAFE_API_KEY="")
    assert failed.returncode == 5
    assert failed.stdout.startswith(b"local/trained-1 answered")
    assert failed.stderr.startswith(b"context-guard: typesafe/jev-1.13.0: TYPESAFE_API_KEY is not set (--judge local")


@pytest.mark.parametrize(
    ("words", "fault", "environment", "says"),
    [
        (("--judge", "jev"), "", {"TYPESAFE_API_KEY": ""}, "TYPESAFE_API_KEY is not set"),
        (
            ("--judge", "jev"),
            "",
            {"TYPESAFE_API_KEY": "wrong-1234"},
            "http 401 authentication_error: the key is not accepted",
        ),
        (("--judge", "jev/jev-0"), "http 400 usage", {}, "http 400 api_usage_error: Unknown model: jev-0"),
        (
            ("--judge", "jev"),
            "",
            {"TYPESAFE_BASE_URL": "http://127.0.0.1:9"},
            "no route to 127.0.0.1:9: connection refused\n",
        ),
        (("--judge", "jev"), "http 404", {}, "http 404 not_found: no such path or model: check the address"),
        (("--judge", "jev", "--set", "timeoutMs=500"), "never", {}, "no answer within 0.5 s"),
        (("--judge", "jev"), "html", {}, "the reply is not JSON"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    words: tuple[str, ...], fault: str, environment: dict[str, str], says: str
) -> None:
    done, _ = against(check(*words), fault, **environment)
    told = done.stderr.decode()
    assert done.returncode == 5
    assert says in told
    assert told.count("\n") == 1
    assert "wrong-1234" not in told


def test_tls_is_told() -> None:
    async def test() -> Done:
        async with fake_system_one() as server:
            url = server.url.replace("http:", "https:")
            return await trio.to_thread.run_sync(partial(guard, "judge", "check", "--judge", f"{url}/v1#m"))

    done = run(test)
    assert done.returncode == 5
    assert b"no TLS with 127.0.0.1" in done.stderr


def test_a_reference_that_is_none_is_a_mistake_of_usage() -> None:
    done = guard("judge", "check", "--judge", "nobody")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_requests_are_shown_byte_for_byte() -> None:
    """`stage requests --judge jev` without a key, then a pass with one: the lines are the bodies that arrived."""
    shown = guard("stage", "requests", str(EXAMPLE), "--judge", "jev")
    assert shown.returncode == 0
    _, server = against(lambda _: ("distill", str(EXAMPLE), "--judge", "jev"))
    sent = sorted(request.raw for request in server.requests)
    assert sent
    assert sorted(shown.stdout.splitlines()) == sent
    assert all(json.loads(line)["model"] == "jev-1.13.0" for line in shown.stdout.splitlines())


def test_a_chain_shows_only_what_is_left_to_ask() -> None:
    shown = guard("stage", "requests", str(EXAMPLE), "--judge", "local+jev")
    _, server = against(lambda _: ("distill", str(EXAMPLE), "--judge", "local+jev"))
    assert sorted(shown.stdout.splitlines()) == sorted(request.raw for request in server.requests)
    everything = guard("stage", "requests", str(EXAMPLE), "--judge", "jev")
    assert len(shown.stdout) < len(everything.stdout)


def test_without_a_remote_judge_the_stage_is_shown() -> None:
    """Nothing would leave: the stage's own values, as without --judge."""
    assert (
        guard("stage", "requests", str(EXAMPLE), "--judge", "local").stdout
        == guard("stage", "requests", str(EXAMPLE)).stdout
    )


def test_the_record_holds_who_answered() -> None:
    done, _ = against(lambda _: ("distill", str(EXAMPLE), "--json", "--judge", "jev/jev-latest"))
    assert json.loads(done.stdout)["judge"] == "typesafe/jev-1.13.0"
