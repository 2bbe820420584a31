"""What the three providers refuse: each rule by the smallest list that breaks it, beside one that is in order."""

from typing import Any

import pytest

from context_guard.validate import validate_anthropic, validate_openai_chat, validate_openai_responses

Json = dict[str, Any]

PNG = "iVBORw0KGgo="


def said(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def use(id: Any = "t1", **more: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": "bash", "input": {}, **more}


def output(id: str = "t1", content: Any = "out", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def think(signature: str = "c2ln") -> Json:
    return {"type": "thinking", "thinking": "Hm", "signature": signature}


def picture(**source: Any) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG, **source}}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks) or "Go"}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
EFFORT = {"role": "system", "content": [], "output_config": {"effort": "high"}}

GOOD_ANTHROPIC: list[list[Json]] = [
    [],
    [user()],
    [user(), assistant(think(), said("a"), use()), user(output())],
    [user(), assistant(use("t1"), use("t2")), user(output("t2"), output("t1"), said("and"), picture())],
    [user(), assistant(use()), user(output(content=[said("a"), picture()]))],
    [user(), assistant(use()), user(output(content=""))],
    [user(), assistant(use()), user(output(content=[]), said("steer"))],
    [user(), EFFORT, assistant(use()), user(output()), EFFORT],
    [user(said(" "), said("a"))],
    [user(said("a", **HOUR)), assistant(said("b")), user(said("c", **MARK))],
    [user(), user(), assistant(said("a")), assistant(said("b"))],
    [user(picture(type="url", url="https://example.com/a.png"))],
]

BAD_ANTHROPIC: list[tuple[list[Json], str, str]] = [
    ([assistant(said("a"))], "messages[0]", "first message"),
    ([{"role": "tool", "content": "a"}, user()], "messages[0]", "The role is 'tool'"),
    ([user(), assistant(use()), user(said("a"))], "messages[1]", "results of 't1'"),
    ([user(), assistant(use())], "messages[1]", "results of 't1'"),
    ([user(), assistant(use()), user(), user(output())], "messages[1]", "results of 't1'"),
    ([user(), assistant(use("t1"), use("t2")), user(output("t1"))], "messages[1]", "results of 't2'"),
    ([user(), assistant(said("a")), user(output())], "messages[2]", "No call in the message before"),
    ([user(output())], "messages[0]", "No call in the message before"),
    ([user(), assistant(use()), user(output(), output())], "messages[2]", "more than one result"),
    ([user(), assistant(use()), user(said("a"), output())], "messages[2]", "before everything else"),
    ([user(), assistant(use("t1"), use("t1")), user(output())], "messages[1]", "used twice"),
    ([user(), assistant(use()), user(output()), assistant(use()), user(output())], "messages[3]", "used twice"),
    ([user(), assistant(use("a|b")), user(output("a|b"))], "messages[1]", "letters, digits"),
    ([user(), assistant(use(None)), user()], "messages[1]", "letters, digits"),
    ([user(use())], "messages[0]", "Only an assistant"),
    ([user(), assistant(use(input="x")), user(output())], "messages[1].content[0]", "no object"),
    ([user(), assistant(said("a"), think(), use()), user(output())], "messages[1]", "begin with its thinking"),
    ([user(), assistant(said("a"), think()), user()], "messages[1]", "cannot be thinking"),
    ([user(), assistant(think(""), said("a")), user()], "messages[1].content[0]", "no signature"),
    ([user(), assistant({"type": "redacted_thinking"}, said("a"))], "messages[1].content[0]", "no data"),
    ([{"role": "user", "content": ""}], "messages[0]", "no text"),
    ([{"role": "user", "content": []}], "messages[0]", "empty"),
    ([{"role": "user"}], "messages[0]", "empty"),
    ([user(said(""), said("a"))], "messages[0].content[0]", "text block is empty"),
    ([user(said(" \n"))], "messages[0]", "nothing but white space"),
    ([user(), assistant(use()), user(output(content=[said("")]))], "messages[2].content[0].content[0]", "is empty"),
    ([user(), assistant(use()), user(output(content=3))], "messages[2].content[0]", "neither a text nor"),
    (
        [user(), assistant(use()), user(output(content=[picture()], is_error=True))],
        "messages[2].content[0].content[0]",
        "nothing but text",
    ),
    ([user(), assistant(use()), user(output(content=[think()]))], "messages[2].content[0].content[0]", "cannot stand"),
    ([user(), assistant(said("a "))], "messages[1]", "white space"),
    ([user(said("\ud83d"))], "messages[0].content[0].text", "surrogate"),
    ([user(), assistant(use(input={"\udc00": 1})), user(output())], "messages[1].content[0].input (a key)", "pair"),
    ([user(picture(media_type="image/bmp"))], "messages[0].content[0]", "'image/bmp'"),
    ([user(picture(data=""))], "messages[0].content[0]", "no base64"),
    ([user(picture(data="line:3/1"))], "messages[0].content[0]", "no base64"),
    ([user({"type": "image"})], "messages[0].content[0]", "no source"),
    ([user({"text": "a"})], "messages[0].content[0]", "no type"),
    ([user(*[said("a", **MARK)] * 5)], "messages", "5 breakpoints"),
    ([user(said("a", **MARK), said("b", **HOUR))], "messages[0].content[1]", "one hour"),
    ([user(said("a", cache_control={"type": "ephemeral", "ttl": "2h"}))], "messages[0].content[0]", "ttl"),
    ([user(), assistant({**think(), **MARK}, said("a")), user()], "messages[1].content[0]", "breakpoint"),
    ([user(), EFFORT, user()], "messages[1]", "must precede an assistant"),
]


