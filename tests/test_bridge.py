"""The bridge to Pi by its protocol alone: what it answers, and that nothing that comes through the pipe ends it."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from bridge_client import Json, agent_environment, bridge
from build import lines
from pi_sessions import HEADER, calling, result, session_bytes, user

from context_guard.formats.pi_entries import PIN_TYPE
from context_guard.stages import Plan, plan
from context_guard.text import MARKER
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.pi_bridge import passes, server

OUTPUT = lines(150) + "\nsrc/pool.py:3: the pool is made here, with 12 lanes\n" + lines(150)
"""Short enough to be judged without a thread, which would not stop the clock of these tests."""
MODEL = {"provider": "p", "id": "m", "api": "anthropic-messages", "cost": {"input": 3.0, "cacheRead": 0.3}}


def said(id: str, text: str) -> Json:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop", "timestamp": 5}
    return {"type": "message", "id": id, "message": message}


RUN = (
    user("u", "Where is the pool made?"),
    calling("a", "c"),
    result("r", "c", [{"type": "text", "text": OUTPUT}]),
    said("z", "src/pool.py:3 makes the pool."),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(session_bytes(*RUN))
    return path


@pytest.fixture
def agent(tmp_path: Path) -> dict[str, str]:
    return agent_environment(tmp_path)


def at(file: Path, leaf: str = "z") -> Json:
    return {"session": "s1", "file": str(file), "leaf": leaf, "model": MODEL}


def append(file: Path, *entries: Json) -> str:
    """What Pi does with drafts; gives the new leaf."""
    parent = json.loads(file.read_bytes().splitlines()[-1])["id"]
    with file.open("a") as target:
        for number, entry in enumerate(entries):
            line = {"id": f"{parent}{number}", "parentId": parent, "timestamp": "2026-11-30T16:01:42.100Z", **entry}
            target.write(json.dumps(line) + "\n")
            parent = line["id"]
    return str(parent)


async def test_a_run_end_gets_its_drafts(file: Path, agent: dict[str, str]) -> None:
    """One edit and the record, as an extension of Pi returns them; once they are on the branch, nothing more."""
    async with bridge(agent) as pi:
        await pi.call("hello", sync=at(file))
        reply = await pi.call("boundary", phase="run-end", sync=at(file))
        edit, record = reply["drafts"]
        assert ("context_edit", "r") == (edit["type"], edit["targetId"])
        assert edit["replacement"]["content"][0]["text"].startswith(f"{MARKER} Distilled")
        assert "12 lanes" in edit["replacement"]["content"][0]["text"]
        assert ("custom", "context-guard", "run-end") == (record["type"], record["customType"], record["data"]["phase"])

        leaf = append(file, *reply["drafts"])
        assert (await pi.call("status", sync=at(file, leaf)))["status"][0][1].startswith("🛡 −")
        assert (await pi.call("boundary", phase="run-end", sync=at(file, leaf)))["drafts"] == []


async def test_of_a_turn_with_nothing_to_do_only_the_turn_is_looked_at(
    file: Path, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a prompt comes; and another session, or the same one elsewhere in its tree, is looked at by itself."""
    looks: list[Plan] = []
    skeleton = {"messages": [{"role": "user", "content": "x"}]}

    def counted(*given: Any) -> Plan:
        looks.append(plan(*given))
        return looks[-1]

    monkeypatch.setattr(passes, "plan", counted)
    more = (calling("b", "d"), result("q", "d", "ok"), calling("e", "f"), result("o", "f", "ok"))
    file.write_bytes(session_bytes(*RUN[:3], *more, user("v", "Faster."), calling("g", "h"), result("p", "h", "ok")))
    async with bridge(agent) as pi:
        for leaf, looked in (("r", 1), ("q", 1), ("o", 1), ("p", 2), ("q", 3)):
            assert (await pi.call("boundary", phase="mid-run", sync=at(file, leaf)))["drafts"] == []
            assert looked == len(looks)

        for type, leaf, looked in (("outgoing", "v", 4), ("boundary", "p", 4), ("status", "p", 4), ("status", "r", 5)):
            await pi.call(type, sync=at(file, leaf), phase="mid-run", skeleton=skeleton)
            await trio.testing.wait_all_tasks_blocked()
            assert looked == len(looks), "while the model thinks, the next turn's end is made ready"


