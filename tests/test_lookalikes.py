"""Outputs that quote the guard: notes and omission lines of its own inside of them are lines like all others."""

from build import answer, call, edit, prompt, result, session
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import FAST, candidate

from context_guard.boundary import Boundary
from context_guard.chunks import cut_chunks
from context_guard.config import Config
from context_guard.recall import recall
from context_guard.render import render
from context_guard.report.earlier_rows import align
from context_guard.stages import plan

QUOTED = st.sampled_from(
    [
        "[… 3 lines omitted (output lines 2–4) …]",
        "[… 1 line omitted (output lines 1–1) …]",
        "[… 12 lines omitted: matches in shop/cart.py (12) …]",
        "[… 40 characters omitted (output line 2, characters 3–42) …]",
        "[context-guard] Distilled the output of bash `x`: kept 3 of 90 lines (1k of 9k chars); the rest. recall.",
        "[context-guard] Removed the output of bash: 9 lines.",
    ]
)
LINES = st.lists(st.one_of(QUOTED, QUOTED, st.sampled_from(["alpha beta", "", "gamma " * 30])), min_size=1, max_size=40)
SMALL = Config(min_chunk_chars=100, max_chunk_chars=200)


@FAST
@given(LINES, st.integers(0))
def test_they_are_rendered_and_found_again_word_for_word(lines: list[str], bits: int) -> None:
    """What stays are slices of the output, by place and never by look. A report that shows an edit beside the output
    shows just the lines that stayed, or none: never a quoted line as a gap, nor a gap as a line."""
    text = "\n".join(lines)
    item = candidate(text)
    cut = cut_chunks(item, SMALL)
    kept = tuple(chunk.index for chunk in cut.chunks if bits >> chunk.index % 30 & 1)
    shown = render(item, cut, kept, SMALL, "run-end")
    rest = shown.text
    for each in shown.stretches:
        if each.kept:
            piece = text[each.offset : each.stop]
            assert piece in rest
            rest = rest[rest.index(piece) + len(piece) :]
    stayed = [line for each in shown.stretches if each.kept for line in range(each.start + 1, each.end + 1)]
    rows = align(text, shown.text)
    if rows:
        assert text == "\n".join(row.text for row in rows)
        said = [text.split("\n")[line - 1] for row in rows if row.kept for line in range(row.first, row.last + 1)]
        assert [text.split("\n")[line - 1] for line in stayed] == said


@FAST
@given(LINES)
def test_they_are_recalled_and_judged_like_any_output(lines: list[str]) -> None:
    """Whether something was distilled tells the edit on the branch, not what a text begins with."""
    text = "\n".join([*lines, "end " * 4_000])
    talk = session(prompt("One?"), call("bash"), result(text), answer("Yes."))
    found = recall(talk, "e3", None, None, None, None).unwrap()
    assert text == found.raw
    assert ["e3"] == [item.entry_id for item in plan(talk, Config()).items.large]
    edited = session(prompt("One?"), call("bash"), result(text), answer("Yes."), edit("e3", lines[0] or "short"))
    assert text == recall(edited, "e3", None, None, None, None).unwrap().raw
    assert () == plan(edited, Config(), Boundary()).items.large


def test_an_output_that_quotes_a_gap_is_shown_beside_its_edit() -> None:
    raw = "a\n[… 3 lines omitted (output lines 2–4) …]\nb\nc\nd"
    seen = (
        "[context-guard] Distilled the output of bash: kept 3 of 5 lines (9 of 50 chars); the rest.\n"
        "a\n[… 3 lines omitted (output lines 2–4) …]\nb\n[… 2 lines omitted (output lines 4–5) …]"
    )
    assert [(1, 3, True), (4, 5, False)] == [(row.first, row.last, row.kept) for row in align(raw, seen)]
    assert () == align(raw, seen.replace("kept 3", "kept 2"))
