"""The page about a session: both sides of every output, the context over time, and nothing in it that could act."""

import base64
import hashlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from apply import apply
from build import answer, call, edit, lines, prompt, result, session
from case_files import case_names, run_case
from command_line import EXCHANGE, LOG, complaint, guard
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from pi_sessions import session_bytes, user
from random_passes import Judge, read_boundary, read_config, run_pass
from transcripts import Talk, Tape, tapes

from context_guard.answers import Answers, Asked, ChoiceAnswer, YesNoAnswer
from context_guard.boundary import RUN_END, Boundary
from context_guard.config import Config
from context_guard.formats import pi
from context_guard.records import Phase
from context_guard.report import Page, build_page, page_values
from context_guard.report.earlier_rows import align
from context_guard.report.rows import MOST_CHARS
from context_guard.report.timeline import find_points
from context_guard.requests import Request
from context_guard.sizes import visible_chars
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.text import without_lone_surrogates
from context_guard.transcript import Transcript, shown
from context_guard_effects.report import render_page

SMALL = Config(min_result_chars=600, min_run_chars=600, min_chunk_chars=150, max_chunk_chars=150, cut_by_kind=False)
EVERY_RUN = Boundary(every_run=True)
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><iframe src='data:text/html,<b>'></iframe>\n"
    '<!-- <script> {{ 7 * 7 }} {% raw %} <style>*{display:none}</style><base href=//x/> " onfocus=alert(3) autofocus\n'
    "user\u202etxt.exe zero\u200bwidth half \ud83d \x1b[31m tag \U000e0041 \u2028"
)


def passed(transcript: Transcript, config: Config = SMALL, boundary: Boundary = EVERY_RUN) -> tuple[Plan, Settlement]:
    """Of every large output the second chunk stays, of everything else nothing."""
    planned = plan(transcript, config, boundary)
    return planned, settle(planned, Asked(outcomes=tuple(map(second, planned.requests)), judge="canned"))


def second(request: Request) -> Answers:
    if request.kind != "segment":
        return Answers(request.id, tuple(YesNoAnswer(question.id, 0.1) for question in request.questions))
    said = [("keep_whole", 0.1), *((part.id, 0.9 if part.id == "chunk_2" else 0.05) for part in request.state.parts)]
    focus = ChoiceAnswer("focus", "none", (("none", 0.8),))
    return Answers(request.id, (focus, *(YesNoAnswer(name, p) for name, p in said)))


def page_of(transcript: Transcript, config: Config = SMALL, boundary: Boundary = EVERY_RUN) -> Page:
    return build_page(transcript, *passed(transcript, config, boundary))


def check_both_sides(page: Page, planned: Plan, settled: Settlement) -> None:
    """The left side is the output; header, kept pieces and notes of the right side are the replacement."""
    outputs = {output.id: output for output in page.outputs}
    large = [decision for decision in settled.decisions if decision.kind == "large"]
    for candidate, decision in zip(planned.items.large, large, strict=False):
        rows = outputs[candidate.entry_id].rows
        assert candidate.text.replace("\n", "") == "".join(row.text for row in rows).replace("\n", "")
        if decision.replacement is None:
            assert all(row.kept for row in rows)
            continue
        read = outputs[candidate.entry_id].header + "".join(row.text if row.kept else row.note for row in rows)
        assert decision.replacement[0].replace("\n", "") == without_lone_surrogates(read).replace("\n", "")


@pytest.mark.parametrize("case", case_names())
def test_both_sides_of_every_case_are_complete(case: str) -> None:
    """Nothing of an output or of its replacement is missing on the page, whatever was cut, trimmed or elided."""
    transcript, planned, settled = run_case(case)
    check_both_sides(build_page(transcript, planned, settled), planned, settled)


@given(tapes)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_page_of_any_pass_is_complete(tape: bytes) -> None:
    """Both sides of its outputs; a timeline that ends in what the context holds; it can be drawn and printed."""
    for transcript, planned, settled in passes(Tape(tape)):
        page = build_page(transcript, planned, settled)
        check_both_sides(page, planned, settled)
        last = find_points(transcript, planned, settled)[-1]
        after = shown(apply(transcript, settled.drafts))
        assert sum(map(visible_chars, after)) + (transcript.overhead_chars or 0) == last.guarded
        assert render_page(page).encode()


def passes(tape: Tape) -> Iterator[tuple[Transcript, Plan, Settlement]]:
    config, talk = read_config(tape), Talk(tape)
    while not talk.is_full:
        talk.prompt()
        for _ in range(tape.pick((0, 1, 2, 5))):
            talk.turn()
            if tape.chance(6):
                talk.edit_something()
        if tape.chance(60):
            talk.answer()
        phase: Phase = "mid-run" if tape.chance(40) else "run-end"
        transcript = talk.transcript
        planned, settled = run_pass(transcript, config, read_boundary(talk, phase), Judge(tape))
        yield transcript, planned, settled
        if tape.chance(70):
            talk.transcript = apply(transcript, settled.drafts)


