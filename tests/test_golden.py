"""Every pass of the original over real and synthetic Pi sessions, equal in what it collects, decides and writes.

A pass with a `defect` is compared in all that the defect does not reach; what we do instead is asserted by name below.
"""

from typing import Any

import pytest
from golden import digest, edits_of, items_of, load_pass, pass_names, record_of, run_pass
from shared_data import SHARED, needs_shared

from context_guard.cache.break_even import FACTORS, Gate
from context_guard.checkpoint import Due
from context_guard.memory import judged_mid_run
from context_guard.records import was_judged
from context_guard.span import Span
from context_guard.stages import Plan
from context_guard.transcript import calls_of

pytestmark = needs_shared
PASSES = pass_names() if SHARED.is_dir() else []

SUPERSEDED_BY_MORE = ("was changed after this read (bash", "the file it searched was changed")
"""Ways out of date that the original misses: shell edits, and searches in a file that changed."""

MOVES_SUMS = {"double-edit", "cross-deletion", "queued-follow-up", "image-stub-longer"}
"""Defects that change which edits are weighed."""

TOTALS = {"savedChars", "requests", "inputTokens", "timedOut"}
"""Figures of a record that a single entry moves."""


def reached(golden: dict[str, Any]) -> set[str]:
    """Entries that the pass's defects reach."""
    return {entry_id for defect in golden.get("defects", []) for entry_id in defect["where"]}


@pytest.mark.parametrize("name", PASSES)
def test_the_span_is_the_originals(name: str) -> None:
    """Run start, question, answer, notes and history of the current run are the original's."""
    golden = load_pass(name)
    expected = golden["expected_span"]
    _, planned, _ = run_pass(name)
    if expected is None:
        assert planned.spans == ()
        return
    actual = span_of(planned.spans[-1], golden["phase"])
    if has_defect(golden, "stub-in-history"):
        expected, actual = expected | {"history": None}, actual | {"history": None}
    assert expected == actual


@pytest.mark.parametrize("name", PASSES)
def test_the_items_are_the_originals(name: str) -> None:
    """Outputs, exchanges and images, with every chunk and segment border, are the original's."""
    golden = load_pass(name)
    _, planned, _ = run_pass(name)
    actual, where = items_of(planned), reached(golden)
    newer = newer_hints(actual)
    for kind in ("large", "small", "exchanges", "images"):
        assert [plain(it, newer) for it in golden["expected_items"][kind] if id_of(it) not in where] == [
            plain(it, newer)
            for it in actual[kind]
            if id_of(it) not in where and not is_of_queued_run(id_of(it), planned)
        ]


@pytest.mark.parametrize("name", PASSES)
def test_checkpoint_and_gates_are_the_originals(name: str) -> None:
    """Due or not, tier, every sum tried, and the break-even of exchanges and early images are the original's."""
    golden = load_pass(name)
    _, planned, settled = run_pass(name)
    if golden["phase"] == "mid-run":
        if "image-stub-longer" not in codes(golden):
            assert golden["expected_checkpoint"] == checkpoint_of(planned, golden)
    elif not MOVES_SUMS & codes(golden):
        assert golden["expected_gates"] == {
            "exchanges": gate_of(settled.gates.exchanges),
            "images": gate_of(settled.gates.early),
        }


@pytest.mark.parametrize("name", PASSES)
def test_the_edits_are_the_originals(name: str) -> None:
    """Every edit is the original's, byte for byte and in its order."""
    golden = load_pass(name)
    _, _, settled = run_pass(name)
    where = reached(golden)
    assert [it for it in golden["expected_edits"] if it["targetId"] not in where] == [
        it for it in edits_of(settled.drafts) if it["targetId"] not in where
    ]


@pytest.mark.parametrize("name", PASSES)
def test_the_record_is_the_originals(name: str) -> None:
    """The record is the original's, in the order of its keys; only figures that a defect or a race moves may differ."""
    golden = load_pass(name)
    _, planned, settled = run_pass(name)
    expected, actual = golden["expected_record"], record_of(settled.drafts)
    if expected is None or actual is None:
        assert expected == actual
        return
    assert list(expected) == list(actual)
    where = reached(golden) | {it["entryId"] for it in actual["results"] if is_of_queued_run(it["entryId"], planned)}
    free = (TOTALS if golden.get("defects") else set()) | {path.split(".")[-1] for path in golden.get("loose", [])}
    expected, actual = record_without(expected, where, free), record_without(actual, where, free)
    assert expected == actual
    assert [list(it) for it in expected["results"]] == [list(it) for it in actual["results"]]


def test_a_read_by_file_path_names_the_lines_of_its_file() -> None:
    """Defect file-path-read: `file_path` counts as the path."""
    for entry_id, text in defective_edits("file-path-read"):
        assert "(lines " in text, entry_id
        assert "(output lines " not in text, entry_id


