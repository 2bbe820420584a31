"""Why an entry was kept, dropped or left alone: the rule, the figures, and what the branch's records say."""

from collections.abc import Callable, Iterator

import pytest
from apply import apply
from build import Piece, answer, call, calls, edit, lines, note, prompt, recorded, result, session
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from random_passes import Judge, read_boundary, read_config, run_pass
from transcripts import Talk, Tape, tapes

from context_guard.answers import Answer, Answers, Asked, ChoiceAnswer, YesNoAnswer
from context_guard.boundary import MID_RUN, RUN_END, Boundary
from context_guard.config import Config
from context_guard.decisions import Decision
from context_guard.explain import Explanation, explain, explanation_text
from context_guard.left_alone import NO_RULE
from context_guard.records import ItemResult, Phase, Record
from context_guard.requests import Request
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Transcript

SMALL = Config(min_result_chars=600, min_run_chars=600, min_chunk_chars=150, max_chunk_chars=150, image_keep_turns=3)
RUN = session(prompt("Where?"), call("bash", {"command": "cat log"}), result(lines(20)), answer("On line 7."))
WARM = Boundary(now=0)

Say = Callable[[str], float | str | None]
"""Question → probability, option of the focus question, or no answer."""


def drop(_: str) -> float | str:
    return "none" if _ == "focus" else 0.1


def told(
    transcript: Transcript,
    entry_id: str,
    say: Say = drop,
    config: Config = SMALL,
    boundary: Boundary = RUN_END,
) -> Explanation:
    planned = plan(transcript, config, boundary)
    settled = settle(planned, Asked(outcomes=tuple(_reply(request, say) for request in planned.requests)))
    found = explain(transcript, planned, settled, entry_id)
    assert found is not None
    return found


def _reply(request: Request, say: Say) -> Answers:
    found: list[Answer] = []
    for question in request.questions:
        match say(question.id):
            case str(choice):
                found.append(ChoiceAnswer(question.id, choice, ((choice, 0.65),)))
            case float(p):
                found.append(YesNoAnswer(question.id, p))
    return Answers(request.id, tuple(found))


def past(*results: ItemResult, phase: Phase = "run-end") -> Record:
    return Record(1, phase, "local", 0, 1, 0, 0.0, 0, False, results)


def test_a_distilled_output_is_explained_chunk_by_chunk() -> None:
    """Its probabilities against the thresholds by name, the step that applied, the share that stays, the cost."""
    said: dict[str, float | str | None] = {"focus": "chunk_2", "chunk_4": 0.75}
    found = told(RUN, "e3", lambda name: said.get(name, 0.2))
    assert (found.kind, found.outcome, found.reason) == ("large", "distilled", "chunks")
    text = explanation_text(found)
    assert text.startswith("e3 bash `cat log`\n  distilled (chunks): large item of a run-end pass, 8")
    assert "segment e3#0: keep_whole .20, focus chunk_2 .65, 2 of 7 chunks kept" in text
    assert "step 5: chunks from chunkKeepThreshold .60 on stay, and the one that focus is on" in text
    assert "drop chunk_1 p.20 lines 1–3, 128 characters" in text
    assert "keep chunk_2 p.20 focus lines 4–6" in text
    assert "keep chunk_4 p.75 lines 10–12" in text
    assert "rule: 2 of 7 chunks would stay: 30 % of its characters, within maxKeepRatio 60 %." in text
    assert "cost: The edits are free: the cache has expired, 3" in text
    assert text.endswith('the original: recall({"entryId":"e3"})\n')


@pytest.mark.parametrize(
    ("say", "step", "kept"),
    [
        ({"keep_whole": None}, "step 2: keep_whole or focus has no usable answer: all of it stays", 7),
        ({"focus": None}, "step 2: keep_whole or focus has no usable answer: all of it stays", 7),
        ({"keep_whole": 0.7}, "step 3: keep_whole reaches keepWholeThreshold .70: all of it stays", 7),
        ({"focus": "whole"}, "step 4: focus on whole reaches focusWholeThreshold .60: all of it stays", 7),
        ({"chunk_3": 0.6}, "step 5: chunks from chunkKeepThreshold .60 on stay", 1),
        ({"chunk_3": None}, "step 5: chunks from chunkKeepThreshold .60 on stay", 1),
        ({}, "step 6: no chunk passes, focus on none reaches noneThreshold .50: all of it goes", 0),
    ],
)
def test_each_step_of_the_decision_has_a_name(say: dict[str, float | str | None], step: str, kept: int) -> None:
    """The first of the seven that applies, with the threshold that it rests on."""
    (segment,) = told(RUN, "e3", lambda name: say.get(name, drop(name))).segments
    assert segment.step.startswith(step)
    assert sum(chunk.kept for chunk in segment.chunks) == kept


