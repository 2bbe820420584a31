"""`context-guard audit`: what a guard would have saved in the sessions on a disk, and that it only looks."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from build import answer, call, lines, prompt, result, session
from command_line import complaint, guard
from msgspec.structs import replace
from recorded_sessions import START, Turn, claude_code, codex, opencode_file, write_all
from shared_data import SHARED, needs_shared

from context_guard.answers import Answered
from context_guard.config import Config
from context_guard.cost.audit import PLAUSIBLE, Terms, audit
from context_guard.cost.list_prices import LIST_PRICES, list_price
from context_guard.cost.totals import Totals, add_up, by_host_and_model
from context_guard.local_judge import judge_locally
from context_guard.requests import Request
from context_guard.transcript import Entry, Model, Transcript, Usage
from context_guard_effects.audit import pool
from context_guard_effects.audit.units import Unit
from context_guard_effects.audit.work import Outcome, audit_unit

SONNET = Model("anthropic", "claude-sonnet-5-5", "anthropic-messages")
TURNS = (Turn("Where is it?", (("ls", "a\nb"),), "Two files."), Turn("Thanks.", (), "Welcome."))
MINUTE = 60_000


def long_session(runs: int = 8, calls: int = 4, pause: int = 30 * MINUTE) -> Transcript:
    """Runs of calls with large outputs, each run after a pause in which the cache expires."""
    pieces: list[Entry] = []
    now = START
    for run in range(runs):
        now += pause
        pieces.append(replace(prompt(f"Where is NEEDLE_{run} made?"), time=now))
        for number in range(calls):
            now += 5_000
            command = {"command": f"cat part-{run}-{number}.log"}
            pieces.append(replace(call("bash", command), time=now))
            pieces.append(replace(result(lines(300)), time=now))
        pieces.append(replace(answer(f"NEEDLE_{run} is nowhere."), time=now + 5_000))
    made = session(*pieces)
    entries = (replace(it, model=SONNET) if it.role == "assistant" else it for it in made.entries)
    return replace(made, entries=tuple(entries))


def test_a_guard_saves_where_large_outputs_stay_behind() -> None:
    """After pauses its edits are free: the bill falls, and the figures hang together."""
    found = audit(long_session(), Terms(), judge_locally)
    assert (40, "anthropic/claude-sonnet-5-5", 2.0) == (found.requests, found.model, found.price)
    assert found.low <= found.high < -0.2
    assert found.edits > 0
    assert found.peak_with < found.peak_without
    assert found.with_guard.tokens < found.without.tokens
    assert found.low == pytest.approx(found.with_guard.units / found.without.units - 1)


def test_an_audit_knows_at_each_moment_only_what_came_before() -> None:
    """No request to the judge quotes anything that the session says later."""
    asked: list[Request] = []

    def listening(request: Request) -> Answered:
        asked.append(request)
        return judge_locally(request)

    audit(long_session(), Terms(), listening)
    latest = -1
    for request in asked:
        said = repr(request)
        told = [run for run in range(8) if f"NEEDLE_{run}" in said or f"part-{run}-" in said]
        latest = max(latest, *told)
        assert f"NEEDLE_{latest + 1}" not in said
    whole = len(asked)
    asked.clear()
    audit(long_session(runs=4), Terms(), listening)
    assert 0 < len(asked) < whole


def test_a_session_that_stops_early_is_audited_as_a_part_of_the_whole() -> None:
    """The requests to the judge in the first half are the same whatever comes after it."""
    heard: list[list[Request]] = []
    for runs in (4, 8):
        asked: list[Request] = []
        audit(long_session(runs), Terms(), lambda request, to=asked: to.append(request) or judge_locally(request))  # type: ignore[misc]
        heard.append(asked)
    assert heard[0] == heard[1][: len(heard[0])]


def test_a_guard_that_is_off_changes_nothing() -> None:
    found = audit(long_session(), Terms(config=replace(Config(), enabled=False)), judge_locally)
    assert (0.0, 0.0, 0, found.without) == (found.low, found.high, found.edits, found.with_guard)


def test_without_times_the_band_covers_a_warm_cache_and_a_cold_one() -> None:
    """With its times the same session gives a band inside of it, but for the steps assumed."""
    timed = long_session()
    untimed = replace(timed, entries=tuple(replace(it, time=None) for it in timed.entries))
    found = audit(untimed, Terms(), judge_locally)
    assert not found.is_timed
    warm = audit(long_session(pause=MINUTE), Terms(), judge_locally)
    cold = audit(long_session(pause=10 * MINUTE), Terms(), judge_locally)
    assert found.low == pytest.approx(min(warm.low, cold.low), abs=0.01)
    assert found.high == pytest.approx(max(warm.high, cold.high), abs=0.01)


def test_the_bill_is_what_the_provider_counted() -> None:
    """Each response once, in units of plain input; a session with a gap in its usage goes by the simulation."""
    usage = Usage(input=1_000, cache_read=10_000, cache_write=100)
    transcript = long_session(runs=2)
    counted = tuple(
        replace(it, usage=usage, response_id=f"r{at // 6}") if it.role == "assistant" else it
        for at, it in enumerate(transcript.entries)
    )
    answers = [it for it in counted if it.usage]
    found = audit(replace(transcript, entries=counted), Terms(), judge_locally)
    assert found.recorded is not None
    responses = len({it.response_id for it in answers})
    assert found.bill == pytest.approx(responses * (1_000 + 10_000 * 0.05 + 100 * 1.25))
    with_gap = tuple(replace(it, usage=None) if it is answers[-1] else it for it in counted)
    assert audit(replace(transcript, entries=with_gap), Terms(), judge_locally).recorded is None


def test_usage_that_cannot_be_all_of_it_is_neither_a_bill_nor_a_check() -> None:
    """The made-up usage of a stand-in: ten tokens for requests of thousands."""
    transcript = long_session(runs=2)
    entries = tuple(
        replace(it, usage=Usage(input=10), response_id=it.id) if it.role == "assistant" else it
        for it in transcript.entries
    )
    found = audit(replace(transcript, entries=entries), Terms(), judge_locally)
    assert found.recorded is not None
    assert (found.counted, found.bill) == (None, found.without.units)
    total = add_up([found])
    assert (total.undercounted, total.recorded, total.simulated) == (1, 0.0, 0.0)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("minResultChars=60000", "smallResultMinChars=0"), "In 1 session no output was large."),
        (("minRunChars=200000", "midRun=false"), "In 1 session a large output was never judged"),
        (("chunkKeepThreshold=0", "midRun=false"), "In 1 session all of every large output was found needed."),
        (("midRun=false",), "In 1 session edits were put off: none was expected to earn back"),
    ],
)
def test_an_audit_without_an_edit_says_why(settings: tuple[str, ...], said: str) -> None:
    example = Path(__file__).resolve().parents[1] / "docs" / "examples" / "pi-search.jsonl"
    words = [word for it in settings for word in ("--set", it)]
    assert f"  {said}" in guard("audit", example, "--jobs", 1, "--set", "pruneExchanges=false", *words).stdout


def test_totals_are_the_sums_of_their_groups() -> None:
    rows = [audit(long_session(runs), Terms(), judge_locally) for runs in (1, 3, 5)]
    rows.append(replace(rows[0], host="other", price=None))
    total, groups = add_up(rows), by_host_and_model(rows)
    assert total.sessions == sum(it.sessions for it in groups) == 4
    assert total.dollars == pytest.approx(sum(it.dollars for it in groups))
    assert total.dollars == pytest.approx(sum(it.bill * 2 / 1e6 for it in rows[:3]))
    assert (1, Totals(host="other", model=rows[0].model).host) == (total.unpriced, groups[-1].host)
    assert total == add_up(rows[2:], add_up(rows[:2]))


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-sonnet-5-5", 2.0),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("claude-opus-4-1", 15.0),
        ("claude-opus-4-5", 5.0),
        ("gpt-5.1-codex", 1.25),
        ("gpt-5-mini", 0.25),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 3.0),
        ("claude-3-5-haiku@20241022", 0.8),
        ("openai/gpt-5.2-2025-12-11", 1.75),
        ("gpt-4o-2024-05-13", 5.0),
        ("gpt-4o-2024-08-06", 2.5),
        ("gpt-5-chat-latest", 1.25),
        ("o3", 2.0),
        ("gpt-5.5-codex", None),
        ("gpt-5.2-pro", None),
        ("claude-sonnet-4-9", None),
        ("ft:gpt-4.1-2025-04-14:somebody::1", None),
        ("gemini-flash-latest", None),
        ("a-model-of-tomorrow", None),
    ],
)
def test_a_model_without_a_listed_price_has_none(model: str, price: float | None) -> None:
    assert price == list_price(Model("x", model), {})


def test_a_price_has_one_source() -> None:
    names = [name for _, rows in LIST_PRICES for name, _ in rows]
    assert len(names) == len(set(names))


def test_the_users_own_price_wins_and_the_longest_name_of_all() -> None:
    own = {"sonnet": 1.0, "claude-sonnet-5": 1.5}
    assert 1.5 == list_price(SONNET, own)
    assert 2.0 == list_price(SONNET, {"opus": 9.0})


def audited(*args: object) -> Any:
    run = guard("audit", *args, "--json", "--jobs", 1)
    assert (0, "") == (run.exit_code, run.stderr)
    return json.loads(run.stdout)


def test_every_host_is_found_in_a_folder_and_nothing_is_changed(tmp_path: Path) -> None:
    """Each file, folder of events and database once; the same bytes afterwards, and no new file."""
    count = write_all(tmp_path, TURNS)
    before = {it: it.read_bytes() for it in tmp_path.rglob("*") if it.is_file()}
    found = audited(tmp_path)
    assert (count, [], 0, 0) == (found["total"]["sessions"], found["broken"], found["empty"], found["unknown"])
    assert {3} == {it["requests"] for it in found["sessions"]}
    assert before == {it: it.read_bytes() for it in tmp_path.rglob("*") if it.is_file()}


def test_a_large_session_does_not_come_last() -> None:
    """Two processes that take what is next end together, as far as sizes tell; all others stay in their order."""
    units = [Unit(f"{at}", size=size) for at, size in enumerate([1] * 20 + [10])]
    assert units == pool.in_turn(units, 1)
    turn = pool.in_turn(units, 2)
    assert [units[-1], *units[:-1]] == turn
    busy = [0, 0]
    for unit in turn:
        busy[busy.index(min(busy))] += unit.size
    assert [15, 15] == busy


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    write_all(tmp_path, TURNS)
    run = guard("audit", tmp_path, "--json", "--jobs", 2)
    found = json.loads(run.stdout)
    one = audited(tmp_path)
    for it in (found, one):
        it["judge"].pop("seconds")
    assert one == found


def test_what_cannot_be_read_is_listed_and_costs_only_its_row(tmp_path: Path) -> None:
    """Cut, foreign, mixed, empty, binary and linked in a circle: the good session beside them is audited."""
    (tmp_path / "good.jsonl").write_bytes(claude_code(TURNS))
    (tmp_path / "cut.json").write_text('{"messages": [{"role": "us')
    (tmp_path / "mixed.jsonl").write_bytes(codex(TURNS) + b"\n" * 70_000 + claude_code(TURNS))
    (tmp_path / "other.json").write_text('{"name": "package"}')
    (tmp_path / "other.jsonl").write_text('{"name": 1}\n')
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "silent.jsonl").write_text('{"type":"summary","sessionId":"s"}\n')
    (tmp_path / "notes.txt").write_text("no session")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 100)
    sqlite3.connect(tmp_path / "foreign.db").close()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "again.jsonl").symlink_to(tmp_path / "good.jsonl")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    found = audited(tmp_path)
    assert (1, 2) == (found["total"]["sessions"], found["empty"])
    assert 2 == found["unknown"]
    assert ["broken.db", "cut.json", "gone.jsonl", "mixed.jsonl"] == [Path(it["path"]).name for it in found["broken"]]
    assert all(it["reason"].endswith(".") for it in found["broken"])


def test_a_file_without_permission_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the error of the system, which root would never see."""
    (tmp_path / "good.jsonl").write_bytes(claude_code(TURNS))
    (tmp_path / "closed.jsonl").write_bytes(claude_code(TURNS))
    opened = Path.open

    def refuse(path: Path, *args: Any, **more: Any) -> Any:
        if path.name == "closed.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **more)

    monkeypatch.setattr(Path, "open", refuse)
    found = audited(tmp_path)
    assert (1, ["Permission denied."]) == (found["total"]["sessions"], [it["reason"] for it in found["broken"]])