def chat_call(id: Any = "c1", **function: Any) -> Json:
    return {"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}", **function}}


def asks(*calls: Json, content: Any = None) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def tool(id: str = "c1", content: Any = "out") -> Json:
    return {"role": "tool", "tool_call_id": id, "content": content}


GO: Json = {"role": "user", "content": "Go"}

GOOD_CHAT: list[list[Json]] = [
    [],
    [{"role": "system", "content": "Be brief."}, GO],
    [GO, asks(chat_call()), tool(), {"role": "assistant", "content": "Done."}],
    [GO, asks(chat_call("c1"), chat_call("c2"), content=""), tool("c2"), tool("c1", ""), GO],
    [GO, asks(chat_call()), tool(), asks(chat_call()), tool()],
    [{"role": "user", "content": [said("a"), {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}]}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]}],
]

BAD_CHAT: list[tuple[list[Json], str, str]] = [
    ([{"role": "function", "content": "a"}], "messages[0]", "'function'"),
    ([GO, asks(chat_call()), GO], "messages[2]", "Tool messages for 'c1'"),
    ([GO, asks(chat_call())], "messages[2]", "Tool messages for 'c1'"),
    ([GO, asks(chat_call("c1"), chat_call("c2")), tool("c1"), GO], "messages[3]", "Tool messages for 'c2'"),
    ([GO, tool()], "messages[1]", "No call right before"),
    ([GO, asks(chat_call()), tool(), GO, tool()], "messages[4]", "No call right before"),
    ([GO, asks(chat_call()), tool(), tool()], "messages[3]", "more than one result"),
    ([GO, asks(chat_call(), chat_call()), tool(), tool()], "messages[1]", "more than once"),
    ([GO, asks(chat_call("")), tool("")], "messages[1].tool_calls[0]", "no id"),
    ([GO, asks(chat_call(arguments={})), tool()], "messages[1].tool_calls[0]", "as a text"),
    ([{**GO, "tool_calls": [chat_call()]}, tool()], "messages[0]", "Only an assistant"),
    ([GO, asks()], "messages[1]", "list of calls is empty"),
    ([GO, {"role": "assistant", "content": None}], "messages[1]", "empty"),
    ([{"role": "user", "content": ""}], "messages[0]", "empty"),
    ([GO, asks(chat_call(), content=[]), tool()], "messages[1]", "empty"),
    ([{"role": "user", "content": [said("")]}], "messages[0].content[0]", "empty"),
    ([{"role": "user", "content": {"a": 1}}], "messages[0]", "neither"),
    ([{"role": "user", "content": ["a"]}], "messages[0].content[0]", "type is ''"),
    ([{"role": "user", "content": "\udc00"}], "messages[0].content", "surrogate"),
    ([GO, asks(chat_call()), tool(content=[{"type": "image_url"}])], "messages[2].content[0]", "Only a user"),
    ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0]", "no address"),
    (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,!"}}]}],
        "messages[0].content[0]",
        "no base64",
    ),
    (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "shot.png"}}]}],
        "messages[0].content[0]",
        "neither a web address",
    ),
]


def made(call_id: str = "c1", **more: Any) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}", **more}


def came(call_id: str = "c1", output: Any = "out") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def thought(id: str = "rs_1") -> Json:
    return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": "x"}


DONE: Json = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "a"}]}

