"""The codecs on lists that real agents wrote, and on the blocks and items that are carried untouched."""

import gzip
import json
from typing import Any

import msgspec
import pytest
from build import lines
from message_lists import PROVIDERS, Json, Provider
from shared_data import SHARED, needs_shared

from context_guard import Asked, Config, plan, settle
from context_guard.boundary import Boundary
from context_guard.edit_log import LoggedPass, Pinned
from context_guard.explain import explain
from context_guard.formats import anthropic, openai_chat, openai_responses
from context_guard.formats.codec import CODECS, apply_edits
from context_guard.formats.message_list import edits_in_force, entry_ids, log_pass, to_transcript
from context_guard.formats.request_body import read_request
from context_guard.local_judge import judge_locally
from context_guard.server_state import find_server_state
from context_guard.transcript import Model, Opaque, Text, ToolCall, ToolResult

BY_NAME: dict[str, Provider] = {provider.name: provider for provider in PROVIDERS}
SAMPLES = SHARED / "hosts" / "samples"
EAGER = Config(
    min_result_chars=200,
    min_run_chars=0,
    keep_whole_threshold=1,
    focus_whole_threshold=1,
    chunk_keep_threshold=1,
    none_threshold=0,
    small_keep_threshold=1,
    keep_recent_exchanges=0,
    exchange_omit_threshold=1,
    exchange_break_even=False,
    exchange_min_saving_chars=0,
    run_end_break_even=False,
    image_keep_turns=1,
)


def real_lists() -> list[tuple[str, str, list[Json]]]:
    """Name, provider, list."""
    if not SAMPLES.is_dir():
        return []
    found: list[tuple[str, str, list[Json]]] = []
    rows = [json.loads(it) for it in (SAMPLES / "claude-code-2.1.332.jsonl").read_text().splitlines()]
    found.append(("claude-code", "anthropic", [row["message"] for row in rows if "message" in row]))
    rows = [json.loads(it) for it in (SAMPLES / "codex-0.171.0.jsonl").read_text().splitlines()]
    items = [row["payload"] for row in rows if row["type"] == "response_item"]
    found.append(("codex", "openai-responses", items))
    mini = json.loads((SAMPLES / "mini-swe-agent-2.4.6.traj.json").read_text())
    found.append(("mini-swe-agent", "openai-chat", mini["messages"]))
    for folder in sorted((SHARED / "pi" / "payloads").iterdir()):
        for path in sorted(folder.glob("*.json.gz"))[-2:]:
            body = json.loads(gzip.decompress(path.read_bytes()))["body"]
            provider = "anthropic" if "anthropic" in path.name else "openai-chat"
            # A request ends in a question or a result: with an answer behind it, its last run is judged too.
            messages = [*body["messages"], {"role": "assistant", "content": "Done."}]
            found.append((f"pi {folder.name} {path.name}", provider, messages))
    return found


REAL = real_lists()


@needs_shared
@pytest.mark.parametrize("number", range(len(REAL)), ids=[name for name, _, _ in REAL])
def test_a_real_list_is_distilled_and_stays_valid(number: int) -> None:
    """A pass by the embedded judge that keeps next to nothing, over lists of real agents, adds no reason to refuse."""
    name, provider, messages = REAL[number]
    codec = BY_NAME[provider].codec
    ids = entry_ids(codec.read(messages).unwrap())
    assert len(set(ids)) == len(ids)
    logged = eager_pass(name, provider, messages)
    listed = apply_edits(codec, messages, edits_in_force(ids, (logged,)))
    had = {problem.message for problem in codec.validate(messages)}
    assert {problem.message for problem in codec.validate(listed)} <= had
    assert (listed is messages) == (not logged.edits)
    assert len(json.dumps(listed)) <= len(json.dumps(messages))


@needs_shared
def test_the_real_lists_hold_something_to_edit() -> None:
    """Codex's run and most of Pi's are edited by such a pass: the test above is about something."""
    assert sum(bool(eager_pass(*it).edits) for it in REAL) > len(REAL) / 2


def eager_pass(name: str, provider: str, messages: list[Json]) -> LoggedPass:
    before = to_transcript(provider, BY_NAME[provider].codec.read(messages).unwrap())
    planned = plan(before, EAGER, Boundary(every_run=True))
    outcomes = tuple(map(judge_locally, planned.requests))
    return log_pass(before, settle(planned, Asked(outcomes=outcomes)).drafts, name, 1)


