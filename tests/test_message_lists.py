"""Lists of the three providers: what is read, told by content, and edited, over random conversations of many passes."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import msgspec
import pytest
from apply import apply
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from message_lists import PROVIDERS, Host, Json, Provider, run
from random_passes import Judge, read_config
from transcripts import Tape, tapes

from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.drafts import Draft, Replace
from context_guard.edit_log import LoggedPass, Pinned, Restored
from context_guard.formats.codec import apply_edits
from context_guard.formats.message_list import (
    edits_in_force,
    entry_ids,
    log_pass,
    raw_outputs,
    to_transcript,
)
from context_guard.formats.opened import Opened, name_list, open_list
from context_guard.formats.request_body import list_key
from context_guard.formats.splice import open_body, splice
from context_guard.proxy_routes import Api
from context_guard.recall import recall
from context_guard.records import Phase as PassPhase
from context_guard.stages import plan, settle
from context_guard.transcript import Transcript, images_of, shown, text_of

CASES = settings(
    max_examples=100,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TEXTS = st.text(st.characters(categories=["L", "P", "Cc", "Cs", "Z"]))


class Seen(msgspec.Struct):
    """How much the examples so far have exercised."""

    edits: Counter[str] = msgspec.field(default_factory=Counter)
    valid: int = 0
    pictures: int = 0
    forks: int = 0
    back: int = 0


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
def test_any_sequence_of_passes_leaves_a_list_in_order(provider: Provider) -> None:
    """Nothing changes without an edit; an edit changes only its own blocks, and the provider takes what comes of it."""
    seen = Seen()

    @seed(6)
    @CASES
    @given(tapes)
    def check(data: bytes) -> None:
        check_conversation(provider, Tape(data), seen)

    check()
    has_pictures = provider.name != "openai-chat"
    assert {"large", "small", "exchange", *(["image"] if has_pictures else [])} <= seen.edits.keys(), seen
    assert min(seen.valid, seen.forks, seen.back, seen.pictures if has_pictures else 99) > 10, seen


def check_conversation(provider: Provider, tape: Tape, seen: Seen) -> None:
    config = msgspec.structs.replace(read_config(tape), image_keep_turns=1)
    host = provider.host(tape)
    log: tuple[LoggedPass, ...] = ()
    sent: list[Any] = []
    while not host.is_full:
        for _ in run(host):
            if tape.chance(30):
                log = guard(provider, host, config, "mid-run", log, seen)
                sent = []
        sent = check_sent(provider, host.messages, log, sent)
        if tape.below(4):
            log = guard(provider, host, config, "run-end", log, seen)
            sent = []
        if tape.chance(30):
            log = say(provider, host, log, seen)
            sent = []
    check_reading(provider, host)
    check_fork(provider, host, log, seen)


def after_a_run(provider: Provider, tape: Tape) -> Host:
    host = provider.host(tape)
    for _ in run(host):
        pass
    return host


def check_reading(provider: Provider, host: Host) -> None:
    """Ids are unique, the same after a reload, and the same however much follows."""
    messages = host.messages
    ids = ids_of(provider, messages)
    assert len(set(ids)) == len(ids)
    assert ids == ids_of(provider, json.loads(json.dumps(messages)))
    for length in host.complete[::3]:
        before = ids_of(provider, messages[:length])
        assert before == ids[: len(before)]
    raw = json.dumps(messages)
    assert apply_edits(provider.codec, messages, {}) is messages
    assert apply_edits(provider.codec, messages, {"0" * 12: ("other",)}) is messages
    assert apply_edits(provider.codec, messages, {ids[0]: ()}) is messages
    assert json.dumps(messages) == raw


def check_sent(provider: Provider, messages: list[Json], log: tuple[LoggedPass, ...], before: list[Any]) -> list[Any]:
    """Whatever is added, the same log gives the same bytes up to there."""
    now = project(provider, messages, log)
    assert printed(now[: len(before)]) == printed(before)
    return now


def guard(
    provider: Provider, host: Host, config: Config, phase: PassPhase, log: tuple[LoggedPass, ...], seen: Seen
) -> tuple[LoggedPass, ...]:
    """One pass, its edits in the log and in the list."""
    messages = host.messages
    before = transcript_of(provider, messages, log)
    planned = plan(before, config, Boundary(phase=phase, now=0))
    settled = settle(planned, Judge(host.tape).ask(planned.requests))
    if not settled.drafts:
        return log
    logged = log_pass(before, settled.drafts, "s", 1)
    after = transcript_of(provider, messages, (*log, logged))
    expected = apply(before, settled.drafts)
    assert views(after) == views(expected)
    assert [it.record for it in after.records] == [it.record for it in expected.records]
    check_edited(provider, messages, (*log, logged), after, seen)
    check_raws(provider, messages, before, settled.drafts, seen)
    edited = {edit.target for edit in logged.edits}
    again = plan(after, config, Boundary(phase=phase, now=0)).collected
    for found in (again.large, again.small, again.images):
        assert edited.isdisjoint(it.entry_id for it in found)
    for decision in settled.decisions:
        if decision.replacement is not None:
            seen.edits[decision.kind] += 1
    return (*log, msgspec.structs.replace(logged, seq=len(log) + 1))


def check_edited(
    provider: Provider, messages: list[Json], log: tuple[LoggedPass, ...], after: Transcript, seen: Seen
) -> None:
    """The list says what the transcript shows, is as valid as it was, and shares all that has no edit."""
    raw = json.dumps(messages)
    listed = project(provider, messages, log)
    assert json.dumps(messages) == raw, "the host's own list was changed"
    read = provider.codec.read(listed).unwrap()
    visible = [it for it in shown(after) if it.role != "meta" and it.visible is not None]
    assert [(it.role, text_of(it.visible)) for it in visible] == [(it.role, text_of(it.blocks)) for it in read]
    had = Counter(problem.message for problem in provider.codec.validate(messages))
    added = Counter(problem.message for problem in provider.codec.validate(listed)) - had
    assert not added, added
    seen.valid += not had
    touched = {it.src.partition("/")[0] for it in after.entries if it.visible != it.raw}
    spans = [range(int(it.split("-")[0]), int(it.split("-")[-1]) + 1) for it in touched]
    untouched = [it for place, it in enumerate(messages) if not any(place in span for span in spans)]
    kept = {id(it) for it in listed}
    assert all(id(it) in kept for it in untouched), "a message without an edit is not the same object"
    rest = pieces(messages)
    assert all(it in rest for it in pieces(listed)), "order, ids, calls, thinking, flags or marks were changed"


def pieces(messages: list[Json]) -> Iterator[str]:
    """What no edit may change, as far as it is still there: answers whole; of results all but their content."""
    for message in messages:
        if message.get("role") == "assistant" or ("output" not in message and "role" not in message):
            yield printed(message)
            continue
        yield printed({key: message[key] for key in message if key not in ("content", "output")})
        for part in message["content"] if isinstance(message.get("content"), list) else []:
            if part["type"] == "tool_result":
                yield printed({key: part[key] for key in part if key != "content"})


def check_raws(
    provider: Provider, messages: list[Json], before: Transcript, drafts: tuple[Draft, ...], seen: Seen
) -> None:
    """What is stored for an id is what recall gives back for it, pictures with their data."""
    after = apply(before, drafts)
    raws = raw_outputs(before, drafts, lambda image: provider.codec.find_image(messages, image))
    entries = {entry.id: entry for entry in before.entries}
    assert {it.target for it in drafts if isinstance(it, Replace)} <= {it.id for it in raws}
    for raw in raws:
        given = recall(after, raw.id).unwrap()
        assert raw.text == given.raw
        assert len(raw.images) >= len(given.images)
        assert all(image.data for image in raw.images)
        if entries[raw.id].role == "tool":
            assert len(raw.images) == len(images_of(entries[raw.id].raw))
        seen.pictures += len(raw.images)


def say(provider: Provider, host: Host, log: tuple[LoggedPass, ...], seen: Seen) -> tuple[LoggedPass, ...]:
    """The user's word about an edited entry brings it back raw, with all of its exchange; a pin keeps it so."""
    ids = ids_of(provider, host.messages)
    edits = edits_in_force(ids, log)
    if not edits:
        return log
    target = host.tape.pick(sorted(edits))
    word: Restored | Pinned = Pinned(target) if host.tape.below(2) else Restored(target)
    spoken = (*log, LoggedPass(witness="", edits=(word,), seq=len(log) + 1))
    after = transcript_of(provider, host.messages, spoken)
    entry = next(it for it in after.entries if it.id == target)
    assert entry.visible == entry.raw
    assert (target in after.pinned) == isinstance(word, Pinned)
    check_edited(provider, host.messages, spoken, after, seen)
    seen.back += 1
    return spoken


