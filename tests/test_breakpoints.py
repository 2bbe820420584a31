"""Question pin, read point and write anchor in Anthropic requests, and that nothing but marks ever changes."""

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED, needs_shared

from context_guard.cache.anchors import Anchors
from context_guard.cache.breakpoints import Placement, place_breakpoints
from context_guard.cache.marks import marked_results, normal_id

Json = dict[str, Any]
PAYLOADS = SHARED / "pi" / "payloads"
SESSIONS = sorted(path.name for path in PAYLOADS.iterdir()) if PAYLOADS.is_dir() else []

MARK: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
EFFORT: Json = {"role": "system", "content": [], "output_config": {"effort": "medium"}}


def marked(block: Json, mark: Json = MARK) -> Json:
    return {**block, "cache_control": dict(mark)}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def turn(*call_ids: str) -> Json:
    uses = [{"type": "tool_use", "id": call_id, "name": "bash", "input": {}} for call_id in call_ids]
    return {"role": "assistant", "content": uses}


def output(call_id: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "out"}


def request(*messages: Json, mark: Json = MARK, oauth: bool = False, roll: bool = True) -> Json:
    """As Pi builds it: marks on the last tool, the system prompt and the last block of the last user message."""
    identity = [marked(text("You are …"), mark)] if oauth else []
    body: Json = {
        "model": "claude",
        "tools": [{"name": "read"}, marked({"name": "bash"}, mark)],
        "system": [*identity, marked(text("Be of help."), mark)],
        "messages": list(messages),
    }
    if roll:
        at = max(at for at, message in enumerate(messages) if message["role"] == "user")
        *before, last = messages[at]["content"]
        body["messages"][at] = user(*before, marked(last, mark))
    return copy.deepcopy(body)


def run(mark: Json = MARK, oauth: bool = False) -> Json:
    """A question, three turns, and the third turn's two results to come."""
    return request(
        user(text("q")),
        turn("c1"),
        user(output("c1")),
        turn("c2", "c3"),
        user(output("c2"), output("c3")),
        turn("c4"),
        user(output("c4")),
        mark=mark,
        oauth=oauth,
    )


def marks(body: Json) -> list[str]:
    """Where the marks are, in reading order."""
    return [where for where, _ in places(body)]


def places(body: Json) -> Iterator[tuple[str, Json]]:
    for section in ("tools", "system", "messages"):
        if isinstance(body.get(section), list):
            yield from _places(body[section], section)
    if "cache_control" in body:
        yield "", body["cache_control"]


def _places(node: Any, where: str) -> Iterator[tuple[str, Json]]:
    if isinstance(node, list):
        for at, item in enumerate(node):
            yield from _places(item, f"{where}[{at}]")
    if isinstance(node, dict):
        for key in ("content", "source"):
            yield from _places(node.get(key), f"{where}.{key}")
        if "cache_control" in node:
            yield where, node["cache_control"]


def is_ordered(body: Json) -> bool:
    lives = [mark.get("ttl") == "1h" for _, mark in places(body)]
    return lives == sorted(lives, reverse=True)


def bare(node: Any) -> Any:
    """Without marks, and with one way to write a text."""
    if isinstance(node, list):
        return [bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: bare(value) for key, value in node.items() if key != "cache_control"}
    if isinstance(plain.get("content"), str) and "role" in plain:
        plain["content"] = [text(plain["content"])]
    return plain


def check(body: Json, anchors: Anchors = Anchors()) -> Placement:  # noqa: B008  # a frozen value
    """What holds for every request; gives what was done."""
    before = copy.deepcopy(body)
    placed = place_breakpoints(body, anchors)
    assert before == body
    assert (placed.body is body) == (placed.body == body)
    assert bare(body) == bare(placed.body)
    assert len(marks(placed.body)) <= max(4, len(marks(body)))
    if is_ordered(body):
        assert is_ordered(placed.body)
    again = place_breakpoints(placed.body, anchors)
    assert again.body is placed.body
    for first, second in [(placed.question, again.question), (placed.read, again.read), (placed.write, again.write)]:
        assert second == ("already" if first == "pinned" else first)
    return placed