CARRIED: list[tuple[str, Json]] = [
    ("anthropic", {"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}),
    ("anthropic", {"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}),
    ("anthropic", {"role": "system", "content": "Mind the budget."}),
    ("openai-chat", {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "A"}}]}),
    ("openai-chat", {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}),
    ("openai-chat", {"role": "function", "name": "ls", "content": "a"}),
    ("openai-chat", {"role": "exit", "content": "done"}),
    ("openai-responses", {"type": "item_reference", "id": "rs_1"}),
    ("openai-responses", {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}),
    ("openai-responses", {"type": "compaction", "encrypted_content": "enc"}),
    ("openai-responses", {"type": "tool_search_output", "call_id": None, "tools": []}),
    ("openai-responses", {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}}),
    ("openai-responses", {"type": "local_shell_call_output", "call_id": "c", "output": "text"}),
    ("openai-responses", {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "text"}]}),
    ("openai-responses", {"type": "something_new", "data": 1}),
]


@pytest.mark.parametrize(("provider", "message"), CARRIED)
def test_what_is_not_known_is_carried_untouched(provider: str, message: Json) -> None:
    """Neither it nor the exchange that it stands in is ever edited; a message changed in it is another one."""
    codec = BY_NAME[provider].codec
    messages = [{"role": "user", "content": "Go"}, message, {"role": "assistant", "content": "Done."}]
    (_, entry, _) = read = codec.read(messages).unwrap()
    assert entry.is_fixed
    ids = entry_ids(read)
    assert apply_edits(codec, messages, {ids[1]: ("short",)}) is messages
    assert apply_edits(codec, messages, {ids[0]: ("gone",), ids[1]: None, ids[2]: None}) is messages
    assert ids[1] in to_transcript(provider, read).pinned
    other = [messages[0], message | {"content": "other", "extra": 1}, messages[2]]
    assert entry_ids(codec.read(other).unwrap())[1] != ids[1] or message.get("call_id") == "c"


