"""Pi asks the judge with its own log-in: what crosses the pipe, what comes back, and what is done when nothing does."""

import json
from pathlib import Path

import pytest
import trio
from bridge_client import Client, Json, agent_environment, bridge
from judge_requests import segment_request
from pi_sessions import calling, result, session_bytes, user
from test_bridge import MODEL, OUTPUT, said

from context_guard.answers import Answers, Unanswered
from context_guard.pi_classifier import read_pi_result, write_pi_request
from context_guard_effects.judges.resolve import host_provider

JEV = {"provider": "typesafe", "id": "jev-latest", "contextWindow": 64_000}
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def sync(tmp_path: Path) -> Json:
    file = tmp_path / "s.jsonl"
    text = [{"type": "text", "text": f"{OUTPUT}\ntoken {SECRET}"}]
    file.write_bytes(session_bytes(user("u", "Where?"), calling("a", "c"), result("r", "c", text), said("z", "There.")))
    return {"session": "s1", "file": str(file), "leaf": "z", "model": MODEL}


def answers_to(asked: Json) -> Json:
    """As Pi gives them: the first part of an output is wanted and nothing else."""
    found: Json = {}
    for name, question in asked["request"]["questions"].items():
        if question["type"] == "choice":
            share = {option: float(option == "chunk_1") for option in question["criteria"]}
            found[name] = {"type": "choice", "choice": "chunk_1", "probabilities": share, "confidence": 1}
        else:
            found[name] = {"type": "bool", "probability": 0.9 if name == "chunk_1" else 0.05}
    usage = {"input": 900, "output": 0, "totalTokens": 900, "cost": {"total": 0.25}}
    return {"answers": found, "usage": usage, "model": "jev-1.14.0", "stopReason": "stop"}


async def asked_by(pi: Client) -> Json:
    with trio.fail_after(20):
        while not (calls := [news for news in pi.news if news["event"] == "classify"]):
            await trio.sleep(0.1)
    return calls[-1]


async def test_pi_is_asked_where_the_environment_has_no_key(tmp_path: Path, sync: Json) -> None:
    """The reply to the greeting says of which provider; a masked copy goes out, answers and price come in."""
    async with bridge(agent_environment(tmp_path, model="typesafe/jev-latest", timeoutMs=60_000)) as pi:
        assert (await pi.call("hello", sync=sync))["askPi"] == "typesafe"
        assert (await pi.call("hello", sync={**sync, "classifiers": [JEV]}))["warnings"] == []
        number = await pi.start("boundary", phase="run-end", sync=sync)
        asked = await asked_by(pi)
        assert ("typesafe", "jev-latest") == (asked["provider"], asked["id"])
        assert SECRET not in json.dumps(asked)
        for call in [news for news in pi.news if news["event"] == "classify"]:
            line = {"type": "classified", "call": call["call"], "result": answers_to(call)}
            await pi.send(json.dumps(line).encode() + b"\n")
        edit, record = (await pi.reply(number))["drafts"]
        assert (edit["type"], edit["targetId"]) == ("context_edit", "r")
        assert record["data"]["model"] == "typesafe/jev-1.14.0"
        assert record["data"]["costUsd"] >= 0.25


async def test_when_pi_does_not_answer_all_is_kept_and_pi_is_told_to_stop(tmp_path: Path, sync: Json) -> None:
    async with bridge(agent_environment(tmp_path, model="typesafe/jev-latest", timeoutMs=1_000)) as pi:
        await pi.call("hello", sync={**sync, "classifiers": [JEV]})
        reply = await pi.call("boundary", phase="run-end", sync=sync)
        assert [draft["type"] for draft in reply["drafts"]] == ["custom"]
        given_up = [news["call"] for news in pi.news if news["event"] == "give up"]
        assert given_up == [news["call"] for news in pi.news if news["event"] == "classify"]
        late = {"type": "classified", "call": given_up[0], "result": {"stopReason": "aborted"}}
        await pi.send(json.dumps(late).encode() + b"\n")
        assert "status" in await pi.call("status", sync=sync), "what comes too late is dropped"


@pytest.mark.parametrize(
    ("reference", "environment", "provider"),
    [
        ("typesafe/jev-latest", {}, "typesafe"),
        ("local+openrouter/~typesafe/jev-latest,local", {}, "openrouter"),
        ("cloudflare-workers-ai/jev", {}, "cloudflare-workers-ai"),
        ("typesafe/jev-latest", {"TYPESAFE_API_KEY": "k"}, ""),
        ("ollama/m", {}, ""),
        ("local", {}, ""),
        ("jev", {}, ""),
        ("http://127.0.0.1:8080/v1#m", {}, ""),
    ],
)
def test_pi_is_asked_for_a_provider_only_where_it_is_needed(
    reference: str, environment: dict[str, str], provider: str
) -> None:
    """Not with a key in the environment, for a server that needs none, or for a judge that is no provider's model."""
    assert provider == host_provider(reference, environment)


@pytest.mark.parametrize(
    ("given", "reason", "detail"),
    [
        ({"stopReason": "error", "errorMessage": "System One API error:\n401"}, "error", "System One API error: 401"),
        ({"stopReason": "aborted"}, "aborted", "Pi gave no answer"),
        ({}, "error", "Pi gave no answer"),
    ],
)
def test_what_is_no_answer_of_pis_is_none(given: Json, reason: str, detail: str) -> None:
    refused = read_pi_result(segment_request(), given).failure()
    assert isinstance(refused, Unanswered)
    assert (reason, detail) == (refused.reason, refused.detail)


def test_a_bad_answer_costs_only_itself() -> None:
    request = segment_request()
    given = answers_to({"request": write_pi_request(request)})
    given["answers"]["chunk_2"] = {"type": "bool", "probability": 7}
    del given["answers"]["chunk_3"]
    read = read_pi_result(request, given).unwrap()
    assert isinstance(read, Answers)
    assert read.yes_no("chunk_1") == 0.9
    assert read.yes_no("chunk_2") is None
    assert read.yes_no("chunk_3") is None
    assert read.usage.cost_usd == 0.25
