"""What a branch says about itself: kept out now, over its life, what judging took, and the last pass."""

import msgspec
from build import answer, call, edit, lines, note, prompt, recorded, result, session, summary

from context_guard.records import ItemResult, Phase, Record, decode_record, encode_record
from context_guard.savings import count_savings
from context_guard.status import result_lines, status_lines
from context_guard.transcript import Transcript

STUB = "[context-guard] Distilled …"


def record(*results: ItemResult, saved: int = 0, phase: Phase = "run-end", timed_out: bool = False) -> Record:
    return Record(1, phase, "local", saved, 3, 0, 0.0008, 840, timed_out, results)


def told(transcript: Transcript) -> str:
    return "\n".join(status_lines(count_savings(transcript)))


def test_a_branch_without_passes_says_so() -> None:
    assert told(session(prompt("?"), answer("."))) == (
        "🛡 0 saved\nKept out of the context now: nothing.\nNothing has been judged on this branch."
    )


def test_an_edit_without_a_record_is_not_called_unjudged() -> None:
    """Another program made it; what it keeps out counts all the same."""
    first, kept_out, last = told(
        session(prompt("?"), call("bash"), result(lines(100)), answer("."), edit("e3", STUB))
    ).split("\n")
    assert (first, kept_out) == (
        "🛡 −1.1k · 1",
        "Kept out of the context now: about 1.1k tokens (4,364 characters), 1 tool output.",
    )
    assert last.startswith("No record of a pass stands on this branch: another program made these edits")


def test_what_is_kept_out_what_judging_took_and_the_last_pass() -> None:
    """Item by item as the record has it: outcome, kind, sizes, label, reason, and what the judge said."""
    transcript = session(
        prompt("?"),
        call("bash"),
        result(lines(100)),
        answer("."),
        edit("e3", STUB),
        recorded(record(saved=5, phase="mid-run")),
        recorded(
            record(
                ItemResult("e3", "bash", "bash `a`", "distilled", "chunks", 4_591, 27, jev=("kw.05 keep 1/7",)),
                ItemResult("e9", "read", "read b", "kept", "needed", 500, 500, kind="small"),
                saved=4_564,
                timed_out=True,
            )
        ),
    )
    assert told(transcript).split("\n") == [
        "🛡 −1.1k · 1",
        "Kept out of the context now: about 1.1k tokens (4,364 characters), 1 tool output.",
        "Saved by all passes of this branch: about 1.1k tokens (4,569 characters).",
        "Passes: 1 at run end, 1 checkpoint; 6 requests to a judge, $0.0016.",
        "Last run by local (0.8 s, time ran out; 1 large, 1 small):",
        "  distilled large    4.6k → 27       e3 bash `a` (chunks)",
        "      judge: kw.05 keep 1/7",
        "  kept      small    500             e9 read b (needed)",
    ]


def test_images_exchanges_and_plurals() -> None:
    """Each sort is counted by itself."""
    transcript = session(
        prompt("old"),
        call("x"),
        result("a", images=1),
        answer("done"),
        prompt("new"),
        call("x"),
        result("a", images=1),
        call("x"),
        result("a", images=1),
        answer("."),
        edit("e1", "[context-guard] Omitted an earlier exchange"),
        *(edit(name, None) for name in ("e2", "e3", "e4")),
        edit("e7", "[context-guard] Removed 1 image"),
        edit("e9", "[context-guard] Removed 1 image"),
    )
    assert "1 whole exchange, 2 outputs without their images." in told(transcript)


def test_a_compaction_is_told() -> None:
    """What was saved before it no longer shows in the figure for now."""
    folded = msgspec.structs.replace(summary("all of it"), kind="compaction")
    transcript = session(prompt("?"), answer("."), recorded(record(saved=80_000)), folded)
    text = told(transcript)
    assert text.startswith("🛡 0 · Σ−20.0k\n")
    assert "a compaction has since taken in some of it." in text


def test_a_note_that_calls_itself_a_compaction_is_none() -> None:
    """An extension may name its messages as it likes."""
    transcript = session(prompt("?"), answer("."), recorded(record(saved=80_000)), note("x", kind="compaction"))
    assert not count_savings(transcript).compacted


def test_a_record_with_hostile_text_stays_on_its_lines() -> None:
    """Records can be forged by whoever writes the session."""
    item = ItemResult("e\n3", "x", "a\x1b[2J\nb", "kept", "r\nx", 1, 1, jev=("\x07\n",))
    found = status_lines(count_savings(session(prompt("?"), answer("."), recorded(record(item)))))
    assert not any(char in line for line in found for char in "\n\x1b\x07")


def test_a_result_with_an_impossible_size_is_passed_over() -> None:
    """Sizes that no output has can neither be added nor printed; the rest of the record counts."""
    sizes = [{"entryId": f"e{digits}", "beforeChars": int("9" * digits)} for digits in (12, 300)]
    decoded = decode_record({"v": 1, "phase": "run-end", "requests": 3, "results": [*sizes, {"entryId": "ok"}]})
    assert decoded is not None
    assert ([result.entry_id for result in decoded.results], decoded.requests) == (["e12", "ok"], 3)


def test_an_edit_that_waits_says_what_was_weighed() -> None:
    """Also once it has been stored and read back; without a sum the record is as the original writes it."""
    waiting = ItemResult(entry_id="r1", label="bash", reason="deferred", weighed="would cost you 3.1k, 1.2k saved")
    stored = decode_record({"v": 1, "results": [encode_record(record(waiting))["results"][0]]})
    assert stored is not None
    assert "      waits: would cost you 3.1k, 1.2k saved" in tuple(result_lines(stored.results[0]))
    plain = encode_record(record(ItemResult(entry_id="r1", reason="deferred")))
    assert "weighed" not in plain["results"][0]
