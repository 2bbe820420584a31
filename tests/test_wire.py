"""What the model sees of a transcript in the three wire formats, beside what Pi really sent for the same session."""

import gzip
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from build import answer, call, calls, note, prompt, result, session, summary
from shared_data import SHARED, needs_shared

from context_guard.formats.pi import read
from context_guard.formats.pi_session import parse
from context_guard.formats.wire import to_anthropic, to_openai_chat, to_openai_responses
from context_guard.transcript import Model, Thinking, Transcript, calls_of
from context_guard.validate import validate_anthropic, validate_openai_chat, validate_openai_responses

PAYLOADS = SHARED / "pi" / "payloads"
SESSIONS = [path.name for path in sorted(PAYLOADS.iterdir())] if PAYLOADS.is_dir() else []
WRITE = {"anthropic": to_anthropic, "openai": to_openai_chat}


@needs_shared
@pytest.mark.parametrize("name", SESSIONS)
def test_the_messages_are_those_that_pi_sent(name: str) -> None:
    """Roles, calls, results, texts, thinking and pictures of every real request are those of its branch then."""
    checked = 0
    for path in sorted((PAYLOADS / name).glob("*.json.gz")):
        with gzip.open(path) as file:
            body = json.load(file)["body"]
        if "tools" not in body:
            continue  # a request for a summary has a prompt of its own
        sent = skeleton(body["messages"])
        known = skeletons(name, "anthropic" if "anthropic" in path.name else "openai")
        if (body.get("thread") or {}).get("type") == "continue":
            assert any(rows[-len(sent) :] == sent for rows in known), path.name
        else:
            assert sent in known, path.name
        checked += 1
    assert checked


@needs_shared
@pytest.mark.parametrize("name", [name for name in SESSIONS if name != "11-offline-images"])
def test_every_real_state_passes_the_validators(name: str) -> None:
    """No branch of a real session shows a provider anything that it refuses."""
    for transcript in states(name):
        if "11-offline" not in name or is_whole(transcript):
            assert_valid(transcript)


@needs_shared
def test_half_of_an_omitted_exchange_is_found() -> None:
    """Between the lines of an omitted exchange a result stands without its call: exactly those states are refused."""
    broken = [transcript for transcript in states("11-offline-images") if not is_whole(transcript)]
    (problem,) = validate_anthropic(to_anthropic(broken[0]))
    assert problem.message == "No call in the message before belongs to the results of 'toolu_fake000084'."
    assert len(broken) == 1


def test_neighbouring_results_are_one_message() -> None:
    """Anthropic wants all results of a batch in the next message, the chat API in messages of their own."""
    transcript = session(prompt("Go"), calls(("bash", {}), ("read", {})), result("a"), result("b"), answer("Done."))
    assert roles(to_anthropic(transcript)) == ["user", "assistant", "user", "assistant"]
    assert roles(to_openai_chat(transcript)) == ["user", "assistant", "tool", "tool", "assistant"]
    assert_valid(transcript)


def test_a_call_without_a_result_gets_one() -> None:
    """A call that nobody answered before the next instruction is answered by a synthetic error."""
    transcript = session(prompt("Go"), calls(("bash", {}), ("read", {})), result("a"), prompt("Stop that"), call("ls"))
    results = [block for message in to_anthropic(transcript) for block in message["content"]]
    assert [it["content"] for it in results if "content" in it] == ["a", "No result provided", "No result provided"]
    assert_valid(transcript)


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_failed_message_is_left_out(stop: str) -> None:
    """What the model was saying when it failed is not sent again, its half-made calls included."""
    failed = msgspec.structs.replace(call("bash", says="I was about to"), stop=stop)
    transcript = session(prompt("Go"), failed, prompt("Again"), answer("Done."))
    assert roles(to_anthropic(transcript)) == ["user", "user", "assistant"]
    assert_valid(transcript)


def test_notes_summaries_and_shell_commands_are_user_messages() -> None:
    """All that is neither the assistant's nor a tool's reaches the model as the user's."""
    transcript = session(summary("We began."), note("Mind the gap."), prompt("Go"), answer("Done."))
    assert roles(to_anthropic(transcript)) == ["user", "user", "user", "assistant"]
    assert "<summary>\nWe began.\n</summary>" in to_anthropic(transcript)[0]["content"][0]["text"]
    assert_valid(transcript)