def test_an_api_key_request_gets_its_question_marked() -> None:
    """Case 110: three marks become four; a second time the mark is there already."""
    placed = check(run())
    assert (placed.question, placed.dropped) == ("pinned", ())
    assert marks(placed.body) == ["tools[1]", "system[0]", "messages[0].content[0]", "messages[6].content[0]"]
    assert place_breakpoints(placed.body).question == "already"


def test_the_identity_mark_makes_room() -> None:
    """Case 110: an OAuth request stays at four marks, since the system prompt's covers the identity block."""
    placed = check(run(oauth=True))
    assert (placed.question, placed.dropped) == ("pinned", ("system[0]",))
    assert marks(placed.body) == ["tools[1]", "system[1]", "messages[0].content[0]", "messages[6].content[0]"]


def test_the_identity_mark_goes_in_every_request_of_a_session() -> None:
    """Hosts of message threads hash system and tools with their marks: the same from the first request on."""
    first = check(request(user(text("q")), EFFORT, oauth=True))
    assert (first.question, first.dropped) == ("no-question", ("system[0]",))
    later = check(run(oauth=True), Anchors(read="nowhere"))
    assert first.body["system"] == later.body["system"]
    assert first.body["tools"] == later.body["tools"]


def test_an_identity_block_behind_one_without_a_mark_loses_its_own_too() -> None:
    """Claude Code has a line about its version in front."""
    request = run(oauth=True)
    request["system"].insert(0, text("version"))
    assert (check(request).question, check(request).dropped) == ("pinned", ("system[1]",))


def test_an_identity_block_with_another_life_or_alone_keeps_its_mark() -> None:
    """It is dropped only where a later mark of the system prompt lives as long, and where room is short anyway."""
    longer = run(oauth=True)
    longer["tools"][1]["cache_control"] = HOUR
    longer["system"][0]["cache_control"] = HOUR
    assert (check(longer).question, check(longer).dropped) == ("pinned", ("tools[1]",))
    longer["tools"].insert(0, marked({"name": "first"}, HOUR))
    del longer["tools"][2]["cache_control"]
    longer["system"].insert(0, text("no mark"))
    assert check(longer).dropped == ("tools[0]",)
    no_tools = run(oauth=True)
    del no_tools["tools"]
    assert (check(no_tools).question, check(no_tools).dropped) == ("pinned", ())


def test_effort_messages_at_the_end_are_skipped() -> None:
    """Case 111: the last message is the last one that is not a system message."""
    placed = check(request(user(text("q1")), turn("c1"), EFFORT, user(output("c1")), EFFORT))
    assert "messages[0].content[0]" in marks(placed.body)
    assert check(request(user(text("q1")), EFFORT)).question == "no-question"


def test_the_pin_lives_as_long_as_the_hosts_mark() -> None:
    """Case 111: one hour for one hour, in an object of its own."""
    placed = check(run(mark=HOUR))
    pin = placed.body["messages"][0]["content"][0]["cache_control"]
    assert pin == HOUR
    assert pin is not placed.body["messages"][6]["content"][0]["cache_control"]


def test_a_string_question_becomes_one_block() -> None:
    """Case 112: with the mark on it; a string that gets no mark stays a string."""
    body = run()
    body["messages"][0]["content"] = "q"
    assert check(body).body["messages"][0]["content"] == [marked(text("q"))]
    body["messages"][6] = user(marked(text("now"), MARK))
    body["messages"].insert(0, {"role": "user", "content": "earlier"})
    assert check(body).body["messages"][0] == {"role": "user", "content": "earlier"}


def test_the_last_text_that_is_not_blank_is_marked() -> None:
    """Case 112: of several blocks; text beside tool results counts too."""
    body = request(user(text("a"), text("b"), text(" \n"), {"type": "image"}), turn("c1"), user(output("c1")))
    assert "messages[0].content[1]" in marks(check(body).body)
    body = request(user(text("a")), turn("c1"), user(output("c1"), text("steer")), turn("c2"), user(output("c2")))
    assert "messages[2].content[1]" in marks(check(body).body)


def test_without_a_question_before_the_last_message_nothing_is_pinned() -> None:
    """Case 113: tool results are no question, the only message is none either; the request comes back as it is."""
    for body in (request(user(output("c0")), turn("c1"), user(output("c1"))), request(user(text("q")))):
        placed = check(body)
        assert placed.question == "no-question"
        assert placed.body is body