def test_a_line_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    huge = (Turn("Read it.", (("cat big", "x" * 10_000_000),), "It is big."),)
    (tmp_path / "huge.jsonl").write_bytes(claude_code(huge))
    (found,) = audited(tmp_path)["sessions"]
    assert found["chars"] > 10_000_000


def test_a_named_file_that_is_no_session_is_an_error(tmp_path: Path) -> None:
    """In a folder it may be anything; by name somebody took it for a session. What else was given is told first."""
    (tmp_path / "good.jsonl").write_bytes(claude_code(TURNS))
    (tmp_path / "other.json").write_text("{}")
    for name, said in (("other.json", "No host's session"), ("nowhere.jsonl", "There is no such file")):
        run = guard("audit", tmp_path / "good.jsonl", tmp_path / name, "--jobs", 1)
        assert 3 == run.exit_code
        assert said in complaint(run)
        assert "1 session, 3 requests" in run.stdout


def test_without_a_path_it_looks_where_hosts_keep_their_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the home directory, or where a host's own variable points; nothing there is no error."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    said = guard("audit").stdout
    assert "No session in which a model answered was found." in said
    for folder in (".claude/projects", ".codex/sessions", ".pi/agent/sessions", ".local/share/opencode/opencode.db"):
        assert str(tmp_path / folder) in said
    for folder in (".claude/projects/-made-up", "moved/sessions/2026/11/30", ".local/share/opencode"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".claude/projects/-made-up/s.jsonl").write_bytes(claude_code(TURNS))
    (tmp_path / "moved/sessions/2026/11/30/rollout-s.jsonl").write_bytes(codex(TURNS))
    opencode_file(tmp_path / ".local/share/opencode/opencode.db", TURNS)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "moved"))
    assert {"claude-code", "codex", "opencode"} == {it["host"] for it in audited()["sessions"]}