def check_fork(provider: Provider, host: Host, log: tuple[LoggedPass, ...], seen: Seen) -> None:
    """A fork from before a witness never sees the edits of its pass; one from behind it goes on with the same bytes."""
    full = project(provider, host.messages, log)
    for length in host.complete[::3]:
        fork = [*host.messages[:length], {"role": "user", "content": "Another way."}]
        ids = ids_of(provider, fork)
        held = tuple(it for it in log if it.witness in ids or not it.witness)
        assert edits_in_force(ids, log) == edits_in_force(ids, held)
        if held == log and log:
            listed = project(provider, fork, log)[:-1]
            assert printed(full[: len(listed)]) == printed(listed)
            seen.forks += 1


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
def test_any_edits_leave_a_list_valid(provider: Provider) -> None:
    """Whatever a log says, what would make an invalid list is not applied; a raw list stays as it was."""
    omitted = 0

    @seed(7)
    @CASES
    @given(tapes)
    def check(data: bytes) -> None:
        nonlocal omitted
        tape = Tape(data)
        host = provider.host(tape)
        while not host.is_full and len(host.messages) < 30:
            for _ in run(host):
                pass
        ids = ids_of(provider, host.messages)
        texts = (None, None, ("[context-guard] short",), ("one", "", "half \ud83d"), ("", " "), ())
        edits: dict[str, tuple[str, ...] | None] = {it: tape.pick(texts) for it in ids if tape.below(3)}
        edits.update(random_exchange(provider, host, ids))
        listed = apply_edits(provider.codec, host.messages, edits)
        had = Counter(problem.message for problem in provider.codec.validate(host.messages))
        assert not Counter(problem.message for problem in provider.codec.validate(listed)) - had
        known = {id(it) for it in host.messages}
        for message in listed:
            if id(message) not in known:
                json.dumps([it for it in texts_of(message) if it.startswith(("[", "one", "half"))])
        omitted += len(ids_of(provider, listed)) < len(ids)

    check()
    assert omitted > 20