def test_weak_answers_are_the_last_step() -> None:
    """Where focus is on `whole` but too weakly everything stays; on anything else its best chunk."""
    strict = replace(SMALL, focus_whole_threshold=0.9, none_threshold=0.9)
    whole = told(RUN, "e3", lambda name: "whole" if name == "focus" else 0.1, strict)
    assert whole.segments[0].step == "step 7: no chunk passes, and focus, weak as it is, is on whole: all of it stays"
    best = told(RUN, "e3", drop, strict)
    assert best.segments[0].step.endswith("and none is not sure: the best of focus stays")
    assert [chunk.kept for chunk in best.segments[0].chunks].count(True) == 1


def test_an_unanswered_request_says_so() -> None:
    planned = plan(RUN, SMALL)
    found = explain(RUN, planned, settle(planned, Asked()), "e3")
    assert found is not None
    assert found.segments[0].step == "step 1: no answer (timeout): all of it stays"
    assert found.rule == "All of its 7 chunks stay (timeout)."


def test_an_edit_that_is_not_worth_it_says_by_how_much() -> None:
    """More than the ratio allows, or no shorter with the notes around it."""
    most = told(RUN, "e3", lambda name: 0.9 if name.startswith("chunk_") and name < "chunk_6" else drop(name))
    assert (
        "5 of 7 chunks would stay: 75 % of its characters, more than maxKeepRatio 60 %, so an edit is not worth it."
        == most.rule
    )
    loose = replace(SMALL, max_keep_ratio=1.0)
    longer = told(RUN, "e3", lambda name: drop(name) if name in ("focus", "keep_whole", "chunk_7") else 0.9, loose)
    assert longer.rule.endswith("the text would be no shorter, so an edit is not worth it.")


def test_a_deferred_edit_says_what_it_would_cost() -> None:
    """With a warm cache and no turn to come it does not pay; the explanation has the bill."""
    transcript = session(prompt("?"), call("bash"), result(lines(20)), answer("x " * 40_000))
    found = told(transcript, "e3", boundary=WARM)
    assert (found.outcome, found.reason) == ("kept", "deferred")
    assert "It may go, but the edit has to wait: see the costs." in found.rule
    (cost,) = found.costs
    assert cost.startswith("The edits wait, they do not pay off yet: would cost you ")


OLD: list[Piece] = [prompt("An old matter"), call("bash"), result(lines(60)), answer("Done.")]
AFTER: list[Piece] = [prompt("a"), answer("b"), prompt("c"), answer("d"), prompt("new"), answer("ok")]


def test_small_outputs_exchanges_and_images_are_explained_by_their_threshold() -> None:
    """One probability or one age against one setting."""
    small = session(prompt("?"), call("bash"), result(lines(12)), answer("."))
    assert told(small, "e3").rule == "P(needed) .10 is below smallKeepThreshold .45: it goes."
    assert told(small, "e3", lambda _: 0.45).rule == "P(needed) .45 reaches smallKeepThreshold .45: it stays."
    assert told(small, "e3", lambda _: None).rule == "The judge gave no answer (no-answer): it stays."
    exchange = session(*OLD, *AFTER)
    assert told(exchange, "e1").rule == "P(relevant) .10 is below exchangeOmitThreshold .20: it goes."
    inside = told(exchange, "e3")
    assert (inside.kind, inside.outcome) == ("exchange", "removed")
    assert inside.rule == (
        "It belongs to the exchange of e1, which goes or stays as a whole. "
        "P(relevant) .10 is below exchangeOmitThreshold .20: it goes."
    )
    assert told(exchange, "e4").recall == 'recall({"entryId":"e1"})'
    image = session(prompt("?"), call("read"), result("shot", images=1), *_turns(3), answer("."))
    assert told(image, "e3").rule == "Its images are 4 turns old; they go after 3 turns (imageKeepTurns)."


def _turns(count: int) -> Iterator[Piece]:
    for _ in range(count):
        yield call("bash")
        yield result("ok")


