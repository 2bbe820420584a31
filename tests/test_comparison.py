"""Two passes side by side: what a reviewer is told about the difference."""

import msgspec
import pytest
from build import answer, call, lines, prompt, result, session

from context_guard.answers import Answers, Asked, ChoiceAnswer, YesNoAnswer
from context_guard.boundary import RUN_END
from context_guard.comparison import compare
from context_guard.comparison_lines import Named, add_up, comparison_lines
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.needs import Need, as_pairs, as_ranges, common, read_labels, without
from context_guard.requests import Request
from context_guard.rerun import rerun
from context_guard.saved_trace import Trace
from context_guard.stages import plan, settle
from context_guard_effects.review import review_page
from context_guard_effects.testing.cases import SMALL

HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"


def trace(output: str = "", config: Config = SMALL, **said: float) -> Trace:
    transcript = session(
        prompt("Why?"), call("bash", {"command": f"make {HOSTILE}"}), result(output or lines(40)), answer("So.")
    )
    planned = plan(transcript, config, RUN_END)
    asked = Asked(tuple(answers(request, said) for request in planned.requests), judge="canned")
    return Trace(transcript, config, planned, asked, settle(planned, asked))


def answers(request: Request, said: dict[str, float]) -> Answers:
    focus = ChoiceAnswer("focus", "none", (("none", 0.9),))
    yes_no = (YesNoAnswer(it.id, said.get(it.id, 0.1)) for it in request.questions if it.id != "focus")
    return Answers(request.id, (*yes_no, focus))


def test_lines_gained_and_lost_are_the_outputs_own() -> None:
    """With their numbers; the report counts them and what is kept of all characters."""
    old = trace(chunk_1=0.9, chunk_4=0.65)
    new = rerun(old, msgspec.structs.replace(old.config, chunk_keep_threshold=0.7))
    (change,) = compare(old, new).changes
    first, last = change.lost[0][0] + 1, change.lost[-1][1]
    assert change.gained == ()
    assert change.diff[0] == f"-{first:>2}: line {first} of the output, of no great interest"
    assert len(change.diff) == last - first + 1
    back = compare(new, old)
    assert back.changes[0].gained == change.lost
    totals = add_up((Named("s", compare(old, new)),))
    assert (totals.changed, totals.lost, totals.new_chars) == (1, len(change.diff), change.new.chars)


def test_a_pass_against_itself_changes_nothing() -> None:
    old = trace(chunk_1=0.9)
    assert compare(old, old).changes == ()
    first, *_ = comparison_lines((Named("s", compare(old, old)),), 9)
    assert first == "0 of 1 item changed: 0 lines gained, 0 lost."


def test_two_passes_that_judged_nothing_have_no_shares() -> None:
    """As of a session without a large output: 100 % of 0 characters is no figure."""
    idle = trace(config=msgspec.structs.replace(SMALL, min_run_chars=99_999))
    assert [*comparison_lines((Named("s", compare(idle, idle)),), 9)] == [
        "Neither side judged anything, so nothing changed."
    ]


def test_an_item_that_one_side_did_not_judge_was_shown_whole() -> None:
    """It counts with all of its characters, as the model saw all of it."""
    old = trace(chunk_1=0.9)
    new = rerun(old, msgspec.structs.replace(old.config, min_run_chars=99_999))
    found = compare(old, new)
    (change,) = found.changes
    assert (change.new.outcome, change.new.reason) == ("kept", "not judged")
    assert (found.new_chars, change.new.lines) == (found.before_chars, ((0, 40),))


def test_an_output_that_is_large_to_one_side_and_small_to_the_other_is_one_item() -> None:
    """Removed by both, no line of it is gained or lost; kept by the other, it is gained once."""
    old = trace()
    small = msgspec.structs.replace(old.config, min_result_chars=10**6, small_result_min_chars=1)
    planned = plan(old.transcript, small, RUN_END)
    assert [request.kind for request in planned.requests] == ["small"]
    for probability, gained in ((0.1, 0), (0.9, 40)):
        said = dict.fromkeys((it.id for it in planned.requests[0].questions), probability)
        asked = Asked(tuple(answers(request, said) for request in planned.requests), judge="canned")
        new = Trace(old.transcript, small, planned, asked, settle(planned, asked))
        for one, other in ((old, new), (new, old)):
            totals = add_up((Named("s", compare(one, other)),))
            assert (totals.items, totals.changed, totals.before_chars) == (1, 1, len(lines(40)))
            assert totals.gained + totals.lost == gained