def test_a_host_that_wants_no_caching_gets_none() -> None:
    """Case 113: without a mark in the messages nothing is done, whatever the system prompt has."""
    bodies: list[Json] = [request(user(text("q")), turn("c1"), user(output("c1")), roll=False), {"messages": []}]
    for body in bodies:
        placed = check(body, Anchors(read="c1"))
        assert (placed.question, placed.read, placed.write) == ("no-cache", "no-cache", None)
        assert placed.body is body


def test_more_marks_than_allowed_are_not_touched() -> None:
    """Case 114: five marks come back as they were, the identity block's among them."""
    body = run(oauth=True)
    body["messages"][2]["content"][0]["cache_control"] = MARK
    placed = check(body)
    assert (placed.question, placed.dropped) == ("over-budget", ())
    assert placed.body is body


def test_no_room_leaves_the_hosts_marks_alone() -> None:
    """Case 114: four marks of which none covers another stay."""
    body = run()
    del body["tools"][1]["cache_control"]
    body["messages"][2]["content"][0]["cache_control"] = MARK
    body["messages"][4]["content"][1]["cache_control"] = MARK
    placed = check(body)
    assert (placed.question, placed.dropped) == ("over-budget", ())
    assert placed.body is body


def test_longer_lived_marks_stay_in_front() -> None:
    """Case 115: one hour behind the question makes the pin one hour; five minutes before it too leave no life."""
    body = run()
    for block in (body["tools"][1], body["system"][0], body["messages"][2]["content"][0]):
        block["cache_control"] = HOUR
    del body["tools"][1]["cache_control"]
    placed = check(body)
    assert placed.body["messages"][0]["content"][0]["cache_control"] == HOUR
    body["system"][0]["cache_control"] = MARK
    placed = check(body)
    assert placed.question == "ttl-conflict"
    assert placed.body is body


def test_a_read_point_takes_the_place_of_the_tools_mark() -> None:
    """Case 116: API key and read point."""
    placed = check(run(), Anchors(read="c1"))
    assert (placed.question, placed.read, placed.dropped) == ("pinned", "pinned", ("tools[1]",))
    assert marks(placed.body) == [
        "system[0]",
        "messages[0].content[0]",
        "messages[2].content[0]",
        "messages[6].content[0]",
    ]


def test_the_write_anchor_is_the_first_to_go() -> None:
    """Case 116: OAuth with both anchors drops identity and tools and has no room for the write anchor."""
    placed = check(run(oauth=True), Anchors(read="c1", write="c3"))
    assert (placed.question, placed.read, placed.write) == ("pinned", "pinned", "over-budget")
    assert placed.dropped == ("system[0]", "tools[1]")
    alone = check(run(oauth=True), Anchors(write="c3"))
    assert (alone.question, alone.read, alone.write) == ("pinned", None, "pinned")


def test_tools_keep_their_mark_when_nothing_covers_it() -> None:
    """Case 117: without a marked system block the anchors go, the question stays."""
    body = run()
    del body["system"][0]["cache_control"]
    body["messages"][2]["content"][0]["cache_control"] = MARK
    placed = check(body, Anchors(read="c2", write="c3"))
    assert (placed.question, placed.read, placed.write) == ("pinned", "over-budget", "over-budget")
    assert "tools[1]" in marks(placed.body)


def test_marks_that_made_room_for_nothing_are_still_there() -> None:
    """The original drops identity and tools even when its own marks then find no room, and leaves them dropped."""
    body = run()
    for block in (body["messages"][0]["content"][0], body["messages"][2]["content"][0]):
        block["cache_control"] = MARK
    placed = check(body, Anchors(read="c2", write="c3"))
    assert (placed.question, placed.read, placed.write) == ("over-budget", "over-budget", "over-budget")
    assert placed.dropped == ()
    assert placed.body is body


def test_anchors_that_cannot_be_placed_say_why() -> None:
    """Case 118: an id that is not there, one in the last message, one that is marked."""
    body = run()
    body["messages"][2]["content"][0]["cache_control"] = MARK
    assert check(run(), Anchors(read="c9", write="c4")).read == "not-found"
    assert check(run(), Anchors(read="c9", write="c4")).write == "in-last-message"
    assert check(body, Anchors(read="c1")).read == "already"


