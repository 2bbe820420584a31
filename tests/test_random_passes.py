"""Random conversations, random answers, random settings: what holds for any sequence of passes (issue 3)."""

from itertools import count

import pytest
from apply import apply
from build import answer, edit, note, prompt, session
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_passes import Judge, Seen, check_passes
from shared_data import SHARED, needs_shared
from transcripts import Tape, tapes

from context_guard.config import Config
from context_guard.formats.pi import read
from context_guard.formats.pi_edits import edit_lines
from context_guard.formats.pi_session import parse
from context_guard.stages import plan, settle
from context_guard.transcript import shown

EXAMPLES = 1_200
"""`.ci/run` adds 10,000 others by `scripts/random_passes.py`."""
SHARES = 2
"""Tests that the examples are dealt out to, so that several workers can take them."""

CASES = settings(
    max_examples=EXAMPLES // SHARES,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("share", range(SHARES))
def test_any_sequence_of_passes_leaves_the_conversation_in_order(share: int) -> None:
    """Valid for every provider, redeemable, within the rules, disjoint, idempotent, and silent where the judge is.

    The same examples on every machine; `scripts/random_passes.py` runs as many others as wanted.
    """
    seen = Seen()

    @seed(share)
    @CASES
    @given(tapes)
    def check(tape: bytes) -> None:
        check_passes(tape, seen)

    check()
    for kind in ("large", "small", "exchange", "image"):
        assert seen.edits[f"{kind} run-end"], seen
        assert seen.edits[f"{kind} mid-run"], seen
    assert seen.redeemed, seen
    assert seen.valid, seen


def test_an_exchange_with_a_note_that_somebody_else_edited_stays() -> None:
    """Found at random: the extension's shortened note went with its exchange, as only messages were looked at."""
    talk = (
        prompt("First"),
        note("Mind the gap. " * 200),
        answer("Long answer. " * 200),
        prompt("Second"),
        answer("Yes"),
    )
    config = Config(keep_recent_exchanges=0)
    assert [it.prompt_id for it in plan(session(*talk), config).collected.exchanges] == ["e1"]
    for edited in (edit("e2", "Mind it."), edit("e2", None)):
        assert plan(session(*talk[:3], edited, *talk[3:]), config).collected.exchanges == ()


@needs_shared
@pytest.mark.parametrize("name", ["01-search-fix", "04-steering", "05-compaction", "07-openai-switch", "11-offline"])
def test_drafts_are_applied_as_pi_applies_them(name: str) -> None:
    """What the host of these tests makes of drafts is what Pi's own reading makes of the lines written for them."""
    data = (SHARED / "pi" / f"{name}.jsonl").read_bytes()
    before = read(data).unwrap()
    eager = Config(keep_recent_exchanges=0, min_run_chars=0, run_end_break_even=False, exchange_break_even=False)
    planned = plan(before, eager)
    drafts = settle(planned, Judge(Tape(b"")).ask(planned.requests)).drafts
    assert len(drafts) > 2
    lines = edit_lines(parse(data).unwrap(), drafts, (f"{n:08x}" for n in count()), "2026-12-01T08:00:00.000Z")
    after, ours = read(data + lines.unwrap().data).unwrap(), apply(before, drafts)
    assert [entry.visible for entry in shown(after)] == [entry.visible for entry in shown(ours)]
    assert after.context == ours.context
    assert [it.record for it in after.records] == [it.record for it in ours.records]