GOOD_RESPONSES: list[list[Json]] = [
    [],
    [GO, DONE],
    [GO, thought(), made(id="fc_1"), came(), thought("rs_2"), DONE],
    [GO, made("c1"), made("c2"), came("c2"), GO, came("c1", [{"type": "input_image", "file_id": "file_1"}])],
    [GO, made(), came(), made(), came(output="")],
    [
        {"type": "custom_tool_call", "call_id": "c1", "name": "x", "input": ""},
        {**came(), "type": "custom_tool_call_output"},
    ],
    [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
]

BAD_RESPONSES: list[tuple[list[Json], str, str]] = [
    ([GO, made()], "input[1]", "is the result of 'c1'"),
    ([GO, came()], "input[1]", "No call before"),
    ([GO, came(), made()], "input[1]", "No call before"),
    ([GO, made(), came(), came()], "input[3]", "more than one result"),
    ([GO, made(), made(), came()], "input[2]", "still waits"),
    ([GO, made(""), came("")], "input[1]", "no call_id"),
    ([GO, made(name=""), came()], "input[1]", "needs a name"),
    ([GO, made(id="call_1"), came()], "input[1]", "must begin with 'fc'"),
    ([GO, thought(), DONE, thought(), DONE], "input[3]", "more than one item"),
    ([GO, made(), thought(), came()], "input[2]", "followed by the call"),
    ([GO, thought(), GO], "input[1]", "followed by the call"),
    ([GO, thought()], "input[1]", "followed by the call"),
    ([GO, made(), came(output=None)], "input[2]", "must be a text"),
    ([GO, made(), came(output=[])], "input[2]", "must be a text"),
    ([GO, made(), came(output=[said("a")])], "input[2].output[0]", "cannot stand here"),
    ([{"role": "user", "content": []}], "input[0]", "empty"),
    ([{"role": "tool", "content": "a"}], "input[0]", "'tool'"),
    ([{"role": "user", "content": 3}], "input[0]", "neither"),
    ([{"role": "user", "content": [{"type": "output_text", "text": "a"}]}], "input[0].content[0]", "cannot stand"),
    ([{"role": "user", "content": [{"type": "input_text", "text": ""}]}], "input[0].content[0]", "empty"),
    ([{"role": "user", "content": [{"type": "input_image"}]}], "input[0].content[0]", "no address"),
    ([{"role": "user", "content": "\ud800"}], "input[0].content", "surrogate"),
    ([{"text": "a"}], "input[0]", "neither a type nor a role"),
]


@pytest.mark.parametrize("messages", GOOD_ANTHROPIC)
def test_anthropic_takes(messages: list[Json]) -> None:
    """What the Messages API takes has no problem."""
    assert validate_anthropic(messages) == ()


@pytest.mark.parametrize(("messages", "where", "said"), BAD_ANTHROPIC)
def test_anthropic_refuses(messages: list[Json], where: str, said: str) -> None:
    """What the Messages API refuses is named, with its place."""
    assert found(validate_anthropic(messages), where, said)


@pytest.mark.parametrize("messages", GOOD_CHAT)
def test_openai_chat_takes(messages: list[Json]) -> None:
    """What the chat completions API takes has no problem."""
    assert validate_openai_chat(messages) == ()


@pytest.mark.parametrize(("messages", "where", "said"), BAD_CHAT)
def test_openai_chat_refuses(messages: list[Json], where: str, said: str) -> None:
    """What the chat completions API refuses is named, with its place."""
    assert found(validate_openai_chat(messages), where, said)


@pytest.mark.parametrize("items", GOOD_RESPONSES)
def test_openai_responses_takes(items: list[Json]) -> None:
    """What the Responses API takes has no problem."""
    assert validate_openai_responses(items) == ()


@pytest.mark.parametrize(("items", "where", "said"), BAD_RESPONSES)
def test_openai_responses_refuses(items: list[Json], where: str, said: str) -> None:
    """What the Responses API refuses is named, with its place."""
    assert found(validate_openai_responses(items), where, said)


JUNK: list[Any] = [None, 3, "text", [], {}, {"role": "user"}, {"role": "assistant", "content": [None, 3, {"type": 4}]}]


@pytest.mark.parametrize("item", [*JUNK, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": []}]}])
def test_a_validator_names_what_it_cannot_understand(item: Any) -> None:
    """Whatever JSON the list holds, a validator ends, and finds fault with what is no message."""
    for validate in (validate_anthropic, validate_openai_chat, validate_openai_responses):
        assert validate([item]) != ()
        assert all(problem.message.endswith(".") for problem in validate([item, item]))


def found(problems: tuple[Any, ...], where: str, said: str) -> bool:
    assert [it for it in problems if it.where == where and said in it.message], problems
    return True