UNTOUCHED: list[tuple[str, list[Piece], str, str]] = [
    ("small", [prompt("?"), call("bash"), result("short"), answer(".")], "e3", "fewer than the 400 of smallResultMin"),
    ("tool", [prompt("?"), call("edit"), result(lines(20)), answer(".")], "e3", "The tool edit is excluded"),
    (
        "image",
        [prompt("?"), call("x"), result("a", images=1), answer(".")],
        "e3",
        "an image that is 1 turn old; images",
    ),
    (
        "foreign",
        [prompt("?"), call("x"), result(lines(20)), answer("."), edit("e3", "z")],
        "e3",
        "Somebody else's edit",
    ),
    (
        "ours",
        [prompt("?"), call("x"), result(lines(20)), answer("."), edit("e3", "[context-guard] Distilled")],
        "e3",
        "It is distilled already",
    ),
    (
        "omitted",
        [prompt("?"), call("x"), result(lines(20)), answer("."), edit("e3", None)],
        "e3",
        "An edit has omitted",
    ),
    ("unfinished", [prompt("?"), call("x"), result(lines(20))], "e3", "The last run did not end in an answer"),
    ("answer", [prompt("?"), call("x"), result(lines(20)), answer(".")], "e4", "of that, only tool outputs are"),
    ("summary", [note("n"), prompt("?"), answer(".")], "e1", "It stands before the first prompt"),
    ("meta", [prompt("?"), answer("."), recorded(past())], "e3", "no model sees it"),
    ("recent", [*OLD, prompt("new"), answer("ok")], "e3", "one of the last 2 before the run (keepRecentExchanges)"),
    ("tiny", [prompt("old"), answer("x"), *AFTER], "e1", "its 4 characters are fewer than 2,000"),
    ("broken", [prompt("old"), call("x"), result(lines(60)), *AFTER], "e1", "which is judged as a whole, but"),
    ("theirs", [*OLD, *AFTER, edit("e2", "z")], "e1", "somebody else's edit is in force in it"),
    (
        "judged",
        [*OLD, *AFTER[:-1], recorded(past(ItemResult("e1", kind="exchange", reason="relevant"))), AFTER[-1]],
        "e1",
        "that was done since the run began",
    ),
]


@pytest.mark.parametrize(("pieces", "entry", "says"), [case[1:] for case in UNTOUCHED], ids=[it[0] for it in UNTOUCHED])
def test_what_was_left_alone_names_its_rule(pieces: list[Piece], entry: str, says: str) -> None:
    """The first rule that ruled it out, with the setting's name where there is one."""
    found = told(session(*pieces), entry)
    assert found.kind is None
    assert says in found.rule
    assert f"left alone: {found.rule}" in explanation_text(found)


def test_settings_that_rule_out_are_named() -> None:
    """Whatever switch was off or threshold too high is in the sentence."""
    failed = session(prompt("?"), call("bash"), result(lines(20), error=True), answer("."))
    image = session(prompt("?"), call("x"), result("a", images=1), answer("."))

    def says(transcript: Transcript, **changes: object) -> str:
        return told(transcript, "e3", config=replace(SMALL, **changes)).rule

    assert "(distillErrors is false)" in says(failed, distill_errors=False)
    assert "(imageKeepTurns is 0)" in says(image, image_keep_turns=0)
    assert "(enabled is false)" in says(RUN, enabled=False)
    assert "fewer than the 9,000 of minRunChars" in says(RUN, min_run_chars=9_000)
    assert "and smaller ones are not judged" in says(RUN, min_result_chars=9_000, small_result_min_chars=0)
    old = session(*OLD, *AFTER)
    assert "(pruneExchanges is false)" in told(old, "e3", config=Config(prune_exchanges=False)).rule


def test_a_checkpoint_says_who_is_too_young_who_was_judged_and_that_it_waits() -> None:
    """Mid-run: age in turns, the earlier checkpoint, the batch that is not full."""
    young = session(prompt("?"), call("bash"), result(lines(20)), call("bash"), result(lines(20)))
    says = told(young, "e3", boundary=MID_RUN).rule
    assert says == "It is too young: 1 turn old, and a checkpoint judges from 4 on (midRunMinAgeTurns)."
    eager = replace(SMALL, mid_run_min_age_turns=1)
    waits = told(young, "e3", config=eager, boundary=MID_RUN).rule
    assert "the checkpoint leaves it out (not due: 8" in waits
    before = recorded(past(ItemResult("e3", reason="whole-needed"), phase="mid-run"))
    judged = session(prompt("?"), call("bash"), result(lines(20)), before, call("bash"), result(lines(20)))
    assert told(judged, "e3", config=eager, boundary=MID_RUN).rule.startswith("A checkpoint of this branch has judged")
    asked_back = session(prompt("?"), call("recall"), result(lines(20)), call("bash"), result("x"))
    assert "asked back (recall)" in told(asked_back, "e3", config=eager, boundary=MID_RUN).rule