def test_lines_that_begin_with_a_time_are_no_search_output() -> None:
    """Defect timestamp-grep: a log is cut in windows and its gaps are output lines."""
    for entry_id, text in defective_edits("timestamp-grep"):
        assert "matches in" not in text, entry_id


def test_a_hidden_failure_is_asked_again() -> None:
    """Defect hidden-failure: `not-worth` beside a failed segment does not count as judged."""
    for name in with_defect("hidden-failure"):
        _, _, settled = run_pass(name)
        reasons = [it.reason for it in settled.decisions if it.entry_id in reached(load_pass(name))]
        assert reasons
        assert not any(map(was_judged, reasons))


def test_a_chunk_without_an_answer_stays() -> None:
    """Defect unanswered-chunk-dropped: silence about a chunk keeps it."""
    for name in with_defect("unanswered-chunk-dropped"):
        _, planned, settled = run_pass(name)
        segments = {(it.entry_id, it.index): it for it in planned.segments}
        for keep_set in settled.keep_sets:
            segment = segments[keep_set.entry_id, keep_set.segment]
            answers = load_pass(name)["answers"]["large"][keep_set.entry_id][keep_set.segment]
            if keep_set.entry_id in reached(load_pass(name)) and isinstance(answers, dict):
                silent = {index for index in segment.chunks if f"chunk_{index + 1}" not in answers}
                assert silent <= set(keep_set.kept)


def test_a_reused_call_id_belongs_to_the_call_before_the_result() -> None:
    """Defect reused-call-id: an earlier result keeps its own call's arguments and turn."""
    for name in with_defect("reused-call-id"):
        transcript, planned, _ = run_pass(name)
        for item in (it for it in planned.collected.large if it.entry_id in reached(load_pass(name))):
            place = next(at for at, entry in enumerate(transcript.entries) if entry.id == item.entry_id)
            result = transcript.entries[place].result
            assert result is not None
            calls = [call for entry in transcript.entries[:place] for call in calls_of(entry.raw)]
            assert [call.args for call in calls if call.id == result.call_id][-1] == item.args


def test_a_failed_edit_supersedes_nothing() -> None:
    """Defect failed-edit-supersedes: a read stays current when the later edit failed."""
    for name in with_defect("failed-edit-supersedes"):
        _, planned, _ = run_pass(name)
        hints = {it.entry_id: it.superseded for it in planned.collected.large}
        assert {hints[entry_id] for entry_id in reached(load_pass(name)) if entry_id in hints} == {""}


def test_an_original_text_that_starts_with_the_marker_is_judged() -> None:
    """Defect raw-marker: only an edit on the branch makes a text ours."""
    for name in with_defect("raw-marker"):
        _, planned, _ = run_pass(name)
        assert reached(load_pass(name)) <= collected_ids(planned)


def test_no_stub_stands_in_the_history() -> None:
    """Defect stub-in-history: the judge never sees the stub of an omitted exchange as a prompt."""
    for name in with_defect("stub-in-history"):
        _, planned, _ = run_pass(name)
        history = planned.spans[-1].history
        assert [it.user for it in history.exchanges if it.user.startswith("[context-guard]")] == []
        assert not history.first_request.startswith("[context-guard]")


def test_the_outputs_before_a_queued_follow_up_are_judged() -> None:
    """Defect queued-follow-up: the run before a queued follow-up is judged too, by its own answer."""
    for name in with_defect("queued-follow-up"):
        _, planned, _ = run_pass(name)
        assert len(planned.spans) > 1
        judged = {it.run_id for it in planned.items.large} | {it.run_id for it in planned.items.small}
        assert planned.spans[0].start_id in judged
        assert all(span.answer for span in planned.spans)


def test_an_entry_is_edited_once() -> None:
    """Defects double-edit and cross-deletion: edits are disjoint, and what is saved is what the edits save."""
    for name in PASSES:
        _, _, settled = run_pass(name)
        targets = [it["targetId"] for it in edits_of(settled.drafts)]
        assert sorted(set(targets)) == sorted(targets), name
        edited = [it for it in settled.decisions if it.replacement is not None]
        assert {it.entry_id for it in edited} <= set(targets), name
        assert settled.record.saved_chars == sum(it.before_chars - it.after_chars for it in edited), name


def test_images_in_a_deferred_exchange_stand_by_their_own_sum() -> None:
    """Defect cross-deletion: deferring an exchange does not take the edit of another item on its entries."""
    for name in with_defect("cross-deletion"):
        _, _, settled = run_pass(name)
        assert settled.gates.early is not None
        assert settled.gates.early.allowed
        edited = {it["targetId"] for it in edits_of(settled.drafts)}
        assert reached(load_pass(name)) <= edited, name