def random_exchange(provider: Provider, host: Host, ids: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
    """A stub on a prompt and everything behind it gone, up to a place that may be wrong."""
    read = provider.codec.read(host.messages).unwrap()
    prompts = [place for place, it in enumerate(read) if it.role == "user"]
    start = host.tape.pick(prompts)
    stop = host.tape.pick([*[it for it in prompts if it > start], min(len(read), start + 3)])
    return {ids[start]: ("[context-guard] gone",), **dict.fromkeys(ids[start + 1 : stop])}


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        yield from texts_of(list(value.values()))


def ids_of(provider: Provider, messages: list[Json]) -> tuple[str, ...]:
    return entry_ids(provider.codec.read(messages).unwrap())


def project(provider: Provider, messages: list[Json], log: tuple[LoggedPass, ...]) -> list[Json]:
    listed: list[Json] = apply_edits(provider.codec, messages, edits_in_force(ids_of(provider, messages), log))
    return listed


def transcript_of(provider: Provider, messages: list[Json], log: tuple[LoggedPass, ...] = ()) -> Transcript:
    return to_transcript(provider.name, provider.codec.read(messages).unwrap(), log)


def views(transcript: Transcript) -> list[Any]:
    return [(it.id, it.visible) for it in transcript.entries if it.role != "meta"]


def printed(value: Any) -> str:
    return json.dumps(value)


def opened(api: Api, data: bytes, *known: Opened) -> Opened:
    body, spans = open_list(api, data, known).unwrap()
    return name_list(api, body, spans, known).unwrap()


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_request_that_goes_on_from_a_known_one_is_read_as_any_other(provider: Provider, indent: int | None) -> None:
    """Whatever was opened before: a shorter list, a fork, one with other marks; only its own objects are made anew."""
    key = list_key(provider.name)
    shared: list[int] = []
    again: list[int] = []

    @seed(9)
    @settings(CASES, max_examples=60)
    @given(tapes)
    def check(data: bytes) -> None:
        tape = Tape(data)
        host = after_a_run(provider, tape)
        before = host.messages[: tape.pick(host.complete)]
        if before and tape.below(3) == 0:  # a fork, or a mark that has moved on
            before = [*before[:-1], {**before[-1], "content": [{"type": "text", "text": "another"}]}]
        known = json.dumps({"stream": True, key: before}, indent=indent).encode()
        first = opened(provider.name, known)
        raw = json.dumps({"model": "m", key: host.messages}, indent=indent).encode()
        found = opened(provider.name, raw, first)
        assert found == opened(provider.name, raw)
        assert found.read == provider.codec.read(host.messages).unwrap()
        shared.append(sum(one is other for one, other in zip(found.messages, first.messages, strict=False)))
        if len(before) and before[-1] == host.messages[len(before) - 1]:
            assert shared[-1] == len(before)
        again.append(sum(one is other for one, other in zip(found.read, first.read, strict=False)))

    check()
    assert max(shared) > 5
    assert max(again) > 5


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_request_keeps_its_bytes_up_to_the_first_edit(provider: Provider, indent: int | None) -> None:
    """However the client printed it: what is in front of the first edit and behind the list stays byte for byte."""
    key = list_key(provider.name)

    @seed(8)
    @settings(CASES, max_examples=60)
    @given(tapes)
    def check(data: bytes) -> None:
        tape = Tape(data)
        host = after_a_run(provider, tape)
        body = {"model": "m", key: host.messages, "stream": True}
        raw = json.dumps(body, indent=indent, ensure_ascii=True).encode()
        opened, spans = open_body(raw, key).unwrap()
        messages = opened[key]
        assert opened == body
        assert splice(spans, messages, messages) == raw
        edited = apply_edits(
            provider.codec, messages, {tape.pick(ids_of(provider, messages)): ("[context-guard] short ü",)}
        )
        spliced = splice(spans, messages, edited)
        assert json.loads(spliced) == {**body, key: edited}
        same = next((at for at, it in enumerate(edited) if it is not messages[at]), len(edited))
        head = json.dumps({"model": "m", key: messages[:same]}, indent=indent)[: -(5 if indent else 2)].encode()
        assert spliced.startswith(head)
        assert spliced.endswith(raw[raw.rindex(b'"stream"') :])

    check()


@pytest.mark.parametrize("keys", [*permutations(("tools", "system", "messages"))], ids="-".join)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_block_beside_the_list_changes_alone(keys: tuple[str, ...], indent: int | None) -> None:
    """Wherever the client put it, with an edit of the list and without."""
    items: dict[str, list[Any]] = {"tools": [{"name": "ü"}, "xy"], "system": [{"text": "ü"}], "messages": [0, 1]}
    body = {key: items[key] for key in keys}
    raw = json.dumps(body, indent=indent).encode()
    _, spans = open_body(raw, "messages").unwrap()
    changed = {("tools", 1): "z", ("system", 0): {"text": "z"}}
    for messages in ([0, 1], [0, 2], [2], []):
        there = {**body, "tools": [{"name": "ü"}, "z"], "system": [{"text": "z"}], "messages": messages}
        assert there == json.loads(splice(spans, [0, 1], messages, changed))
    assert raw.replace(b"xy", b"z") == splice(spans, [0, 1], [0, 1], {("tools", 1): "z"})


@pytest.mark.parametrize(
    "data",
    [
        *(b"[]", b"{", b'{"messages": 3}', b'{"input": []}', b'{"messages": [1}', b"\xff", b""),
        *(b'{"messages": [], "a": %s}' % it for it in (b"NaN", b"-Infinity", b"1e999")),
    ],
)
def test_a_body_without_the_list_is_sent_as_it_is(data: bytes) -> None:
    """What is no request with this list is nothing that a guard could edit."""
    assert open_body(data, "messages").failure().message.endswith("send it as it is.")


@seed(10)
@settings(CASES, max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=20,
    )
)
def test_a_changed_message_is_printed_as_what_it_is(value: Any) -> None:
    """Numbers of any size and precision, halves of surrogate pairs: no value becomes another one."""
    data = b'{"messages": [0, 1], "stream": true}'
    _, spans = open_body(data, "messages").unwrap()
    printed = json.loads(splice(spans, [0, 1], [0, value]))
    assert repr({"messages": [0, value], "stream": True}) == repr(printed)
