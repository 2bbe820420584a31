"""What a live host knows of a checkpoint without looking: never more than is true, and worth knowing."""

import pytest
from apply import apply
from hypothesis import HealthCheck, Phase, given, seed, settings
from msgspec import Struct
from msgspec.structs import replace
from random_passes import Judge, read_boundary, read_config
from transcripts import Talk, Tape, tapes

from context_guard.checkpoint import item_chars
from context_guard.config import Config
from context_guard.gathered import Gathered, cannot_be_due, gather, grow
from context_guard.stages import plan, settle


class Seen(Struct):
    known: int = 0
    """Boundaries known to have nothing to do."""
    looked: int = 0
    """Boundaries that had nothing to do, as a look at all of the branch told."""
    had: int = 0


class Live:
    """A host that lives as long as the conversation: what it knows is what its last look told, and what came since."""

    def __init__(self, talk: Talk, config: Config, seen: Seen) -> None:
        self.talk, self.config, self.seen = talk, config, seen
        self.found: Gathered | None = None

    def boundary(self) -> None:
        transcript, tape = self.talk.transcript, self.talk.tape
        boundary = read_boundary(self.talk, "mid-run")
        planned = plan(transcript, self.config, boundary)
        is_idle = not planned.requests and not planned.items.images
        if self.found is not None:
            self.found = grow(self.found, transcript, self.config)
        if self.found is not None:
            assert item_chars(planned.collected) <= self.found.chars
        if self.found is not None and cannot_be_due(self.found, transcript):
            assert is_idle
            assert settle(planned, Judge(tape).ask(planned.requests)).drafts == ()
            self.seen.known += 1
        elif is_idle:
            self.found = gather(transcript, planned)
            self.seen.looked += 1
        else:
            self.seen.had += 1
            self.talk.transcript = apply(transcript, settle(planned, Judge(tape).ask(planned.requests)).drafts)


def play(data: bytes, seen: Seen) -> None:
    tape = Tape(data)
    batch = tape.pick((5_000, 20_000, 60_000, 500))
    config = replace(read_config(tape), mid_run_batch_chars=batch, mid_run_batch_chars_openai=2 * batch)
    talk = Talk(tape)
    live = Live(talk, config, seen)
    while not talk.is_full:
        talk.prompt()
        for _ in range(tape.pick((3, 5, 8, 1))):
            talk.turn()
            if tape.chance(80):
                live.boundary()
            meddle(talk, live)
        talk.answer()
        if tape.chance(20):
            talk.switch()
        if tape.chance(20):
            talk.aside()


def meddle(talk: Talk, live: Live) -> None:
    """What may happen between two turns that makes more, or less, of what was there before."""
    tape, transcript = talk.tape, talk.transcript
    match tape.below(16):
        case 8:
            talk.edit_something()
        case 9 | 10:
            changed = [entry for entry in transcript.entries if entry.role != "meta" and entry.visible != entry.raw]
            if changed:
                entry = tape.pick(changed)
                talk.edit(entry, entry.raw)
        case 11:
            pinned = [entry.id for entry in transcript.entries if entry.role in ("tool", "user")]
            talk.transcript = replace(transcript, pinned=frozenset(pinned))
        case 12 | 13:
            talk.transcript = replace(transcript, pinned=frozenset())
        case 14:
            talk.aside()
        case 15:
            live.config = replace(live.config, min_result_chars=tape.pick((900, 300, 4_000)))
        case _:
            pass


@pytest.mark.parametrize("share", range(2))
def test_what_is_known_to_have_nothing_to_do_has_nothing_to_do(share: int) -> None:
    """Over edits, pins, compactions, records, other models and settings: the whole pipeline finds no request and no
    draft, and no more characters than the bound."""
    seen = Seen()

    @seed(share)
    @settings(
        max_examples=400,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(tapes)
    def check(tape: bytes) -> None:
        play(tape, seen)

    check()
    assert seen.known > 200, seen
    assert seen.had, seen