def test_an_output_in_an_omitted_exchange_is_seen_no_more() -> None:
    """Distilled by one side, gone with its prompt on the other; its characters are counted once, in the exchange."""
    decided = trace(chunk_1=0.9).settlement.decisions[0]
    exchange = msgspec.structs.replace(
        decided,
        **{"kind": "exchange", "entry_id": "e1", "outcome": "removed", "reason": "unrelated"},
        **{"before_chars": decided.before_chars + 100, "after_chars": 50, "stretches": ()},
        **{"replacement": ("[stub]",), "omitted": ("e2", "e3", "e4")},
    )
    old, new = (_settled(it) for it in (decided, exchange))
    found = compare(old, new)
    output = found.changes[0]
    assert (output.new.outcome, output.new.reason, output.new.lines) == ("removed", "its exchange is omitted", ())
    assert (output.gained, output.lost) == ((), output.old.lines)
    assert found.before_chars == decided.before_chars + 100
    assert (found.old_chars, found.new_chars) == (decided.after_chars + 100, 50)


def _settled(decision: Decision) -> Trace:
    made = trace(chunk_1=0.9)
    gates = msgspec.structs.replace(made.settlement.gates, decisions=(decision,))
    return msgspec.structs.replace(made, settlement=msgspec.structs.replace(made.settlement, gates=gates))


def test_the_same_lines_in_other_words_are_a_diff_of_texts() -> None:
    """Another version, or another setting of the texts: the reviewer sees both."""
    old = trace(chunk_1=0.9)
    new = rerun(old, msgspec.structs.replace(old.config, keep_notices=False))
    texts = tuple(
        msgspec.structs.replace(it, replacement=((it.replacement or ("",))[0].replace("omitted", "left out"),))
        for it in new.settlement.decisions
    )
    gates = msgspec.structs.replace(new.settlement.gates, decisions=texts)
    new = msgspec.structs.replace(new, settlement=msgspec.structs.replace(new.settlement, gates=gates))
    (change,) = compare(old, new).changes
    assert (change.gained, change.lost) == ((), ())
    assert any(line.startswith("-[… ") and "omitted" in line for line in change.diff)
    assert any(line.startswith("+[… ") and "left out" in line for line in change.diff)


def test_recall_counts_labelled_lines_on_both_sides() -> None:
    """A label on an entry that is not there is named; one on an output that nobody judged is met."""
    old = trace(chunk_1=0.9, chunk_4=0.65)
    new = rerun(old, msgspec.structs.replace(old.config, chunk_keep_threshold=0.7))
    (change,) = compare(old, new).changes
    needs = (Need("e3", ((0, 1), change.lost[0])), Need("nope", ((0, 1),)), Need("e4", ((0, 1),)))
    found = compare(old, new, needs)
    assert found.recall is not None
    size = change.lost[0][1] - change.lost[0][0]
    assert (found.recall.needed, found.recall.old, found.recall.new) == (size + 2, size + 2, 2)
    assert found.unknown == ("nope",)


def test_labels_are_for_one_session_or_for_many() -> None:
    """Lines as numbers and as [first, last], in any order; by entry, or by session and entry."""
    one = read_labels(b'{"e3": [40, [12, 15], 13, 16]}').unwrap()
    assert one.of("any.jsonl") == (Need("e3", ((11, 16), (39, 40))),)
    many = read_labels(b'{"a.jsonl": {"e3": [1]}, "b.jsonl": {"e3": []}}').unwrap()
    assert many.of("a.jsonl") == (Need("e3", ((0, 1),)),)
    assert many.of("b.jsonl") == (Need("e3", ()),)
    assert many.of("c.jsonl") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "no JSON object"),
        ("{", "Expecting"),
        ('{"e3": 4}', "e3: no list"),
        ('{"e3": [0]}', "e3: 0 is no line"),
        ('{"e3": [[5, 2]]}', "e3: [5, 2] is no line"),
        ('{"e3": [true]}', "e3: true is no line"),
        ('{"e3": ["4"]}', 'e3: "4" is no line'),
    ],
)
def test_a_slip_in_a_label_is_told(text: str, said: str) -> None:
    """It would otherwise count as lines that nobody needs."""
    assert said in read_labels(text.encode()).failure().message


def test_ranges_are_sets_of_lines() -> None:
    one, other = as_ranges([[1, 10], [20, 22]]), as_ranges([5, 6, [10, 21]])
    assert [[1, 10], [20, 22]] == as_pairs(one)
    assert ((4, 6), (9, 10), (19, 21)) == common(one, other)
    assert ((0, 4), (6, 9), (21, 22)) == without(one, other)


def test_a_page_shows_hostile_text_as_text() -> None:
    """Tags, escapes and marks that turn the writing round are seen, not obeyed; the page names no other place."""
    old = trace(output="\n".join([HOSTILE, lines(40), 'x" onload="y']), chunk_1=0.9)
    new = rerun(old, msgspec.structs.replace(old.config, min_run_chars=99_999))
    page = review_page((Named(HOSTILE, compare(old, new)),))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