def test_a_price_that_is_none_is_a_mistake_of_usage() -> None:
    for given in ("sonnet", "sonnet=cheap", "=3", "sonnet=-1"):
        run = guard("audit", "--price", given)
        assert (2, True) == (run.exit_code, "is no price" in complaint(run))


def test_an_interrupt_prints_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures so far are worth having; the exit code says that they are not all."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_bytes(claude_code(TURNS))
    done: list[Unit] = []

    def twice(unit: Unit, terms: Terms) -> Outcome:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(unit)
        return audit_unit(unit, terms)

    monkeypatch.setattr(pool, "audit_unit", twice)
    run = guard("audit", tmp_path, "--jobs", 1)
    assert (130, "") == (run.exit_code, run.stderr)
    assert "2 sessions, 6 requests" in run.stdout
    assert "Interrupted: these are the sessions that were done." in run.stdout


@needs_shared
def test_what_counts_as_all_of_a_recorded_usage_is_far_from_every_recorded_session() -> None:
    """The evidence for `PLAUSIBLE` (docs/audit.md): usage is either a stand-in's or about what the texts come to."""
    found = json.loads(guard("audit", SHARED / "hosts" / "samples", SHARED / "pi", "--json").stdout)["sessions"]
    shares = [
        tokens(it["recorded"]) / tokens(it["without"]) for it in found if it["recorded"] and tokens(it["without"])
    ]
    assert any(share < PLAUSIBLE for share in shares)
    assert any(share > PLAUSIBLE for share in shares)
    assert all(share < PLAUSIBLE / 10 or share > PLAUSIBLE * 5 for share in shares)


def tokens(bill: dict[str, float]) -> float:
    return bill["input"] + bill["cacheRead"] + bill["cacheWrite"]
