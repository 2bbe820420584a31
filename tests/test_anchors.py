"""Which results anchor the cache after an edit, and what the log of written cache entries can be trusted for."""

import msgspec
import pytest
from build import MODEL, SECOND, answer, call, calls, edit, note, prompt, result, session, summary

from context_guard.boundary import Boundary
from context_guard.cache.anchors import Anchors, cache_anchors
from context_guard.cache.layout import read_layout, rewrite_chars
from context_guard.cache.points import MAX_POINTS, TTL_MS, CachePoint
from context_guard.cache.refresh import log_points, refresh_points, run_baseline
from context_guard.config import Config
from context_guard.transcript import Model, Transcript, Usage

NOW = 1_000 * SECOND
OTHER = Model(provider="anthropic", id="another", api="anthropic-messages")
BASE = Usage(input=10, cache_read=600, cache_write=390)
"""1,000 tokens: the whole of a run's first request."""


def point(entry_id: str, leaf_id: str, *, model: Model = MODEL, time: int = NOW - SECOND) -> CachePoint:
    return CachePoint(entry_id=entry_id, model=model.ref, time=time, leaf_id=leaf_id)


def edited(*targets: str) -> Transcript:
    """Three turns, of which the second has two results (e5, e6), then these edits."""
    return session(
        prompt("q"),  # e1
        call("bash", id="c1"),
        result("x" * 1_500),  # e3
        calls(("bash", {}), ("bash", {})),
        result("x" * 1_500),  # e5
        result("x" * 1_500),
        call("bash", id="c3"),
        result("x" * 1_500),  # e8
        *(edit(target, "[context-guard] Distilled …") for target in targets),
    )


def places(anchors: Anchors) -> tuple[str | None, str | None]:
    """The anchors as entries of `edited`."""
    names = {"c1": "e3", "e4-call-0": "e5", "e4-call-1": "e6", "c3": "e8", None: None}
    return names[anchors.read], names[anchors.write]


def test_without_pending_edits_there_are_no_anchors() -> None:
    """Case 33: nor when an answer came since; with an empty log only the end of the edited batch is one."""
    assert cache_anchors(edited(), (point("e3", "e8"),), NOW) == Anchors()
    answered = session(prompt("q"), call("bash"), result("x"), edit("e3", "[context-guard]"), answer("done"))
    assert cache_anchors(answered, (), NOW) == Anchors()
    assert places(cache_anchors(edited("e5"), (), NOW)) == (None, "e6")
    assert cache_anchors(edited("elsewhere"), (point("e3", "e8"),), NOW) == Anchors()


def test_a_failed_answer_leaves_edits_pending() -> None:
    """Its retry repeats the request."""
    failed = msgspec.structs.replace(answer(""), stop="error")
    transcript = session(prompt("q"), call("bash", id="c1"), result("x"), edit("e3", "[context-guard]"), failed)
    assert cache_anchors(transcript, (), NOW) == Anchors(write="c1")


def test_the_latest_written_entry_before_the_edit_is_read() -> None:
    """Case 34."""
    written = (point("e3", "e8"), point("e6", "e8"), point("e8", "e8"))
    assert places(cache_anchors(edited("e8"), written, NOW)) == ("e6", "e8")


def test_an_edit_of_the_first_output_has_nothing_to_read() -> None:
    """Case 35: the write anchor is at that output."""
    assert places(cache_anchors(edited("e8", "e3"), (point("e3", "e8"), point("e6", "e8")), NOW)) == (None, "e3")


@pytest.mark.parametrize(
    ("written", "is_trusted"),
    [
        (point("e3", "e8", model=OTHER), False),
        (point("e3", "e8", time=NOW - TTL_MS - 1), False),
        (point("e3", "e8", time=NOW - TTL_MS), True),
        (point("e33", "e8"), False),
        (point("e3", "e88"), False),
        (point("e2", "e8"), False),
        (point("e3", "e8"), True),
    ],
)
def test_only_what_this_model_wrote_lately_on_this_branch_is_read(written: CachePoint, is_trusted: bool) -> None:
    """Case 36: the time to live is inclusive, the entry is a tool result, entry and leaf are on the branch."""
    assert places(cache_anchors(edited("e5"), (written,), NOW))[0] == ("e3" if is_trusted else None)