async def test_while_judging_the_status_bar_says_so(file: Path, agent: dict[str, str]) -> None:
    async with bridge(agent) as pi:
        await pi.call("boundary", phase="run-end", sync=at(file))
        assert [news["status"][0][1] for news in pi.news] == ["🛡 distilling…", "🛡 0 saved"]
        assert [bool(news["working"]) for news in pi.news] == [True, False]


@pytest.mark.parametrize("outcome", ["error", "aborted"])
async def test_a_run_that_did_not_complete_gets_none(file: Path, agent: dict[str, str], outcome: str) -> None:
    async with bridge(agent) as pi:
        assert (await pi.call("boundary", phase="run-end", outcome=outcome, sync=at(file)))["drafts"] == []


async def test_entries_that_are_missing_are_asked_for(file: Path, agent: dict[str, str]) -> None:
    """A leaf that neither file nor tree has; sent along, the entries make the session whole again."""
    stored = [json.loads(line) for line in file.read_bytes().splitlines()[1:]]
    sync = {"session": "s1", "leaf": "z", "cwd": "/work", "model": MODEL}
    async with bridge(agent) as pi:
        assert "need" in await pi.call("status", sync=sync)
        reply = await pi.call("boundary", phase="run-end", sync={**sync, "entries": stored})
        assert [draft["type"] for draft in reply["drafts"]] == ["context_edit", "custom"]
        assert "status" in await pi.call("status", sync=sync), "what was sent once need not be sent again"


async def test_drafts_of_others_come_first(file: Path, agent: dict[str, str]) -> None:
    """An invalid one is named, so that it costs the others nothing; what a valid one edits is left to it."""
    other = [{"type": "context_edit", "targetId": "zz"}, {"type": "custom"}]
    async with bridge(agent) as pi:
        reply = await pi.call("boundary", phase="run-end", sync=at(file), drafts=other)
        assert (reply["dropped"], len(reply["drafts"])) == ([0], 2)
        theirs = [{"type": "context_edit", "targetId": "r"}]
        reply = await pi.call("boundary", phase="run-end", sync=at(file), drafts=theirs)
        assert reply["dropped"] == []
        assert [draft["type"] for draft in reply["drafts"]] == ["custom"]


class Slow(LocalJudge):
    """Takes two seconds over every request."""

    async def __call__(self, request: Any) -> Any:
        await trio.sleep(2)
        return await super().__call__(request)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    from returns.result import Success

    monkeypatch.setattr(server, "resolve_judge", lambda *_: Success(Slow()))


@pytest.mark.usefixtures("slow")
async def test_a_host_that_can_wait_gets_slow_edits_when_it_has_settled(file: Path, agent: dict[str, str]) -> None:
    """The run's end takes `settleWaitMs` at most; a host that cannot wait is kept until the judge has answered."""
    async with bridge(agent) as pi:
        began = trio.current_time()
        reply = await pi.call("boundary", phase="run-end", sync=at(file), canWait=True)
        assert (reply["drafts"], reply["late"]) == ([], True)
        assert 0.5 == pytest.approx(trio.current_time() - began)
        late = await pi.call("late", sync=at(file))
        assert [draft["type"] for draft in late["drafts"]] == ["context_edit", "custom"]

        leaf = append(file, *late["drafts"])
        assert (await pi.call("boundary", phase="mid-run", sync=at(file, leaf)))["drafts"] == []
    async with bridge(agent) as pi:
        assert (await pi.call("boundary", phase="run-end", sync=at(file)))["drafts"] != []


