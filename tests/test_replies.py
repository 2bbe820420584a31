"""Reading a reply on its way."""

import json
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proxy_world import Turn, events, whole

from context_guard.formats.codec import CODECS
from context_guard.formats.message_list import entry_ids
from context_guard.formats.replies import open_reply
from context_guard.proxy_routes import Api
from context_guard.transcript import Usage

APIS: tuple[Api, ...] = get_args(Api)
TURNS = (Turn("In line 142: „naïve“ 🙂."), Turn(call_id="call_1", args=(("q", "nee\ndle"),)))

USAGES: dict[Api, Usage] = {
    "anthropic": Usage(input=100, output=5, cache_read=70, cache_write=20),
    "openai-chat": Usage(input=30, output=5, cache_read=70),
    "openai-responses": Usage(input=30, output=5, cache_read=70),
}


def read(api: Api, kind: str, *pieces: bytes) -> object:
    reader = open_reply(api, kind)
    for piece in pieces:
        reader.feed(piece)
    return reader.close()


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("api", APIS)
def test_a_reply_is_the_message_that_the_agent_sends_back(api: Api, turn: Turn) -> None:
    """Streamed or whole: the same entry, hence the same id, and whether the run has ended."""
    codec = CODECS[api]
    expected = entry_ids(codec.read(turn.message(api)).unwrap())
    for kind, pieces in (
        ("text/event-stream; charset=utf-8", events(api, turn)),
        ("application/json", [whole(api, turn)]),
    ):
        reader = open_reply(api, kind)
        for piece in pieces:
            reader.feed(piece)
        reply = reader.close()
        assert reply is not None
        assert expected == entry_ids(codec.read(json.loads(reply.messages)).unwrap())
        assert (not turn.call_id) == reply.ends_run
        written = 20 if api == "anthropic" else 0
        assert (
            Usage(input=100 if api == "anthropic" else 30, output=5, cache_read=70, cache_write=written) == reply.usage
        )


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(APIS), st.sampled_from(TURNS), st.data())
def test_pieces_may_be_cut_anywhere(api: Api, turn: Turn, data: st.DataObject) -> None:
    """Inside a character, between the two bytes of a line end: the reply is the same."""
    stream = b"".join(events(api, turn)).replace(b"\n", data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=9)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(api, "text/event-stream", *events(api, turn)) == read(api, "text/event-stream", *pieces)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(APIS), st.sampled_from(TURNS), st.data())
def test_half_a_reply_is_no_opinion(api: Api, turn: Turn, data: st.DataObject) -> None:
    found = events(api, turn)
    least = 2 if api == "openai-chat" else 1  # there the last words are usage and the end mark
    shown = data.draw(st.integers(0, len(found) - 1 - least))
    assert read(api, "text/event-stream", *found[:shown]) is None
    assert read(api, "application/json", whole(api, turn)[:-1]) is None


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(APIS), st.sampled_from(["text/event-stream", "application/json", ""]), st.lists(st.binary()))
def test_what_cannot_be_read_is_no_opinion_and_no_error(api: Api, kind: str, pieces: list[bytes]) -> None:
    assert read(api, kind, *pieces) is None
    assert read(api, kind, *(b"data: " + piece + b"\n\n" for piece in pieces)) is None


@pytest.mark.parametrize(
    ("api", "event"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}),
        ("openai-chat", {"error": {"message": "overloaded"}}),
        ("openai-responses", {"type": "response.failed", "response": {}}),
    ],
)
def test_an_error_in_the_stream_is_no_opinion(api: Api, event: object) -> None:
    found = events(api, TURNS[0])
    failure = f"data: {json.dumps(event)}\n\n".encode()
    assert read(api, "text/event-stream", *found[:-1], failure, found[-1]) is None


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("anthropic", {"type": "message", "content": [{"type": "text", "text": "…"}], "stop_reason": "max_tokens"}),
        ("anthropic", {"type": "message", "content": [{"type": "text", "text": "…"}], "stop_reason": "pause_turn"}),
        ("openai-chat", {"choices": [{"message": {"role": "assistant", "content": "…"}, "finish_reason": "length"}]}),
        ("openai-responses", {"object": "response", "output": [{"type": "shell_call", "call_id": "c"}]}),
        ("openai-responses", {"object": "response", "output": [{"type": "mcp_approval_request", "id": "a"}]}),
    ],
)
def test_what_was_cut_off_or_waits_ends_no_run(api: Api, body: object) -> None:
    reader = open_reply(api, "application/json")
    reader.feed(json.dumps(body).encode())
    reply = reader.close()
    assert reply is not None
    assert not reply.ends_run