ANSWERS: list[tuple[str, Json]] = [
    ("anthropic", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
    ("anthropic", {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    ("anthropic", {"type": "mcp_tool_use", "id": "s", "name": "x", "server_name": "y", "input": {}}),
    ("anthropic", {"type": "compaction", "content": "summary"}),
    ("openai-responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
    ("openai-responses", {"type": "mcp_call", "id": "mcp_1", "name": "x", "arguments": "{}", "output": "long"}),
    ("openai-responses", {"type": "image_generation_call", "id": "ig_1", "result": "AAAA"}),
]


@pytest.mark.parametrize(("provider", "block"), ANSWERS)
def test_what_a_server_s_tool_did_is_part_of_the_answer(provider: str, block: Json) -> None:
    """Carried untouched, and no part of what tells the answer apart: hosts drop fields of such blocks."""
    kind = "text" if provider == "anthropic" else "output_text"
    said: Json = {"role": "assistant", "content": [{"type": kind, "text": "A"}]}
    if provider == "anthropic":
        messages = [{"role": "assistant", "content": [block, *said["content"]]}]
    else:
        messages = [block, said]
    codec = BY_NAME[provider].codec
    (entry,) = read = codec.read(messages).unwrap()
    assert [type(it) for it in entry.blocks] == [Opaque, Text]
    assert entry_ids(read) == entry_ids(codec.read([said]).unwrap())


def test_a_custom_tool_s_output_is_edited_like_any_other() -> None:
    """Codex's freeform tools hold its largest outputs."""
    items: list[Any] = [
        {"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "long"},
    ]
    call, result = read = openai_responses.read(items).unwrap()
    assert call.blocks == (ToolCall(id="c", name="exec", args='{"input":"ls"}'),)
    assert result.blocks == (ToolResult(call_id="c", name="exec", content=(Text("long"),)),)
    listed = apply_edits(CODECS["openai-responses"], items, {entry_ids(read)[1]: ("short",)})
    assert listed == [items[0], items[1] | {"output": "short"}]


def test_the_content_keeps_its_form() -> None:
    """A string stays one where one text takes its place; a list stays a list, with the breakpoint that stood in it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    inner = [{"type": "text", "text": "a", **mark}, {"type": "text", "text": "b"}]
    rows: list[Any] = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "long", "is_error": True, **mark},
        {"type": "tool_result", "tool_use_id": "t2", "content": inner},
        {"type": "tool_result", "tool_use_id": "t3"},
        {"type": "text", "text": "Go on."},
    ]
    messages = [{"role": "user", "content": rows}]
    read = anthropic.read(messages).unwrap()
    assert [it.src for it in read] == ["0/0", "0/1", "0/2", "0/3-3"]
    edits = dict.fromkeys(entry_ids(read)[:2], ("short",))
    (listed,) = apply_edits(CODECS["anthropic"], messages, edits)
    assert listed["content"] == [
        rows[0] | {"content": "short"},
        rows[1] | {"content": [{"type": "text", "text": "short", **mark}]},
        *rows[2:],
    ]
    assert listed["content"][2] is rows[2]
    assert apply_edits(CODECS["anthropic"], messages, {entry_ids(read)[3]: ("one", "two")})[0]["content"][3:] == [
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
    ]


def test_an_id_is_made_of_what_is_said() -> None:
    """The order, spaces and escapes of arguments, the form of the content, thinking and marks make no difference."""
    call = {"type": "function", "id": "c", "function": {"name": "ls", "arguments": '{"a": 1, "b": "ü"}'}}
    other = {"type": "function", "id": "c", "function": {"name": "ls", "arguments": '{"b":"\\u00fc","a":1}'}}
    one: list[Json] = [
        {"role": "assistant", "content": "A", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
    said = [{"type": "text", "text": "A"}]
    two: list[Json] = [
        {"role": "assistant", "reasoning_content": "…", "content": said, "tool_calls": [other]},
        {"role": "tool", "name": "ls", "tool_call_id": "c", "content": [{"type": "text", "text": "x"}]},
    ]
    ids = entry_ids(openai_chat.read(one).unwrap())
    assert ids == entry_ids(openai_chat.read(two).unwrap())
    assert entry_ids(openai_chat.read([*one, *one]).unwrap())[:2] == ids
    assert len({*entry_ids(openai_chat.read([*one, *one]).unwrap())}) == 4
    for changed in ({"content": "y"}, {"tool_call_id": "d"}):
        assert entry_ids(openai_chat.read([one[0], one[1] | changed]).unwrap())[1] != ids[1]


def test_the_same_prompt_behind_another_answer_has_another_id() -> None:
    """An omitted exchange is recalled by its prompt, and many say the same few words."""
    prompt = {"role": "user", "content": "Go on."}
    one, other = (
        entry_ids(openai_chat.read([{"role": "assistant", "content": said}, prompt]).unwrap()) for said in ("A", "B")
    )
    assert one[1] != other[1]


class SdkObject:
    """As the SDKs of the providers keep an answer: an object that can say itself as JSON."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **options: bool) -> Json:
        assert options == {"by_alias": True, "exclude_none": True}
        return self.fields


def test_an_answer_may_be_an_object_of_the_provider_s_sdk() -> None:
    """A hand-written loop appends the answer as the SDK gave it: read like JSON, handed on as the same object."""
    use = SdkObject(type="tool_use", id="t", name="ls", input={})
    messages: list[Any] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "long"}]},
    ]
    read = anthropic.read(messages).unwrap()
    assert read[1].blocks == (ToolCall(id="t", name="ls", args="{}"),)
    listed = apply_edits(CODECS["anthropic"], messages, {entry_ids(read)[2]: ("short",)})
    assert listed[:2] == messages[:2]
    message = SdkObject(role="assistant", content="Done.")
    assert openai_chat.read([message]).unwrap()[0].blocks == (Text("Done."),)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
def test_what_is_no_list_of_messages_is_refused(provider: Provider) -> None:
    """With the place, and what to give instead; a list that cannot be read is handed on as it is."""
    no_list: Any = {"messages": []}
    assert "is no list" in provider.codec.read(no_list).failure().message
    broken: list[Any] = [{"role": "user"}, 3]
    assert "[1] is no JSON object" in provider.codec.read(broken).failure().message
    assert apply_edits(provider.codec, broken, {"0" * 12: None}) is broken


def test_a_whole_request_says_its_model_and_what_stands_beside_the_messages() -> None:
    """System prompt and tools count; the cache breakpoints are those of the body."""
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body: Json = {
        "model": "claude",
        "system": [{"type": "text", "text": "Be brief.", **mark}],
        "tools": [{"name": "ls"}],
        "messages": [{"role": "user", "content": "Go"}],
    }
    found = read_request("anthropic", body).unwrap()
    assert found.model == Model("anthropic", "claude", "anthropic-messages")
    assert found.overhead_chars == len(json.dumps(body["system"], separators=(",", ":"))) + len('[{"name":"ls"}]')
    assert [it.life for it in found.marks] == ["1h"]
    responses = read_request("openai-responses", {"model": "gpt", "instructions": "Hi", "input": "Go"}).unwrap()
    assert responses.messages[0].blocks == (Text("Go"),)
    assert read_request("openai-chat", {"messages": [3]}).failure().message.startswith("messages[0]")


def test_a_pinned_output_is_left_alone_and_explain_says_so() -> None:
    """The output itself, and the exchange that holds it."""
    messages: list[Json] = []
    for number in (1, 2, 3):
        messages += [
            {"role": "user", "content": f"Question {number}"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"t{number}", "name": "ls", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": lines(300)}]},
            {"role": "assistant", "content": "Nothing."},
        ]
    read = anthropic.read(messages).unwrap()
    ids = entry_ids(read)
    pins = tuple(LoggedPass(witness="", edits=(Pinned(ids[place]),)) for place in (2, 10))
    free, pinned = to_transcript("anthropic", read), to_transcript("anthropic", read, pins)
    config = msgspec.structs.replace(EAGER, keep_recent_exchanges=0)
    assert [it.entry_id for it in plan(free, config).items.large] == [ids[10]]
    assert [it.prompt_id for it in plan(free, config).items.exchanges] == [ids[0], ids[4]]
    planned = plan(pinned, config)
    assert planned.items.large == ()
    assert [it.prompt_id for it in planned.items.exchanges] == [ids[4]]
    settled = settle(planned, Asked())
    rules = {place: explain(pinned, planned, settled, ids[place]) for place in (0, 2, 10)}
    assert [getattr(it, "rule", it) for it in rules.values()] == [
        f"It belongs to the exchange of {ids[0]}, which is judged as a whole, but it holds something that is pinned or "
        "that no recall could give back.",
        "It is pinned: no pass touches it.",
        "It is pinned: no pass touches it.",
    ]


STATES: list[tuple[str, Json, str]] = [
    ("anthropic", {"thread": {"type": "continue", "previous_message_id": "m"}}, "thread"),
    ("anthropic", {"thread": {"type": "create"}}, "thread"),
    ("anthropic", {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "context_management"),
    ("openai-responses", {"previous_response_id": "resp_1", "input": []}, "previous_response_id"),
    ("openai-responses", {"conversation": {"id": "conv_1"}}, "conversation"),
    ("openai-responses", {"input": [{"type": "item_reference", "id": "rs_1"}]}, "item_reference"),
    ("openai-responses", {"context_management": [{"type": "compaction"}]}, "context_management"),
    (
        "openai-responses",
        {"type": "response.create", "response": {"previous_response_id": "r"}},
        "previous_response_id",
    ),
    ("google", {"previous_interaction_id": "i"}, "previous_interaction_id"),
    ("another", {"thread_id": "t"}, "thread_id"),
]


@pytest.mark.parametrize(("provider", "body", "field"), STATES)
def test_a_history_that_a_server_holds_is_named(provider: str, body: Json, field: str) -> None:
    """The status names the field and what to do."""
    said = find_server_state(provider, body)
    assert said is not None
    assert f"({field}" in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("anthropic", {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}, "messages": []}),
        ("openai-responses", {"store": True, "previous_response_id": None, "input": [{"role": "user"}]}),
        ("openai-chat", {"store": True, "messages": []}),
    ],
)
def test_a_whole_request_is_no_server_s_state(provider: str, body: Json) -> None:
    """A stored copy, thinking that is cleared and fields that are null leave the request whole."""
    assert find_server_state(provider, body) is None
