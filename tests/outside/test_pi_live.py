"""The guard inside real Pi, installed as a user has it: what is edited, what the next request carries, what stays."""

import json
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_guard.drafts import Replace
from context_guard.formats.pi import read
from context_guard.text import MARKER
from context_guard.transcript import Transcript, text_of
from context_guard_effects.hosts.errors import HostError
from context_guard_effects.hosts.pi import LOCK_SUFFIX, append_drafts, now_iso, random_ids, read_session
from outside.pi_driver import REPO, NpmUnreachable, PiFailed, PiHome, PiProcess, install_pi
from outside.processes import bridges, kill, processes_with
from outside.scripted_provider import Call, ScriptedProvider, Turn
from outside.shop import make_shop
from outside.slow_judge import SlowJudge

pytestmark = pytest.mark.outside

HELPER = REPO / "tests" / "outside" / "live_helper.js"
QUESTION = "Where is the default timeout of the HTTP client set, and to what?"
ANSWER = Turn("`shop/http/defaults.py:3` sets it: `DEFAULT_TIMEOUT = 12.5`.")
DONE = Turn("Done.")

Json = dict[str, Any]


@pytest.fixture(params=["1.6.0", "1.0.3"])
def home(request: pytest.FixtureRequest, tmp_path: Path, provider: ScriptedProvider) -> Iterator[PiHome]:
    """A home with the guard in it; afterwards nothing runs, nothing is locked, and every request was in order."""
    try:
        home = PiHome(tmp_path / "home", install_pi(request.param), provider.url)
    except NpmUnreachable as error:
        pytest.skip(f"real Pi is needed: {error}")
    home.install_guard()
    (home.agent / "extensions" / HELPER.name).write_text(HELPER.read_text("utf-8"), "utf-8")
    yield home
    assert processes_with(home.environment()) == []
    assert list(home.sessions.glob(f"*{LOCK_SUFFIX}")) == []
    for sent in provider.requests:
        assert_marks_are_in_order(sent.body)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "project")