def test_a_picture_of_a_failed_call_follows_the_results() -> None:
    """A result that reports a failure may hold nothing but text."""
    transcript = session(prompt("Go"), call("shot"), result("no", error=True, images=1), answer("Done."))
    assert [block["type"] for block in to_anthropic(transcript)[2]["content"]] == ["tool_result", "image"]
    assert_valid(transcript)


def test_thinking_of_another_model_is_left_out() -> None:
    """Only the model that signed its thinking can read it."""
    transcript = session(prompt("Go"), answer("Done.", thinking="Hm"))
    other = msgspec.structs.replace(transcript, model=Model("openai", "gpt", "openai-responses"))
    assert len(to_anthropic(transcript)[1]["content"]) == 2
    assert len(to_anthropic(other)[1]["content"]) == 1


def test_reasoning_stands_in_front_of_its_call() -> None:
    """The reasoning item of the Responses API is sent back as it came; another API's signature is not."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    made = call("bash", id="call_1|fc_1")
    thinking = (Thinking("", json.dumps(item)), Thinking("Hm", "c2ln"))
    transcript = session(prompt("Go"), msgspec.structs.replace(made, raw=(*thinking, *made.raw)), result("a"))
    rows = to_openai_responses(transcript)
    assert item == rows[1]
    assert [row["call_id"] for row in rows if "call_id" in row] == ["call_1", "call_1"]
    assert rows[2]["id"] == "fc_1"
    assert_valid(transcript)


def test_half_a_pair_is_never_sent() -> None:
    """A lone surrogate in a text, a result or an argument, escaped or not, becomes U+FFFD."""
    made = call("bash", {"command": "echo \ud83d", "\udc00": 1})
    transcript = session(prompt("Go \ud83d"), made, result("out \udc00"), answer("\ud800"))
    assert_valid(transcript)
    json.dumps([to_anthropic(transcript), to_openai_chat(transcript)], ensure_ascii=False).encode()


def assert_valid(transcript: Transcript) -> None:
    assert validate_anthropic(to_anthropic(transcript)) == ()
    assert validate_openai_chat(to_openai_chat(transcript)) == ()
    assert validate_openai_responses(to_openai_responses(transcript)) == ()


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


@cache
def states(name: str) -> tuple[Transcript, ...]:
    """Every state of the sessions that a folder of requests belongs to: one for each of their entries."""
    found: list[Transcript] = []
    for path in sorted((SHARED / "pi").glob(f"{name}*.jsonl")):
        data = path.read_bytes()
        found += (read(data, entry["id"]).unwrap() for entry in parse(data).unwrap().entries)
    return tuple(found)


def is_whole(transcript: Transcript) -> bool:
    """Whether no line of an omitted exchange is still to come: its result is gone too when its call is."""
    calls = {call.id for entry in transcript.entries for call in calls_of(entry.visible)}
    results = {entry.result.call_id for entry in transcript.entries if entry.result is not None}
    return results <= calls


@cache
def skeletons(name: str, api: str) -> list[list[tuple[Any, ...]]]:
    return [skeleton(WRITE[api](transcript)) for transcript in states(name)]


def skeleton(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What matters of the messages: no breakpoints, no system prompt, no bytes of pictures, no capitals of tools."""
    return [(it["role"], *blocks_of(it)) for it in messages if it["role"] not in ("system", "developer")]


def blocks_of(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    content = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    rows = [block_row(block) for block in blocks]
    for made in message.get("tool_calls", []):
        rows.append(("call", made["id"], made["function"]["name"], json.loads(made["function"]["arguments"])))
    return [*rows, message.get("tool_call_id", "")]


def block_row(block: dict[str, Any]) -> tuple[Any, ...]:
    match block["type"]:
        case "text":
            return ("text", block["text"])
        case "thinking":
            return ("thinking", block["thinking"], block["signature"])
        case "tool_use":
            return ("call", block["id"], block["name"].lower(), block["input"])
        case "tool_result":
            content = block["content"]
            inner = content if isinstance(content, str) else [block_row(it) for it in content]
            return ("result", block["tool_use_id"], bool(block.get("is_error")), inner)
        case kind:
            return ("image",) if "image" in kind else (kind,)