def test_an_anchor_is_found_by_the_id_that_the_host_makes_of_it() -> None:
    """Case 118: `call_1|fc_2` goes out as `call_1_fc_2`; an id has at most 64 characters."""
    body = request(user(text("q")), turn("call_1_fc_2"), user(output("call_1_fc_2")), turn("c2"), user(output("c2")))
    assert check(body, Anchors(read="call_1|fc_2")).read == "pinned"
    assert normal_id("é.x-Y_" + "9" * 80) == "__x-Y_" + "9" * 58


def test_exactly_the_anchors_block_is_marked() -> None:
    """Case 119: in a message of several results."""
    placed = check(run(), Anchors(read="c2"))
    assert "messages[4].content[0]" in marks(placed.body)
    assert "messages[4].content[1]" not in marks(placed.body)
    assert marked_results(placed.body) == ("c2", "c4")


def test_a_continued_thread_is_left_as_it_is() -> None:
    """It holds only what is new and no system prompt; the request that creates one is treated like any other."""
    going_on = request(user(output("c1")), EFFORT)
    del going_on["tools"], going_on["system"]
    going_on["thread"] = {"type": "continue", "previous_message_id": "m1"}
    placed = check(going_on, Anchors(read="c0", write="c1"))
    assert (placed.question, placed.read, placed.write) == ("thread", "thread", "thread")
    assert placed.body is going_on
    assert check({**run(), "thread": {"type": "create"}}).question == "pinned"


def test_marks_inside_a_tool_result_count() -> None:
    """They take a place of the four; a tool's arguments that merely look like a mark do not."""
    body = run()
    body["messages"][2]["content"][0]["content"] = [marked(text("x"))]
    body["messages"][1]["content"][0]["input"] = {"content": [{"cache_control": MARK}], "cache_control": MARK}
    placed = place_breakpoints(body)
    assert (placed.question, placed.dropped) == ("pinned", ("tools[1]",))
    assert marked_results(placed.body) == ("c4",)


def test_automatic_caching_takes_a_place_too() -> None:
    """A mark at the top of the request stands for the end of the messages."""
    body = {**run(), "cache_control": HOUR}
    del body["messages"][6]["content"][0]["cache_control"]
    assert check(body).question == "ttl-conflict"
    body["cache_control"] = MARK
    assert check(body, Anchors(read="c1", write="c2")).write == "over-budget"


@pytest.mark.parametrize(
    "body",
    [{}, {"messages": "x"}, {"messages": [{"role": "tool", "content": "x"}]}, {"input": []}, {"messages": ["x"]}],
)
def test_what_is_no_anthropic_request_is_left_as_it_is(body: Json) -> None:
    placed = place_breakpoints(body, Anchors(write="c1"))
    assert (placed.question, placed.read, placed.write) == ("not-anthropic", None, "not-anthropic")
    assert placed.body is body
    assert marked_results(body) == ()


def test_untouched_parts_are_shared() -> None:
    """Only the way to a changed mark is copied."""
    body = run()
    placed = check(body, Anchors(read="c1"))
    assert placed.body["messages"][1] is body["messages"][1]
    assert placed.body["tools"][0] is body["tools"][0]
    assert placed.body["system"] is body["system"]


def test_wherever_the_host_puts_its_marks_the_rules_hold() -> None:
    """Every choice of at most five marks over ten places, every valid order of lives, with and without anchors.

    With the host's marks in order, a life that fits is always found.
    """
    done = Counter[str]()
    for count in range(6):
        for chosen in combinations(range(10), count):
            for hours in range(count + 1):
                body, blocks = unmarked()
                for number, place in enumerate(chosen):
                    blocks[place]["cache_control"] = HOUR if number < hours else MARK
                for anchors in (Anchors(), Anchors(read="c1", write="c3")):
                    placed = check(body, anchors)
                    done.update(filter(None, (placed.question, placed.read, placed.write)))
                    done.update(placed.dropped)
    assert done.keys() == {
        "pinned", "already", "over-budget", "no-cache", "system[0]", "tools[0]", "tools[1]"
    }  # fmt: skip


def unmarked() -> tuple[Json, list[Json]]:
    """A run without marks, and ten blocks of it where one may stand, in reading order."""
    tools = [{"name": "read"}, {"name": "bash"}]
    system = [text("You are …"), text("Be of help.")]
    inside = text("nested")
    first = {**output("c1"), "content": [inside]}
    results = [output("c2"), output("c3")]
    question, end = text("q"), output("c4")
    messages = [user(question), turn("c1"), user(first), turn("c2", "c3"), user(*results), turn("c4"), user(end)]
    body = {"tools": tools, "system": system, "messages": messages}
    return body, [*tools, *system, question, inside, first, *results, end]