def span_of(span: Span, phase: str) -> dict[str, Any]:
    history: dict[str, Any] = {
        "exchanges": [{"user": digest(it.user), "assistant": digest(it.assistant)} for it in span.history.exchanges]
    }
    if span.history.summary:
        history["summary"] = digest(span.history.summary)
    if span.history.first_request:
        history["firstRequest"] = digest(span.history.first_request)
    found = {
        "runStart": span.start_id,
        "question": digest(span.question),
        "answer": digest(span.answer),
        "notes": digest(span.notes),
        "history": history,
    }
    return found | ({"latest": digest(span.latest)} if phase == "mid-run" else {})


def checkpoint_of(planned: Plan, golden: dict[str, Any]) -> dict[str, Any] | None:
    found = planned.checkpoint
    if found is None:
        return None
    due = isinstance(found, Due)
    span = planned.spans[-1]
    texts = [it.text for it in planned.collected.large] + [it.text for it in planned.collected.small]
    expected = golden["expected_checkpoint"]
    row: dict[str, Any] = {
        "due": due,
        "tier": found.tier if isinstance(found, Due) else None,
        "batchChars": found.batch_chars,
        "outputChars": sum(map(len, texts)),
        "turns": span.turns,
        "currentTurn": span.turns - 1,
        "contextChars": planned.layout.total,
        "tried": [
            {"chars": it.chars, "batch": it.chars >= found.batch_chars}
            | ({} if it.rewrite is None else {"rewriteChars": it.rewrite, "paysOff": it.pays_off})
            for it in found.tried
        ],
    }
    if due:
        row |= {
            "exchanges": [it.prompt_id for it in found.items.exchanges],
            "images": [it.entry_id for it in found.items.images],
        }
    if "factor" in expected:
        row["factor"] = FACTORS[planned.layout.policy]
    return row | {"memo": sorted(judged_mid_run(run_pass(golden["name"])[0]))}


def gate_of(gate: Gate | None) -> dict[str, Any] | None:
    if gate is None:
        return None
    row: dict[str, Any] = {
        "savedChars": gate.saved,
        "minSavingChars": gate.min_saving,
        "rewriteWith": gate.rewrite_with,
        "rewriteWithout": gate.rewrite_without,
        "marginal": gate.marginal,
    }
    if gate.requests is not None:
        row |= {"requests": gate.requests, "factor": gate.factor}
    return row | {"allowed": gate.allowed}


def plain(item: dict[str, Any], newer: set[str]) -> dict[str, Any]:
    """An item without a hint that only we can give."""
    return {key: value for key, value in item.items() if key != "superseded" or id_of(item) not in newer}


def newer_hints(actual: dict[str, Any]) -> set[str]:
    return {
        id_of(it)
        for kind in ("large", "small")
        for it in actual[kind]
        if any(way in it.get("superseded", "") for way in SUPERSEDED_BY_MORE)
    }


def is_of_queued_run(entry_id: str, planned: Plan) -> bool:
    """Whether the entry is an output of a run whose follow-up was queued: the original never looks there."""
    queued = {span.start_id for span in planned.spans[:-1]}
    runs = {it.entry_id: it.run_id for it in planned.collected.large}
    runs |= {it.entry_id: it.run_id for it in planned.collected.small}
    return runs.get(entry_id) in queued


def record_without(record: dict[str, Any], where: set[str], free: set[str]) -> dict[str, Any]:
    results = [
        {key: value for key, value in it.items() if key not in free}
        for it in record["results"]
        if it["entryId"] not in where
    ]
    return {key: value for key, value in record.items() if key not in free} | {"results": results}


def id_of(item: dict[str, Any]) -> str:
    return str(item.get("entryId") or item.get("promptId"))


def collected_ids(planned: Plan) -> set[str]:
    items = planned.collected
    return {it["entryId"] for kind in ("large", "small") for it in items_of(planned)[kind]} | {
        it.prompt_id for it in items.exchanges
    }


def codes(golden: dict[str, Any]) -> set[str]:
    return {defect["code"] for defect in golden.get("defects", [])}


def has_defect(golden: dict[str, Any], code: str) -> bool:
    return code in codes(golden)


def with_defect(code: str) -> list[str]:
    return [name for name in PASSES if has_defect(load_pass(name), code)]


def defective_edits(code: str) -> list[tuple[str, str]]:
    """Entry and replacement of every edit that the defect reached."""
    found = []
    for name in with_defect(code):
        _, _, settled = run_pass(name)
        for edit in edits_of(settled.drafts):
            if edit["targetId"] in reached(load_pass(name)) and edit["replacement"]:
                found.append((edit["targetId"], edit["replacement"]["content"][0]["text"]))
    assert found
    return found