def test_a_page_says_of_each_output_what_became_of_it() -> None:
    """Pieces with lines, chunk and probability; the line in place of a gap; sizes, rule and thresholds."""
    page = page_of(session(prompt("Where?"), call("bash", {"command": "cat log"}), result(lines(20)), answer("There.")))
    (output,) = page.outputs
    assert 'role="status">1 output<' in render_page(page)
    told = [f"{it.first}-{it.last} {it.chunk} {it.probability} {it.note or it.kept}" for it in output.rows]
    assert [
        "1-3 chunk_1 0.05 [… 3 lines omitted (output lines 1–3) …]",
        "4-6 chunk_2 0.9 True",
        "7-9 chunk_3 0.05 [… 14 lines omitted (output lines 7–20) …]",
        "10-12 chunk_4 0.05 False",
    ] == told[:4]
    assert ("distilled", "chunks", 0.6, 0.7) == (
        output.outcome,
        output.reason,
        output.threshold,
        output.whole_threshold,
    )
    assert "within maxKeepRatio" in output.rule
    assert (("distilled", 1),) == page.counts


def test_an_edit_counts_from_the_end_of_its_run() -> None:
    """The request after a run carries the distilled output, those of the run itself the whole one."""
    big = lines(100)
    talk = session(
        *(prompt("One?"), call("bash"), result(big), answer("Yes.")),
        *(prompt("Two?"), call("bash"), result(big), answer("Yes.")),
    )
    points = find_points(talk, *passed(talk))
    (first, later) = (draft for draft in passed(talk)[1].drafts if hasattr(draft, "texts"))
    out = [len(big) - len(draft.texts[0]) for draft in (first, later)]
    assert [0, 0, out[0], out[0], sum(out)] == [point.without - point.guarded for point in points]
    assert [True, False, True, False, False] == [point.begins_run for point in points]


def test_an_edit_of_the_branch_counts_from_where_it_stands() -> None:
    """Requests before it were made with the whole output."""
    talk = session(prompt("One?"), call("bash"), result("x" * 500), answer("Yes."), edit("e3", "short"), prompt("Two?"))
    points = find_points(talk, *passed(talk, boundary=RUN_END))
    assert [0, 0, 495] == [point.without - point.guarded for point in points]


def test_a_compaction_lowers_both_lines() -> None:
    """What it dropped counts until it and not behind it."""
    compaction = {"type": "compaction", "id": "c1", "summary": "Short.", "firstKeptEntryId": "p2", "tokensBefore": 9}
    talk = pi.read(session_bytes(*EXCHANGE, user("p2", "Two?"), compaction)).unwrap()
    planned, settled = passed(talk, boundary=RUN_END)
    points = find_points(talk, planned, settled)
    assert sum(map(visible_chars, shown(talk))) == points[-1].without
    assert points[-1].without < 500 < len(LOG) < points[1].without
    outputs = build_page(talk, planned, settled).outputs
    assert ["compacted"] == [output.outcome for output in outputs]


def test_a_sub_agent_has_a_context_of_its_own() -> None:
    """Its requests are none of the session's, its texts in none of them."""
    talk = session(prompt("One?"), call("task"), answer("x" * 500), result("done"), answer("Yes."))
    inner = replace(talk.entries[2], sidechain="task")
    talk = replace(talk, entries=(*talk.entries[:2], inner, *talk.entries[3:]), context=(0, 1, 3, 4))
    points = find_points(talk, *passed(talk))
    assert ["e2", "e5", ""] == [point.entry_id for point in points]
    assert max(point.without for point in points) < 100


@pytest.mark.parametrize("case", case_names())
def test_what_an_earlier_edit_shows_is_found_again_in_the_output(case: str) -> None:
    """From the two texts alone: the same lines as the pass kept, or nothing where only parts of lines stay."""
    _, planned, settled = run_case(case)
    large = [decision for decision in settled.decisions if decision.kind == "large"]
    for candidate, decision in zip(planned.items.large, large, strict=False):
        rows = align(candidate.text, decision.replacement[0]) if decision.replacement else ()
        if rows:
            assert candidate.text == "\n".join(row.text for row in rows)
            kept = {line for each in decision.stretches if each.kept for line in range(each.start + 1, each.end + 1)}
            assert kept == {line for row in rows if row.kept for line in range(row.first, row.last + 1)}


