"""What a live host is given of a pass that was judged while the conversation went on."""

from functools import partial

import msgspec
import pytest
import trio
from build import answer, call, edit, lines, prompt, result, session

from context_guard.boundary import Boundary
from context_guard.config import Config
from context_guard.drafts import Append, Draft, Replace
from context_guard.late_drafts import fit_drafts, refused_targets
from context_guard.records import StoredRecord
from context_guard.stages import Settlement
from context_guard.transcript import Entry, Transcript
from context_guard_effects.guard import distill

RUN = (
    prompt("Where is the pool made?"),
    call("bash", {"command": "rg -n pool"}),
    result(lines(400)),
    call("bash", {"command": "rg -n lake"}),
    result(lines(300)),
    answer("In src/pool.py."),
)
LATER = (prompt("And the lake?"), answer("In src/lake.py."))


@pytest.fixture(scope="module")
def settled() -> Settlement:
    """A pass that edits e3 and e5 and was planned at e6."""
    judged = partial(distill, session(*RUN), Config(run_end_break_even=False), None, Boundary(now=10**12))
    settlement = trio.run(judged).settlement
    assert ["e3", "e5"] == targets(settlement.drafts)
    return settlement


def targets(drafts: tuple[Draft, ...]) -> list[str]:
    return [draft.target for draft in drafts if isinstance(draft, Replace)]


def summary(id: str) -> Entry:
    return Entry(id=id, parent=None, role="summary", kind="compaction")


def test_a_pass_fits_the_branch_that_goes_on(settled: Settlement) -> None:
    """New entries behind the point at which it was planned change nothing."""
    assert settled.drafts == fit_drafts(settled, "e6", session(*RUN, *LATER))


def test_a_branch_that_was_left_gets_nothing(settled: Settlement) -> None:
    assert fit_drafts(settled, "e6", session(*RUN[:3])) == ()


def test_behind_a_compaction_nothing_fits(settled: Settlement) -> None:
    """The outputs are no longer in the context."""
    assert fit_drafts(settled, "e6", with_entry(session(*RUN), summary("s"))) == ()


def with_entry(transcript: Transcript, entry: Entry) -> Transcript:
    return msgspec.structs.replace(transcript, entries=(*transcript.entries, entry))


@pytest.mark.parametrize("how", ["edited since", "drafted by another", "pinned since"])
def test_what_others_touched_goes_by_itself(settled: Settlement, how: str) -> None:
    """The rest is still edited, and the record tells of the rest alone."""
    branch, taken = session(*RUN, *LATER), frozenset[str]()
    if how == "edited since":
        branch = session(*RUN, *LATER, edit("e3", "theirs"))
    elif how == "drafted by another":
        taken = frozenset({"e3"})
    else:
        branch = msgspec.structs.replace(branch, pinned=frozenset({"e3"}))
    drafts = fit_drafts(settled, "e6", branch, taken)
    assert ["e5"] == targets(drafts)
    (record,) = (draft.record for draft in drafts if isinstance(draft, Append))
    assert ["e5"] == [item.entry_id for item in record.results]
    assert 0 < record.saved_chars < settled.record.saved_chars


def test_what_the_branch_already_holds_is_not_given_twice(settled: Settlement) -> None:
    """Its record says that it was carried out."""
    transcript = session(*RUN, *LATER)
    stored = StoredRecord(id="x", at=7, record=settled.record)
    assert fit_drafts(settled, "e6", msgspec.structs.replace(transcript, records=(stored,))) == ()


def test_a_draft_that_a_host_would_refuse_is_found() -> None:
    """An edit of an entry that is not on the branch, or that no edit may replace; other drafts have no target."""
    transcript = with_entry(session(*RUN), summary("s"))
    assert refused_targets(transcript, ("e3", "zz", None, "s")) == (1, 3)
