"""What users of such tools hit in whole passes: pairs, recalls, long runs. Numbers are those of the field's cases."""

import pytest
from apply import apply
from build import answer, call, calls, lines, prompt, result, session
from pi_sessions import calling, message, session_bytes, user
from pi_sessions import result as pi_result

from context_guard.answers import Answers as Reply
from context_guard.answers import Asked, ChoiceAnswer, YesNoAnswer
from context_guard.boundary import MID_RUN
from context_guard.config import Config
from context_guard.drafts import Omit, Replace
from context_guard.formats.pi import read
from context_guard.formats.wire.anthropic import to_anthropic
from context_guard.requests import Choice, Request
from context_guard.stages import Plan, plan, settle
from context_guard.transcript import Transcript
from context_guard.validate.anthropic import validate_anthropic

EAGER = Config(mid_run_break_even=False, mid_run_batch_chars=1_000, run_end_break_even=False)
LONG = lines(200)


def drop(request: Request) -> Reply:
    """A judge to whom nothing is needed."""
    return Reply(
        request_id=request.id,
        answers=tuple(
            ChoiceAnswer(id=it.id, choice="none", probabilities=(("none", 0.95),))
            if isinstance(it, Choice)
            else YesNoAnswer(id=it.id, probability=0.01)
            for it in request.questions
        ),
    )


def asked(planned: Plan) -> Asked:
    return Asked(outcomes=tuple(map(drop, planned.requests)))


def targets(transcript: Transcript, planned: Plan) -> list[str]:
    drafts = settle(planned, asked(planned)).drafts
    return [draft.target for draft in drafts if isinstance(draft, Replace | Omit)]


@pytest.mark.parametrize("kept", ["a2", "r1", "r2"])
def test_a_pass_after_two_compactions_makes_no_new_orphan(kept: str) -> None:
    """T9: whether the second one cuts before a call or between a call and its result, the edits leave every request
    as valid as the host had it."""
    fold = {"type": "compaction", "summary": "What was done."}
    said = message("a3", {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stopReason": "stop"})
    file = session_bytes(
        user("u1"),
        calling("a0", "call-0"),
        pi_result("r0", "call-0", LONG),
        {**fold, "id": "k1", "firstKeptEntryId": "a0"},
        user("u2"),
        calling("a1", "call-1"),
        pi_result("r1", "call-1", LONG),
        calling("a2", "call-2"),
        pi_result("r2", "call-2", LONG),
        {**fold, "id": "k2", "firstKeptEntryId": kept},
        user("u3"),
        calling("a4", "call-4"),
        pi_result("r4", "call-4", LONG),
        said,
    )
    before = read(file).unwrap()
    planned = plan(before, EAGER)
    after = apply(before, settle(planned, asked(planned)).drafts)
    assert "r4" in targets(before, planned)
    problems = validate_anthropic(to_anthropic(after))
    assert problems == validate_anthropic(to_anthropic(before))
    assert problems == () or kept != "a2"


def test_an_edit_in_the_middle_of_a_thinking_loop_leaves_order_and_ids() -> None:
    """T10: of parallel calls behind thinking, one result is replaced under its own id, and nothing else moves."""
    before = session(
        prompt("Why?"),
        calls(("bash", {"command": "a"}), ("bash", {"command": "b"}), ("bash", {"command": "c"}), says="Looking."),
        result("short one"),
        result(LONG),
        result("short two"),
        answer("Because.", thinking="So it is."),
    )
    planned = plan(before, EAGER)
    after = apply(before, settle(planned, asked(planned)).drafts)
    assert [(it.role, it.id) for it in before.entries] == [
        (it.role, it.id) for it in after.entries[: len(before.entries)]
    ]
    changed = [it.id for it, was in zip(after.entries, before.entries, strict=False) if it.visible != was.visible]
    assert changed == ["e4"]
    assert validate_anthropic(to_anthropic(after)) == ()


def test_a_call_that_waits_for_its_result_is_left_alone() -> None:
    """T11: while a call is open nothing of it is touched, and a result that comes late is seen whole."""
    waiting = session(
        prompt("Build it."), calls(("bash", {"command": "make"}), ("bash", {"command": "ls"})), result("x")
    )
    assert targets(waiting, plan(waiting, EAGER)) == []
    done = session(
        prompt("Build it."),
        calls(("bash", {"command": "make"}), ("bash", {"command": "ls"})),
        result(LONG),
        result("x"),
        answer("Built."),
    )
    assert targets(done, plan(done, EAGER)) == ["e3"]


def test_what_was_just_recalled_is_not_cut_in_the_same_run() -> None:
    """T12: a checkpoint leaves a recalled text alone, however long and old it is."""
    steps = [piece for _ in range(8) for piece in (call("bash", {"command": "true"}), result("ok"))]
    recalled = session(prompt("Go on."), call("recall", {"entryId": "e0"}), result(lines(1_500)), *steps)
    assert targets(recalled, plan(recalled, EAGER, MID_RUN)) == []
    read = session(prompt("Go on."), call("bash", {"command": "cat a"}), result(lines(1_500)), *steps)
    assert targets(read, plan(read, EAGER, MID_RUN)) == ["e3"]


def test_a_pass_with_nothing_left_asks_and_writes_nothing() -> None:
    """T29: there is no fallback: after everything was judged away a further pass has no request and no draft."""
    transcript = session(prompt("Why?"), call("bash", {"command": "a"}), result(LONG), answer("Because."))
    for _ in range(2):
        planned = plan(transcript, EAGER)
        transcript = apply(transcript, settle(planned, asked(planned)).drafts)
    planned = plan(transcript, EAGER)
    assert planned.requests == ()
    assert settle(planned, Asked()).drafts == ()


def test_a_run_of_many_steps_ages_by_its_steps() -> None:
    """T30: in one prompt's run of 80 tool steps all but the latest outputs may go; what the agent said never does."""
    steps = [
        piece
        for number in range(80)
        for piece in (call("bash", {"command": f"step {number}"}, says=f"Step {number}."), result(LONG))
    ]
    running = session(prompt("Do all of it."), *steps)
    gone = targets(running, plan(running, EAGER, MID_RUN))
    assert len(gone) == 80 - EAGER.mid_run_min_age_turns
    finished = session(prompt("Do all of it."), *steps, answer("All done."))
    tools = {entry.id for entry in finished.entries if entry.role == "tool"}
    assert set(targets(finished, plan(finished, EAGER))) == tools