def test_without_a_clock_nothing_is_read() -> None:
    assert places(cache_anchors(edited("e5"), (point("e3", "e8"),), None)) == (None, "e6")


def test_a_change_at_or_before_an_entry_makes_it_unreadable() -> None:
    """Case 37: since it was written its own text was edited, or one before it, or compacted; behind it is fine."""

    def read(*pieces: str | None) -> str | None:
        changes = [summary("so far …") if target is None else edit(target, "[context-guard]") for target in pieces]
        transcript = session(
            prompt("q"),
            call("bash", id="c1"),
            result("x"),
            call("bash", id="c2"),
            result("y"),  # e5
            call("bash", id="c3"),
            result("z"),  # e7
            *changes,
            edit("e7", "[context-guard]"),
        )
        return cache_anchors(transcript, (point("e5", "e7"),), NOW).read

    assert [read(), read("e7"), read("e5"), read("e3"), read(None), read("unknown")] == [
        "c2",
        "c2",
        None,
        None,
        None,
        None,
    ]


def test_parallel_results_are_one_batch() -> None:
    """Case 38: the write anchor is at the end of the edited batch, the read point at the end of the one before."""
    written = (point("e3", "e8"), point("e6", "e8"))
    assert places(cache_anchors(edited("e5"), written, NOW)) == ("e3", "e6")


def test_notes_and_settings_do_not_end_a_batch() -> None:
    """Case 38: another message does, and an omitted result is no place for a mark."""
    transcript = session(
        prompt("q"),
        calls(("bash", {}), ("bash", {}), ("bash", {})),
        result("a"),
        note("by an extension"),
        result("b"),  # e5
        result("c"),
        prompt("steer"),
        edit("e3", "[context-guard]"),
        edit("e6", None),
    )
    assert cache_anchors(transcript, (), NOW).write == "e2-call-1"


def test_an_omitted_exchange_has_no_write_anchor() -> None:
    """Case 39: the first edited entry is its prompt; with nothing logged before there is no anchor at all."""
    assert cache_anchors(edited("e1", "e3"), (), NOW) == Anchors()


def running(*, baseline: Usage | None = BASE) -> Transcript:
    """A run whose outputs take 1,500 characters each, at least 1,000 tokens by the cautious count."""
    first = msgspec.structs.replace(call("bash", id="c1"), usage=baseline)
    return session(
        prompt("q"),
        first,
        result("x" * 1_500),  # e3
        call("bash", id="c2"),
        result("x" * 1_500),  # e5
    )


REACH = 1_000 + (len("bash" + "{}") + 1_500) * 2 // 3
"""Tokens that a request must have read to be sure of having read e3's entry."""


def test_reading_far_past_an_entry_moves_its_time() -> None:
    """Case 40: it then lives five minutes from the request that read through it."""
    written = (point("e3", "e3", time=NOW - TTL_MS),)
    refreshed = refresh_points(running(), written, NOW, Usage(cache_read=3_000), MODEL)
    assert refreshed == (point("e3", "e3", time=NOW),)
    assert refresh_points(running(), written, NOW, Usage(cache_read=REACH), MODEL) == refreshed


@pytest.mark.parametrize(
    ("transcript", "read", "model"),
    [
        (running(), 3_000, OTHER),
        (running(), 0, MODEL),
        (running(), 1_000, MODEL),
        (running(), REACH - 1, MODEL),
        (running(baseline=None), 3_000, MODEL),
        (running(baseline=Usage()), 3_000, MODEL),
    ],
)
def test_with_any_doubt_nothing_is_refreshed(transcript: Transcript, read: int, model: Model) -> None:
    """Case 40: another model, nothing read, no more than the baseline, too little, no baseline."""
    written = (point("e3", "e3"),)
    assert refresh_points(transcript, written, NOW, Usage(cache_read=read), model) == written