@pytest.mark.usefixtures("slow")
async def test_edits_that_the_host_could_not_take_come_at_its_next_boundary(file: Path, agent: dict[str, str]) -> None:
    """A new prompt has begun; as long as the pass is not done it holds up no turn, and then its edits are given."""
    async with bridge(agent) as pi:
        await pi.call("boundary", phase="run-end", sync=at(file), canWait=True)
        leaf = append(file, user("v", "And the lake?"))
        assert (await pi.call("boundary", phase="mid-run", sync=at(file, leaf)))["drafts"] == []
        await trio.sleep(3)
        reply = await pi.call("boundary", phase="mid-run", sync=at(file, leaf))
        assert [draft["type"] for draft in reply["drafts"]] == ["context_edit", "custom"]
        assert (await pi.call("boundary", phase="mid-run", sync=at(file, leaf)))["drafts"] == []


@pytest.mark.usefixtures("slow")
async def test_when_pi_goes_nothing_is_waited_for(file: Path, agent: dict[str, str]) -> None:
    """The end of the input ends what is being judged."""
    began = trio.current_time()
    async with bridge(agent) as pi:
        await pi.start("boundary", phase="run-end", sync=at(file))
        await trio.sleep(0.1)
    assert trio.current_time() - began < 1


async def test_the_outgoing_request_gets_its_marks(file: Path, agent: dict[str, str]) -> None:
    """The question is pinned by a path into the request; without caching, or with it turned off, nothing changes."""
    mark = {"type": "ephemeral"}
    asked = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x"}]
    skeleton = {
        "messages": [*asked, {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": mark}]}]
    }
    async with bridge(agent) as pi:
        reply = await pi.call("outgoing", sync=at(file), skeleton=skeleton)
        assert [{"path": ["messages", 0, "content"], "control": '{"type":"ephemeral"}'}] == reply["changes"]
        assert (await pi.call("outgoing", sync=at(file), skeleton={"messages": asked}))["changes"] == []
        assert "error" not in await pi.call("answered", sync=at(file), usage={"input": 4, "cacheRead": 9})
    Path(agent["PI_CODING_AGENT_DIR"], "context-guard.json").write_text('{"pinAnthropicCache": false}')
    async with bridge(agent) as pi:
        assert (await pi.call("outgoing", sync=at(file), skeleton=skeleton))["changes"] == []


async def test_recall_names_images_instead_of_sending_them(tmp_path: Path, agent: dict[str, str]) -> None:
    file = tmp_path / "images.jsonl"
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    file.write_bytes(
        session_bytes(user("u"), calling("a", "c"), result("r", "c", [{"type": "text", "text": "x"}, image]))
    )
    async with bridge(agent) as pi:
        reply = await pi.call("recall", entryId="r", sync=at(file, "r"))
        assert reply["images"] == [{"entryId": "r", "index": 1}]
        assert "no tool result" in (await pi.call("recall", entryId="zz", sync=at(file, "r")))["error"].lower()


async def test_recall_reads_the_full_output_file_while_it_is_the_same(tmp_path: Path, agent: dict[str, str]) -> None:
    """Pi stores the end of a long output and the path of all of it."""
    full, file = tmp_path / "full.log", tmp_path / "long.jsonl"
    full.write_text(OUTPUT)
    shown = f"{OUTPUT[-3_000:].rstrip()}\n\n[Showing lines 500-601 of 601 (50.0KB limit). Full output: {full}]"
    file.write_bytes(
        session_bytes(user("u"), calling("a", "c"), result("r", "c", shown, details={"fullOutputPath": str(full)}))
    )
    async with bridge(agent) as pi:
        assert "12 lanes" in (await pi.call("recall", entryId="r", pattern="lanes", sync=at(file, "r")))["text"]
        full.write_text("something else")
        assert "No line" in (await pi.call("recall", entryId="r", pattern="lanes", sync=at(file, "r")))["text"]


async def test_guard_commands(file: Path, agent: dict[str, str]) -> None:
    """on and off are saved and keep every other key; restore and pin say what to append."""
    settings = Path(agent["PI_CODING_AGENT_DIR"], "context-guard.json")
    settings.write_text('{"minRunChars": 9000, "mine": [1]}')
    async with bridge(agent) as pi:
        assert (await pi.call("command", text="off", sync=at(file)))["status"] == [["dim", "🛡 guard off"]]
        assert json.loads(settings.read_text()) == {"minRunChars": 9000, "mine": [1], "enabled": False}
        assert (await pi.call("boundary", phase="run-end", sync=at(file)))["drafts"] == []
        await pi.call("command", text="on", sync=at(file))

        reply = await pi.call("boundary", phase="run-end", sync=at(file))
        leaf = append(file, *reply["drafts"])
        restored = await pi.call("command", text="restore r", sync=at(file, leaf))
        assert (["r"], [{"entryId": "r", "pinned": True}]) == (restored["restore"], restored["pins"])
        assert "record" in (await pi.call("command", text="why r", sync=at(file, leaf)))["text"]
        assert "distilled large" in (await pi.call("command", text="report", sync=at(file, leaf)))["text"]
        assert "no entry" in (await pi.call("command", text="pin zz", sync=at(file, leaf)))["text"]

        leaf = append(file, {"type": "custom", "customType": PIN_TYPE, "data": {"entryId": "r"}})
        assert "Pinned: r." in (await pi.call("command", sync=at(file, leaf)))["text"]


async def test_a_broken_settings_file_is_told_of_and_not_written_over(file: Path, agent: dict[str, str]) -> None:
    settings = Path(agent["PI_CODING_AGENT_DIR"], "context-guard.json")
    settings.write_text('{"enabled": fal')
    async with bridge(agent) as pi:
        (warning,) = (await pi.call("hello", sync=at(file)))["warnings"]
        assert "not JSON" in warning
        assert "Nothing was written" in (await pi.call("command", text="off", sync=at(file)))["text"]
    assert settings.read_text() == '{"enabled": fal'


async def test_a_judge_that_cannot_be_is_a_problem_and_not_an_end(file: Path, tmp_path: Path) -> None:
    """The status bar says so, the warnings say why, and recall still works."""
    async with bridge(agent_environment(tmp_path, model="nobody/nothing")) as pi:
        reply = await pi.call("hello", sync=at(file))
        assert reply["status"] == [["warning", "🛡 no judge"]]
        assert "'nobody/nothing' is not a judge" in reply["warnings"][0]
        assert (await pi.call("boundary", phase="run-end", sync=at(file)))["drafts"] == []
        assert "12 lanes" in (await pi.call("recall", entryId="r", pattern="lanes", sync=at(file)))["text"]


@pytest.mark.parametrize(
    "line",
    [b"\n", b"garbage\n", b'{"id":7}\n', b'{"id":7,"type":"dance","sync":{"session":"s"}}\n', b"[" * 9_000 + b"\n"],
)
async def test_what_is_no_message_is_answered_and_survived(file: Path, agent: dict[str, str], line: bytes) -> None:
    async with bridge(agent) as pi:
        await pi.send(line)
        number = 7 if b'"id":7' in line else None
        assert "not understood" in (await pi.reply(number))["error"]
        assert "status" in await pi.call("status", sync=at(file))


async def test_another_session_is_another_tree(file: Path, tmp_path: Path, agent: dict[str, str]) -> None:
    """After a fork or a new session nothing of the old one is left."""
    other = tmp_path / "other.jsonl"
    other.write_bytes(session_bytes(user("n"), header=HEADER | {"id": "s2"}))
    async with bridge(agent) as pi:
        await pi.call("status", sync=at(file))
        sync = {"session": "s2", "file": str(other), "leaf": "n"}
        assert "status" in await pi.call("status", sync=sync)
        assert "error" in await pi.call("recall", entryId="r", sync=sync)
        assert "status" in await pi.call("status", sync={"session": "s2", "file": str(other), "leaf": None})


async def test_lone_surrogates_come_through(tmp_path: Path, agent: dict[str, str]) -> None:
    """Real sessions hold them; the pipe is ASCII, where they are escapes."""
    sync = {"session": "s1", "leaf": "r", "entries": [user("u"), calling("a", "c"), result("r", "c", "x\ud83dy")]}
    async with bridge(agent) as pi:
        assert (await pi.call("recall", entryId="r", sync=sync))["text"] == "x\ufffdy"