@needs_shared
@pytest.mark.parametrize("session", SESSIONS)
def test_real_requests_keep_to_the_rules(session: str) -> None:
    """Every Anthropic request that Pi sent, without anchors and with anchors at several of its results."""
    for body in real_requests(session):
        results = [
            block["tool_use_id"]
            for message in body["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block["type"] == "tool_result"
        ]
        placed = check(body)
        assert placed.question in ("pinned", "no-question", "thread", "no-cache")
        for read, write in zip(results[: len(results) // 2], results[len(results) // 2 :], strict=False):
            both = check(body, Anchors(read=read, write=write))
            assert len(marks(both.body)) <= 4
            assert both.read in ("pinned", "in-last-message", "thread", "no-cache")


@needs_shared
def test_real_oauth_requests_never_flip_the_hashed_marks() -> None:
    """Without anchors, tools and system keep one form over the whole session, so that threads go on."""
    kept = {
        tuple(where for where in marks(check(body).body) if not where.startswith("messages"))
        for body in real_requests("14b-oauth")
        if body["thread"]["type"] == "create"
    }
    assert kept == {("tools[5]", "system[1]")}


def real_requests(session: str) -> Iterator[Json]:
    for path in sorted(Path(PAYLOADS / session).glob("*-anthropic.json.gz")):
        body: Json = json.loads(gzip.decompress(path.read_bytes()))["body"]
        yield body


LIFE = st.sampled_from([None, None, MARK, HOUR])
TEXTS = st.sampled_from(["", " ", "words"]).map(text)
IDS = st.sampled_from(["c1", "c2", "c_3", "c4"])


def maybe_marked(blocks: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(blocks, LIFE).map(lambda pair: marked(*pair) if pair[1] else pair[0])  # type: ignore[arg-type]


RESULTS = st.tuples(IDS, st.just("out") | st.lists(maybe_marked(TEXTS), max_size=2)).map(
    lambda pair: {"type": "tool_result", "tool_use_id": pair[0], "content": pair[1]}
)
CONTENT = st.sampled_from(["", "words"]) | st.lists(
    maybe_marked(TEXTS | RESULTS | st.just({"type": "image"})), max_size=3
)
MESSAGES = st.lists(
    st.builds(lambda content: {"role": "user", "content": content}, CONTENT)
    | st.just(turn("c1", "c2"))
    | st.just(EFFORT),
    min_size=2,
    max_size=7,
)


@st.composite
def requests(draw: st.DrawFn) -> Json:
    """Any request; most with a mark at the end and few others, often of one life, so that many are valid."""
    body: Json = {
        "tools": draw(st.lists(maybe_marked(st.just({"name": "t"})), max_size=2)),
        "system": draw(st.just("Be of help.") | st.lists(maybe_marked(TEXTS), max_size=3)),
        "messages": draw(MESSAGES),
    }
    if draw(st.integers(0, 9)):
        body["messages"] += [user(marked(draw(RESULTS), draw(st.sampled_from([MARK, HOUR]))))]
    if draw(st.booleans()):
        only = draw(st.sampled_from([MARK, HOUR]))
        for _, mark in places(body):
            mark.clear()
            mark.update(only)
    others = [mark for _, mark in places(body)][:-1]
    for mark in draw(st.permutations(others))[draw(st.integers(0, 4)) :]:
        mark["gone"] = True
    return _without_gone(body)  # type: ignore[no-any-return]


def _without_gone(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_gone(item) for item in node]
    if not isinstance(node, dict):
        return node
    gone = isinstance(node.get("cache_control"), dict) and "gone" in node["cache_control"]
    return {key: _without_gone(value) for key, value in node.items() if not (gone and key == "cache_control")}


@given(requests(), st.builds(Anchors, read=st.none() | IDS, write=st.none() | IDS | st.just("c|3")))
@settings(max_examples=200, deadline=None)
def test_any_request_keeps_to_the_rules(body: Json, anchors: Anchors) -> None:
    """At most four marks, longer lives in front, content unchanged, a second time nothing; never a failure."""
    check(body, anchors)