def test_the_records_of_the_branch_are_told() -> None:
    """Which pass edited it, why, what the judge said then, what the model sees now, and the way back."""
    transcript = session(
        prompt("?"),
        calls(("bash", {"command": "a"}), ("bash", {"command": "b"})),
        result(lines(20)),
        result(lines(20)),
        answer("."),
        edit("e3", "[context-guard] Distilled …"),
        recorded(past(ItemResult("e3", "bash", "bash `a`", "distilled", "chunks", 860, 27, jev=("kw.05 keep 1/7",)))),
    )
    text = explanation_text(told(transcript, "e3"))
    assert "the model sees now: 27 characters by the guard's edit e6" in text
    assert "record e7 (run-end): distilled (chunks), 860 → 27 characters\n      judge: kw.05 keep 1/7" in text
    assert 'the original: recall({"entryId":"e3"})' in text
    gone = session(
        *OLD,
        *AFTER,
        *(edit(name, None) for name in ("e2", "e3", "e4")),
        recorded(past(ItemResult("e1", outcome="removed", reason="unrelated", kind="exchange", omitted=("e2", "e4")))),
    )
    found = told(gone, "e4")
    assert found.earlier[0].exchange == "e1"
    assert found.recall == 'recall({"entryId":"e1"})'
    assert "removed (unrelated) with the exchange of e1" in explanation_text(found)


def test_an_entry_that_is_not_there_has_no_explanation() -> None:
    planned = plan(RUN, SMALL)
    assert explain(RUN, planned, settle(planned, Asked()), "e99") is None


def test_hostile_labels_stay_on_their_line() -> None:
    """Escapes and line breaks of a session are shown, not obeyed."""
    transcript = session(prompt("a\x1b[2J\nb"), answer("."))
    text = explanation_text(told(transcript, "e1"))
    assert text.count("\n") == 2
    assert "\x1b" not in text


@given(tapes)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_every_entry_of_any_pass_has_an_explanation(tape: bytes) -> None:
    """Never the shrug; what it says about kept and dropped chunks is what the pass decided."""
    for transcript, planned, settled in _passes(Tape(tape)):
        decided = {decision.entry_id: decision for decision in settled.decisions}
        for entry in transcript.entries:
            found = explain(transcript, planned, settled, entry.id)
            assert found is not None
            assert found.rule
            assert NO_RULE not in found.rule, (entry.id, planned.phase)
            assert explanation_text(found)
            if entry.id in decided:
                _check_decision(found, decided[entry.id])
            for segment in found.segments:
                _check_step([chunk.kept for chunk in segment.chunks], segment.step)


def _check_decision(found: Explanation, decision: Decision) -> None:
    assert found.outcome == decision.outcome
    if decision.kind == "large" and decision.replacement is not None:
        assert "within maxKeepRatio" in found.rule
    if decision.reason.startswith("not-worth"):
        assert "so an edit is not worth it" in found.rule


def _check_step(kept: list[bool], step: str) -> None:
    if step.endswith("all of it stays"):
        assert all(kept)
    elif step.endswith("all of it goes"):
        assert not any(kept)
    elif step.startswith("step 7"):
        assert kept.count(True) == 1
    else:
        assert any(kept)


def _passes(tape: Tape) -> Iterator[tuple[Transcript, Plan, Settlement]]:
    config, talk = read_config(tape), Talk(tape)
    while not talk.is_full:
        talk.prompt()
        for _ in range(tape.pick((0, 1, 2, 5))):
            talk.turn()
            if tape.chance(40):
                yield from _pass(talk, config, "mid-run")
            if tape.chance(6):
                talk.edit_something()
        talk.answer()
        yield from _pass(talk, config, "run-end")


def _pass(talk: Talk, config: Config, phase: Phase) -> Iterator[tuple[Transcript, Plan, Settlement]]:
    before = talk.transcript
    planned, settled = run_pass(before, config, read_boundary(talk, phase), Judge(talk.tape))
    yield before, planned, settled
    if talk.tape.chance(70):
        talk.transcript = apply(before, settled.drafts)