def test_an_earlier_edit_is_shown_beside_the_output() -> None:
    """With the line in place of each gap; another's edit as a whole."""
    raw = lines(9)
    kept = raw.split("\n")[4]
    seen = f"[context-guard] Distilled.\n[… 4 lines omitted (output lines 1–4) …]\n{kept}\n[… 4 lines omitted …]"
    talk = session(prompt("One?"), call("bash"), result(raw), answer("Yes."), edit("e3", seen))
    (output,) = page_of(talk).outputs
    assert ("edited before", "[context-guard] Distilled.") == (output.outcome, output.header)
    assert [(1, 4, False), (5, 5, True), (6, 9, False)] == [(row.first, row.last, row.kept) for row in output.rows]
    assert () == align(raw, f"shorter\n{kept}")
    assert () == align(raw, f"[context-guard] Distilled.\n{kept[:9]}")


def test_a_long_piece_says_what_the_page_leaves_out() -> None:
    """Head and tail of it, and how many characters stand between them."""
    (output,) = page_of(session(prompt("One?"), call("edit"), result("x" * 10_000_000), answer("Yes."))).outputs
    (row,) = output.rows
    assert 10_000_000 == len(row.text) + row.hidden + len(row.tail)
    assert MOST_CHARS == len(row.text) + len(row.tail)


class Markup(HTMLParser):
    """Everything of a page that a browser could act on."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: dict[str, str] = {}
        self.open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.open = f"{tag} {dict(attrs).get('type', '')} {dict(attrs).get('id', '')}".strip()
        if tag in ("script", "style"):
            self.scripts[self.open] = ""

    def handle_data(self, data: str) -> None:
        if self.open in self.scripts:
            self.scripts[self.open] += data

    def handle_endtag(self, tag: str) -> None:
        self.open = ""


def hostile_page() -> Page:
    talk = session(
        prompt(HOSTILE),
        *(call("bash", {"command": HOSTILE}), result("\n".join([HOSTILE] * 20))),
        *(call(HOSTILE), result(HOSTILE), answer(HOSTILE)),
        edit("e5", HOSTILE),
    )
    return page_of(talk)


def test_nothing_that_a_session_says_becomes_markup() -> None:
    """The tags are those of the page about a harmless session; no handler, no style, no address; one own script."""
    plain = session(
        prompt("One?"),
        *(call("bash"), result(lines(60))),
        *(call("bash"), result("x")),
        answer("Yes."),
        edit("e5", "y"),
    )
    hostile, harmless = (Markup(render_page(page)) for page in (hostile_page(), page_of(plain)))
    assert sorted(set(harmless.tags)) == sorted(set(hostile.tags))
    assert harmless.tags.count("script") == hostile.tags.count("script") == 1 + len(hostile_page().outputs)
    names = {name for name, _ in hostile.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"style", "src", "href", "srcdoc", "action"}


def test_the_policy_allows_the_own_script_and_style_and_nothing_else() -> None:
    """By their hashes; no source, no base, no form, no markup from text."""
    page = Markup(render_page(hostile_page()))
    (policy,) = (value for name, value in page.attributes if value.startswith("default-src"))
    hashes = {
        name: base64.b64encode(hashlib.sha256(page.scripts[name].encode()).digest()).decode()
        for name in ("script", "style")
    }
    assert (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; script-src 'sha256-{hashes['script']}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ) == policy


def test_hidden_characters_are_shown() -> None:
    """What would turn, hide or break a text stands there as its code, in the list and in the texts."""
    page = hostile_page()
    html = render_page(page)
    values = page_values(page)["outputs"]
    assert not set("\u202e\u200b\ud83d\x1b\u2028\U000e0041") & set(html)
    assert r"user\u202etxt.exe zero\u200bwidth half \ud83d ␛[31m tag \U000e0041 \u2028" in "".join(
        row["text"] for row in values[0]["rows"]
    )
    data = Markup(html).scripts["script application/json d0"]
    assert values[0] == json.loads(data)


def test_the_command_writes_a_private_page_and_never_the_session(tmp_path: Path) -> None:
    """Complete, for its owner alone; the session itself is refused as a place to write to."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(session_bytes(*EXCHANGE))
    page = tmp_path / "report.html"
    run = guard("report", path, "-o", page)
    assert (0, f"{page}: 1 output. Open it in a browser.\n") == (run.exit_code, run.output)
    assert 0o600 == page.stat().st_mode & 0o777
    assert page.read_text(encoding="utf-8").endswith("</html>")
    before = path.read_bytes()
    refused = guard("report", path, "-o", path)
    assert 4 == refused.exit_code
    assert "would be written over" in complaint(refused)
    assert before == path.read_bytes()