def test_the_request_after_a_run_carries_its_edits(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """The edit and its record are in the session, the next request has the replacement, recall gives back the raw."""
    provider.play(search(), ANSWER, Turn("Every client."))
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        pi.prompt("Who reads it?")
        (note,) = provider.requests[-1].results().values()
        (result,) = outputs(home)
        assert note.startswith(f"{MARKER} Distilled the output of bash")
        assert "DEFAULT_TIMEOUT = 12.5" in note
        assert [entry["type"] for entry in pi.entries()][7:9] == ["context_edit", "custom"]
        assert pi.status().startswith("🛡 −")

        provider.play(
            Turn("", [Call("recall", {"entryId": result.id})]),
            Turn(
                "", [Call("recall", {"entryId": result.id, "pattern": "= 12[.]5"}), Call("recall", {"entryId": "f00"})]
            ),
            DONE,
        )
        pi.prompt("Show it again.")
        whole, matching, unknown = list(provider.requests[-1].results().values())[1:]
        assert text_of(result.raw) == whole
        assert "shop/http/defaults.py:3:DEFAULT_TIMEOUT = 12.5" in matching
        assert "No tool result or omitted exchange with entry id f00" in unknown

        (file,) = home.session_files()
        with pytest.raises(HostError, match="is open in Pi"):
            append_drafts(read_session(file), (Replace(result.id, ("x",)),), random_ids(), now_iso())


def test_the_user_sees_and_steers_what_is_kept_out(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """/guard tells the state and the reasons; restore brings an original back for good; off is written to the file."""
    provider.play(search(), ANSWER, DONE, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        (result,) = outputs(home)
        assert "1 tool output" in pi.guard()
        assert "kept out" in pi.guard("status").lower()
        assert "keep_whole" in pi.guard(f"why {result.id}") or "record" in pi.guard(f"why {result.id}")
        assert "Together:" in pi.guard("report")
        assert "Usage: /guard" in pi.guard("dance")

        assert "shows its original again" in pi.guard(f"restore {result.id}")
        assert pi.status() == "🛡 0 saved"
        pi.prompt("Go on.")
        assert text_of(result.raw) == next(iter(provider.requests[-1].results().values()))

        assert "is off" in pi.guard("off")
        assert pi.status() == "🛡 guard off"
        assert json.loads((home.agent / "context-guard.json").read_text()) == {"enabled": False}
        provider.play(search(), DONE)
        pi.prompt("Search once more.")
        assert MARKER not in json.dumps(provider.requests[-1].messages)
        assert len(edits(pi)) == 2


def test_a_long_run_is_distilled_on_its_way(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """A checkpoint's edits are in the very next request of the same run, whose marks still fit."""
    home.settle(midRunBatchChars=50_000, midRunBreakEven=False, midRunMinAgeTurns=2)
    provider.play(*(search(word) for word in ("timeout", "order", "step", "send", "return", "def")), ANSWER)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        records = [entry["data"] for entry in pi.entries() if entry["type"] == "custom"]
    assert records[0]["phase"] == "mid-run"
    first = next(n for n, sent in enumerate(provider.requests) if MARKER in json.dumps(sent.messages))
    assert 3 <= first <= 6
    assert "cache_control" in json.dumps(provider.requests[first].messages[0]), "the question is pinned"
    assert len(json.dumps(provider.requests[first].body)) < len(json.dumps(provider.requests[first - 1].body))


def test_a_run_that_is_cut_short_changes_nothing(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """Aborted by the user, or failed at the provider: no edit and no record."""
    gate = threading.Event()
    provider.play(search(), Turn("Never read.", gate=gate))
    with home.start(project) as pi:
        pi.command("prompt", message=QUESTION)
        wait_until(lambda: len(provider.requests) == 2)
        pi.command("abort")
        gate.set()
        wait_until(lambda: not pi.command("get_state")["isStreaming"])
        assert edits(pi) == []

        provider.play(search(), Turn(refusal=400))
        with pytest.raises(PiFailed, match="ended in an error"):
            pi.prompt(QUESTION)
        assert edits(pi) == []
        assert [entry for entry in pi.entries() if entry["type"] == "custom"] == []


def test_steering_and_queued_prompts_are_judged_as_what_they_are(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """A message sent at work belongs to its run; a queued one begins a run of its own; both runs are judged."""
    home.settle(runEndBreakEven=False)
    gate = threading.Event()
    provider.play(search(), Turn("I see.", [Call("bash", {"command": "ls shop"})]), Turn("So far.", gate=gate))
    provider.play(search("order"), ANSWER, DONE)
    with home.start(project) as pi:
        pi.command("prompt", message=QUESTION)
        wait_until(lambda: len(provider.requests) == 1)
        pi.command("steer", message="Look at the orders, too.")
        wait_until(lambda: len(provider.requests) == 3)
        pi.command("follow_up", message="And who sends an order?")
        gate.set()
        pi.wait_for(lambda event: event["type"] == "agent_settled")
        pi.prompt("Go on.")
        notes = [text for text in provider.requests[-1].results().values() if text.startswith(MARKER)]
        searches = [note for note in notes if "grep -rn" in note]
        assert len(searches) == 2
        (record,) = (entry["data"] for entry in pi.entries() if entry["type"] == "custom")
        assert "kept" not in {result["outcome"] for result in record["results"] if result["kind"] == "large"}


def test_going_back_in_the_tree_brings_the_original_back(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """From the last answer, before the edits, the next request has the raw output again, and nothing is saved."""
    provider.play(search(), ANSWER, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        answer = next(entry for entry in reversed(pi.entries()) if entry["type"] == "message")
        pi.command("prompt", message=f"/nav {answer['id']}")
        wait_until(lambda: pi.command("get_state") is not None and pi.status() == "🛡 0 saved")
        pi.prompt("Go on.")
        (result,) = outputs(home)
        assert [text_of(result.raw)] == list(provider.requests[-1].results().values())


def test_a_compaction_takes_the_edits_in(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """The status bar then shows what was saved in all, and the guard goes on behind the summary."""
    provider.play(search(), ANSWER, DONE, Turn("## Goal\nFind the timeout."), search(), ANSWER, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        pi.prompt("Good.")
        pi.command("compact")
        wait_until(lambda: pi.command("get_state") is not None and "Σ−" in pi.status())
        pi.prompt(QUESTION)
        pi.prompt("Go on.")
        assert any(text.startswith(MARKER) for text in provider.requests[-1].results().values())
        assert extension_errors(pi) == []


def test_a_fork_goes_on_with_the_edits_of_its_branch(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """The copy has the edits, its recall finds the original, and the lock moves to the new file."""
    provider.play(search(), ANSWER)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        (result,) = outputs(home)
        pi.command("clone")
        provider.play(Turn("", [Call("recall", {"entryId": result.id})]), DONE)
        pi.prompt("Show it again.")
        note, whole = provider.requests[-1].results().values()
        assert note.startswith(MARKER)
        assert text_of(result.raw) == whole
        locked = {path.name.removesuffix(LOCK_SUFFIX) for path in home.sessions.glob(f"*{LOCK_SUFFIX}")}
        state = pi.command("get_state")
        assert locked == {Path(state["sessionFile"]).name}


def test_a_fork_from_an_earlier_prompt_has_what_stood_before_it(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """The edits in front of that prompt are in the new session and hold; what came behind it is not."""
    provider.play(search(), ANSWER, search("order"), ANSWER, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        pi.prompt("Who sends an order?")
        assert len(edits(pi)) == 2
        prompts = [entry for entry in pi.entries() if entry.get("message", {}).get("role") == "user"]
        pi.command("fork", entryId=prompts[1]["id"])
        pi.prompt("Go on.")
        (note,) = provider.requests[-1].results().values()
        assert note.startswith(MARKER)
        assert len(edits(pi)) == 1
        assert extension_errors(pi) == []


def test_marks_of_an_hour_stay_in_front(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """Where Pi sets the longer life, marks of ours have it too, in every request that carries an edit."""
    home.variables["PI_CACHE_RETENTION"] = "long"
    home.settle(midRunBatchChars=50_000, midRunBreakEven=False, midRunMinAgeTurns=2)
    provider.play(*(search(word) for word in ("timeout", "order", "step", "send", "return")), ANSWER, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        pi.prompt("Go on.")
    edited = [sent.body for sent in provider.requests if MARKER in json.dumps(sent.messages)]
    assert edited
    for body in edited:
        lives = marks_of(body)
        assert set(lives) == {"1h"}
        assert len(lives) == 4


def test_an_old_image_goes_and_comes_back_by_recall(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """Images of tool results leave after some turns, without a judge; recall attaches them again."""
    (project / "picture.png").write_bytes(png(1200, 900))
    provider.play(Turn("", [Call("read", {"path": "picture.png"})]), Turn("A grey field."), *[DONE] * 5)
    with home.start(project) as pi:
        for words in ("What is in picture.png?", "Good.", "Fine.", "Well.", "Yes.", "Go on."):
            pi.prompt(words)
        assert '"type": "image"' not in json.dumps(provider.requests[-1].messages)
        (result,) = outputs(home)
        provider.play(Turn("", [Call("recall", {"entryId": result.id})]), DONE)
        pi.prompt("Show it again.")
        assert '"type": "image"' in json.dumps(provider.requests[-1].messages[-1])


def test_failures_on_the_way_do_no_harm(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """A failed command's log is judged like any output, and a request that Pi repeats spoils nothing."""
    failing = Call("bash", {"command": "grep -rn timeout shop; exit 3"})
    provider.play(Turn("", [failing]), Turn(refusal=529), ANSWER, DONE)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        pi.prompt("Go on.")
        (note,) = provider.requests[-1].results().values()
        assert note.startswith(MARKER)
        assert extension_errors(pi) == []


def test_a_session_without_a_file_is_guarded_too(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """With --no-session the entries themselves cross the pipe; edits, recall, a new start of Python work too."""
    provider.play(search(), ANSWER, DONE)
    with home.start(project, None, "--no-session") as pi:
        pi.prompt(QUESTION)
        pi.prompt("Go on.")
        (note,) = provider.requests[-1].results().values()
        assert note.startswith(MARKER)
        kill_bridge(home)
        target = next(entry["targetId"] for entry in pi.entries() if entry["type"] == "context_edit")
        provider.play(Turn("", [Call("recall", {"entryId": target})]), DONE)
        pi.prompt("Show it again.")
        assert "DEFAULT_TIMEOUT = 12.5" in list(provider.requests[-1].results().values())[-1]
    assert home.session_files() == []


def test_print_and_json_mode_edit_before_they_leave(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """Nobody is there to take edits later, so the run's end waits for them, however slow the judge."""
    provider.play(search(), ANSWER, search("order"), ANSWER, DONE)
    with SlowJudge(0.6) as judge:
        home.settle(model="jev", settleWaitMs=0)
        home.variables |= judge.variables
        home.ask_once(project, QUESTION, None)
        (file,) = home.session_files()
        assert len(transcript(file).edits) == 1
        printed = home.ask_once(project, QUESTION, file, "--mode", "json")
    assert json.loads(printed.splitlines()[0])["type"] == "session"
    assert len(transcript(file).edits) == 2


def test_a_slow_judge_adds_nothing_to_the_end_of_a_run(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """Pi settles first; the edits are appended when they come, and the next request carries them."""
    provider.play(search(), ANSWER, DONE)
    with SlowJudge(1.0) as judge:
        home.settle(model="jev", settleWaitMs=0)
        home.variables |= judge.variables
        with home.start(project) as pi:
            pi.prompt(QUESTION)
            assert edits(pi) == []
            wait_until(lambda: edits(pi) != [])
            pi.prompt("Go on.")
            (note,) = provider.requests[-1].results().values()
            assert note.startswith(MARKER)
            assert len([entry for entry in pi.entries() if entry["type"] == "custom"]) == 1


def test_a_judge_that_pi_is_logged_in_to_needs_no_key_of_ours(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """Pi asks it and sends its own key; what it would say without that key is that there is none."""
    provider.play(search(), ANSWER, search("order"), ANSWER)
    home.settle(model="typesafe/jev-latest", settleWaitMs=30_000, pruneExchanges=False)
    with SlowJudge(0.1) as judge:
        home.redirect("typesafe", f"{judge.server.url}/v1")
        with home.start(project) as pi:
            pi.prompt(QUESTION)
            assert edits(pi) == []
            assert judge.server.requests == []
        home.log_in("typesafe", judge.server.key)
        with home.start(project) as pi:
            pi.prompt("Who sends an order?")
            assert len(edits(pi)) == 1
            (record,) = (entry["data"] for entry in pi.entries() if entry["type"] == "custom")
            assert record["model"] == "typesafe/jev-latest"
            assert judge.server.key not in json.dumps(pi.events)
        assert all(sent.headers["authorization"] == f"Bearer {judge.server.key}" for sent in judge.server.requests)
        assert judge.server.requests != []
    told = [*home.sessions.glob("*"), home.agent / "context-guard.json"]
    assert not any(judge.server.key in file.read_text("utf-8") for file in told)


def test_a_prompt_that_comes_before_the_verdict_gets_it_at_its_next_boundary(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """The new run is not held up; the edits of the last one come at the end of its first turn."""
    gate = threading.Event()
    provider.play(search(), ANSWER, Turn("", [Call("bash", {"command": "ls shop"})], gate=gate), DONE)
    with SlowJudge(1.0) as judge:
        home.settle(model="jev", settleWaitMs=0)
        home.variables |= judge.variables
        with home.start(project) as pi:
            pi.prompt(QUESTION)
            pi.command("prompt", message="Go on.")
            wait_until(lambda: len(provider.requests) == 3)
            wait_until(lambda: len(judge.server.requests) > 0 and judge.server.in_flight == 0)
            time.sleep(0.3)
            gate.set()
            pi.wait_for(lambda event: event["type"] == "agent_settled")
            before, after = (next(iter(sent.results().values())) for sent in provider.requests[2:])
            assert not before.startswith(MARKER)
            assert after.startswith(MARKER)
            targets = [entry["targetId"] for entry in edits(pi)]
            assert len(targets) == len(set(targets))


def test_drafts_of_others_are_kept_and_their_invalid_ones_cost_nothing(
    home: PiHome, project: Path, provider: ScriptedProvider
) -> None:
    """What another extension drafts is appended with ours; a draft that Pi would refuse is left out."""
    others = [
        {"type": "custom", "customType": "other", "data": {"n": 1}},
        {"type": "context_edit", "targetId": "00000000", "replacement": None},
    ]
    # Extensions load by name: this one drafts before the guard does.
    (home.agent / "extensions" / HELPER.name).rename(home.agent / "extensions" / "a-helper.js")
    home.variables["OTHER_DRAFTS"] = json.dumps(others)
    provider.play(search(), ANSWER)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        assert ["other", "context-guard"] == [e["customType"] for e in pi.entries() if e["type"] == "custom"]
        assert len(edits(pi)) == 1


def test_a_killed_python_half_edits_nothing(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """kill -9 before, during and after a judgement: all of a pass is in the session or none, and Pi goes on."""
    provider.play(search(), ANSWER, search("order"), ANSWER, search("step"), ANSWER)
    with SlowJudge(1.0) as judge:
        home.settle(model="jev", settleWaitMs=30_000, pruneExchanges=False)
        home.variables |= judge.variables
        with home.start(project) as pi:
            kill_bridge(home)
            pi.prompt(QUESTION)
            assert len(edits(pi)) == 1, "before: a new process judges"

            asked = len(judge.server.requests)
            pi.command("prompt", message="Who sends an order?")
            wait_until(lambda: len(judge.server.requests) > asked)
            kill_bridge(home)
            pi.wait_for(lambda event: event["type"] == "agent_settled")
            assert len(edits(pi)) == 1, "during: nothing of it is written"

            pi.prompt("Which steps are there?")
            kill_bridge(home)
            (*_, target) = edits(pi)
            assert len(edits(pi)) == 2, "after: what was written stays"
            provider.play(Turn("", [Call("recall", {"entryId": target["targetId"]})]), DONE)
            pi.prompt("Show it again.")
            assert not list(provider.requests[-1].results().values())[-1].startswith(MARKER)
    (file,) = home.session_files()
    assert len(transcript(file).edits) >= 2
    provider.play(DONE)
    home.ask_once(project, "Go on.", file)


def test_without_python_pi_goes_on_unguarded(home: PiHome, project: Path, provider: ScriptedProvider) -> None:
    """One warning, no edit, and recall still answers from the session."""
    extension = home.install_guard()
    lines = extension.read_text("utf-8").split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith("const COMMAND"))
    lines[place] = 'const COMMAND = ["/nowhere/python", "bridge"];'
    extension.write_text("\n".join(lines), "utf-8")
    provider.play(search(), ANSWER)
    with home.start(project) as pi:
        pi.prompt(QUESTION)
        (result,) = outputs(home)
        provider.play(Turn("", [Call("recall", {"entryId": result.id, "offset": 2, "limit": 1})]), DONE)
        pi.prompt("Show it again.")
        said = list(provider.requests[-1].results().values())[-1]
        assert said.startswith(text_of(result.raw).split("\n")[1] + "\n\n[context-guard's Python")
        told = [event for event in pi.events if event.get("method") == "notify"]
        assert len(told) == 1
        assert edits(pi) == []


def search(word: str = "timeout") -> Turn:
    return Turn("I'll search for it.", [Call("bash", {"command": f"grep -rn {word} shop | sort"})])


def edits(pi: PiProcess) -> list[Json]:
    return [entry for entry in pi.entries() if entry["type"] == "context_edit"]


def extension_errors(pi: PiProcess) -> list[Json]:
    return [event for event in pi.events if event.get("type") == "extension_error"]


def transcript(file: Path) -> Transcript:
    """What the session holds; it has to be whole."""
    data = file.read_bytes()
    for line in data.splitlines():
        json.loads(line)
    return read(data).unwrap()


def outputs(home: PiHome) -> list[Any]:
    """The tool results of the session's branch."""
    file = home.session_files()[0]
    return [entry for entry in transcript(file).entries if entry.role == "tool"]


def kill_bridge(home: PiHome) -> None:
    (process,) = wait_until(lambda: bridges(home.environment()))
    kill(process)
    wait_until(lambda: process not in processes_with(home.environment()))


def wait_until(found: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "nothing came of it in time"
        time.sleep(0.02)
    return value


def assert_marks_are_in_order(body: Json) -> None:
    """At most four cache marks, and none with a longer life behind one with a shorter."""
    lives = marks_of(body)
    assert len(lives) <= 4
    assert lives == sorted(lives)  # "1h" before "5m"


def marks_of(body: Json) -> list[str]:
    """The lives of the cache marks, in the order in which the provider reads them."""
    blocks = [*body.get("tools", []), *(body["system"] if isinstance(body.get("system"), list) else [])]
    for message in body["messages"]:
        blocks += message["content"] if isinstance(message["content"], list) else []
    return [block["cache_control"].get("ttl", "5m") for block in blocks if "cache_control" in block]


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([line % 251]) * width for line in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