def test_a_changed_prefix_is_not_refreshed() -> None:
    """Case 40: an edit before the entry or a compaction since it was written; a newer entry keeps its time."""
    read = Usage(cache_read=9_000)
    base = (prompt("q"), msgspec.structs.replace(call("bash"), usage=BASE), result("x"), call("bash"), result("y"))
    for change in (edit("e3", "[context-guard]"), summary("so far …")):
        written = (point("e5", "e5"),)
        assert refresh_points(session(*base, change), written, NOW, read, MODEL) == written
    newer = (point("e5", "e5", time=NOW),)
    assert refresh_points(session(*base), newer, NOW, read, MODEL) == newer
    before = (point("e3", "e3"),)
    steered = session(*base, prompt("steer"), msgspec.structs.replace(call("bash"), usage=BASE))
    assert refresh_points(steered, before, NOW, read, MODEL) == before


def test_the_baseline_is_the_first_request_after_the_last_prompt() -> None:
    """All that it was sent; a steering message begins anew."""
    assert run_baseline(running()) == 1_000
    assert run_baseline(session(prompt("q"))) is None
    steered = session(prompt("q"), msgspec.structs.replace(call("bash"), usage=BASE), result("x"), prompt("steer"))
    assert run_baseline(steered) is None


def test_an_edit_rewrites_what_follows_the_last_readable_entry() -> None:
    """Case 41: else what follows the question, and everything when the question or what is before it changes."""
    transcript = session(
        prompt("question"),
        call("bash", id="c1"),
        result("x" * 100),  # e3
        call("bash", id="c2"),
        result("y" * 30),  # e5
    )
    args = len("bash" + "{}")

    def rewrite(target: str, *written: CachePoint, within: Transcript = transcript) -> int:
        return rewrite_chars(read_layout(within, Config(), Boundary(written=written, now=NOW)), [target])

    assert rewrite("e5") == 130 + 2 * args
    assert rewrite("e5", point("e3", "e5")) == 30 + args
    assert rewrite("e1") == 138 + 2 * args
    steered = session(prompt("question"), call("bash"), result("x" * 100), call("bash"), result("y" * 30), prompt("no"))
    assert rewrite("e5", within=steered) == 140 + 2 * args
    assert rewrite("e5", point("e3", "e6"), within=steered) == 32 + args


def body(*marked: str) -> dict[str, object]:
    def block(call_id: str) -> dict[str, object]:
        return {"type": "tool_result", "tool_use_id": call_id, "content": "x", "cache_control": {"type": "ephemeral"}}

    return {"messages": [{"role": "user", "content": [block(call_id) for call_id in marked]}]}


def test_marked_results_are_logged() -> None:
    """As entries of the branch, with its last entry; ids in the host's Anthropic form, unknown ones left out."""
    transcript = session(prompt("q"), call("bash", id="call|1"), result("x"), note("later"))
    logged = log_points(transcript, (), body("call_1", "c9"), NOW, MODEL)
    assert logged == (point("e3", "e4", time=NOW),)
    assert log_points(transcript, logged, {"input": "not Anthropic"}, NOW, MODEL) == logged


def test_an_id_that_stands_twice_names_no_entry() -> None:
    """Some hosts count calls anew in every turn: it is not known which result was marked."""
    twice = session(prompt("q"), call("bash", id="c"), result("x"), call("bash", id="c"), result("y"))
    assert log_points(twice, (), body("c"), NOW, MODEL) == ()


def test_the_log_forgets_the_expired_and_the_oldest() -> None:
    """Entries live as long as the argument says; the newest 200 are kept, each once."""
    transcript = session(prompt("q"), call("bash", id="c1"), result("x"))
    old = point("e9", "e9", time=NOW - TTL_MS - 1)
    fresh = point("e9", "e9", time=NOW - TTL_MS)
    added = point("e3", "e3", time=NOW)
    assert log_points(transcript, (old, fresh), body("c1"), NOW, MODEL) == (fresh, added)
    assert log_points(transcript, (old,), body("c1"), NOW, MODEL, 60 * 60 * SECOND) == (old, added)
    assert log_points(transcript, (point("e3", "e3"), fresh), body("c1"), NOW, MODEL) == (fresh, added)
    many = tuple(point(f"x{number}", "e3") for number in range(MAX_POINTS))
    assert log_points(transcript, many, body("c1"), NOW, MODEL) == (*many[1:], added)
