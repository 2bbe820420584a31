"""What earlier passes have settled, read from the branch alone: never from drafts that a host may have dropped."""

from context_guard.records import DEFERRED, was_judged
from context_guard.transcript import Transcript


def judged_mid_run(transcript: Transcript) -> frozenset[str]:
    """Outputs that a checkpoint of this branch has judged; those it got no answer for are not among them."""
    return frozenset(
        result.entry_id
        for stored in transcript.records
        if stored.record.phase == "mid-run"
        for result in stored.record.results
        if result.kind != "exchange" and was_judged(result.reason)
    )


def judged_exchanges(transcript: Transcript, run_start_id: str) -> frozenset[str]:
    """Exchanges judged since the current run began; a deferred one may be asked about again."""
    last = len(transcript.entries) - 1
    start = next((at for at in range(last, -1, -1) if transcript.entries[at].id == run_start_id), -1)
    return frozenset(
        result.entry_id
        for stored in transcript.records
        if stored.at > start
        for result in stored.record.results
        if result.kind == "exchange" and was_judged(result.reason) and result.reason != DEFERRED
    )


def deferred_outputs(transcript: Transcript) -> frozenset[str]:
    """Outputs that the last pass to judge them found may go, but whose edit did not pay then."""
    last = {
        result.entry_id: result.reason
        for stored in transcript.records
        for result in stored.record.results
        if result.kind in ("large", "small")
    }
    return frozenset(entry_id for entry_id, reason in last.items() if reason == DEFERRED)


def pending_edits(transcript: Transcript) -> tuple[str, ...]:
    """Targets of edits that no answered request has carried yet: those after the last answered assistant message."""
    entries = transcript.entries
    answered = next(
        (
            at
            for at in range(len(entries) - 1, -1, -1)
            if entries[at].role == "assistant" and entries[at].stop not in ("error", "aborted")
        ),
        -1,
    )
    return tuple(edit.target for edit in transcript.edits if edit.at > answered)
