"""What a live host knows of a checkpoint without looking: never more than is true, and worth knowing."""

import pytest
from apply import apply
from build import SECOND, Piece, answer, call, lines, prompt, result, session
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from random_passes import Judge, read_boundary, read_config
from transcripts import MODELS, Talk, Tape, tapes

from context_guard.boundary import Boundary
from context_guard.cache.prices import ModelCost
from context_guard.cache.waiting import Waiting
from context_guard.checkpoint import batch_chars, item_chars
from context_guard.config import Config
from context_guard.gathered import Gathered, cannot_be_due, gather, grow
from context_guard.stages import plan, settle
from context_guard.transcript import Model, Usage


class Seen(Struct):
    known: int = 0
    """Boundaries known to have nothing to do."""
    waited: int = 0
    """Of those, the ones with enough to judge, among it old exchanges that cannot pay yet."""
    looked: int = 0
    """Boundaries that had nothing to do, as a look at all of the branch told."""
    had: int = 0


def assert_alike(grown: Waiting | None, fresh: Waiting | None) -> None:
    """What turns were added to is what a look finds, for as long as the model and with it the prices stay."""
    if grown is None or fresh is None or grown.model != fresh.model:
        return
    one, other = grown.ledger, fresh.ledger
    if one.prices != other.prices:
        return
    assert one.charged == pytest.approx(other.charged)
    assert one.earned == pytest.approx(other.earned)
    exact = replace(one, charged=other.charged, earned=other.earned)
    assert replace(grown, ledger=exact) == fresh


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
            assert_alike(self.found.waiting, gather(transcript, planned).waiting)
        if self.found is not None and cannot_be_due(self.found, transcript, boundary):
            assert is_idle
            assert settle(planned, Judge(tape).ask(planned.requests)).drafts == ()
            self.seen.known += 1
            self.seen.waited += self.found.chars >= batch_chars(transcript.model, self.found.config)
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
    if tape.below(2):
        config = replace(
            config,
            mid_run_break_even=True,
            original_costs=False,
            prune_exchanges=True,
            keep_recent_exchanges=0,
            risk_of_bill=tape.pick((0.0075, 1.0, 0.1)),
            sure_share=tape.pick((0.2, 1.0)),
        )
    talk = Talk(tape)
    live = Live(talk, config, seen)
    while not talk.is_full:
        talk.prompt()
        for _ in range(tape.pick((3, 5, 8, 1))):
            talk.turn()
            tell_usage(talk)
            if tape.chance(80):
                live.boundary()
            meddle(talk, live)
        talk.answer()
        if tape.chance(20):
            talk.switch()
        if tape.chance(20):
            talk.aside()


def tell_usage(talk: Talk) -> None:
    """The last answer's, as its provider counted it; not every provider does."""
    entries = talk.transcript.entries
    place = max(at for at, entry in enumerate(entries) if entry.role == "assistant")
    usage = Usage(input=talk.tape.pick((3, 90, 4_000)), output=9, cache_read=talk.tape.pick((0, 700, 20_000)))
    counted = replace(entries[place], usage=usage if talk.tape.chance(70) else None)
    talk.transcript = replace(talk.transcript, entries=(*entries[:place], counted, *entries[place + 1 :]))


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
        case 7:
            talk.clock += 600 * SECOND
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
    assert seen.waited > 30, seen
    assert seen.had, seen


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.integers(20, 700), min_size=3, max_size=9),
    st.lists(st.integers(0, 40), min_size=1, max_size=40),
    st.sampled_from(MODELS),
    st.sampled_from((Config(), Config(risk_of_bill=1.0), Config(risk_of_bill=1.0, rerun_steps_per_1k_tokens=0))),
    st.tuples(st.integers(0, 40), st.sampled_from(("", "", "pause", "other model", "other price"))),
)
def test_exchanges_that_cannot_pay_yet_cannot(
    sizes: list[int], turns: list[int], model: Model, config: Config, change: tuple[int, str]
) -> None:
    """Turn by turn up to where they do: what is known without a look is what a look finds."""
    config = replace(config, mid_run_batch_chars=5_000, mid_run_batch_chars_openai=5_000, keep_recent_exchanges=0)
    pieces = [piece for size in sizes for piece in exchange(size)] + [prompt("And now?")]
    found: Gathered | None = None
    cost, pause = None, 0
    for number, size in enumerate(turns):
        pieces += [call("bash", {"command": f"echo {number}"}), result(lines(size))]
        if number == change[0]:
            model = MODELS[-1] if change[1] == "other model" else model
            cost = ModelCost(input=1.0, cache_read=0.9) if change[1] == "other price" else None
            pause = 7_200 * SECOND if change[1] == "pause" else 0
        transcript = session(*pieces, model=model)
        now = max(entry.time or 0 for entry in transcript.entries) + pause
        boundary = Boundary(phase="mid-run", now=now, cost=cost)
        planned = plan(transcript, config, boundary)
        found = grow(found, transcript, config) if found is not None else None
        if found is not None:
            assert_alike(found.waiting, gather(transcript, planned).waiting)
        if found is not None and cannot_be_due(found, transcript, boundary):
            assert planned.requests == ()
        else:
            found = gather(transcript, planned)


def exchange(size: int) -> list[Piece]:
    return [prompt("What is there?"), call("bash", {"command": "ls"}), result(lines(size)), answer("Much.")]


def test_a_run_behind_old_exchanges_is_looked_at_once() -> None:
    """As long as they cannot pay, no turn is a look at all of the branch."""
    pieces = [piece for _ in range(12) for piece in exchange(500)] + [prompt("And now?")]
    looks, found = 0, None
    for number in range(8):
        pieces += [call("bash", {"command": f"echo {number}"}), result("ok")]
        transcript = session(*pieces)
        boundary = Boundary(phase="mid-run", now=max(entry.time or 0 for entry in transcript.entries))
        found = grow(found, transcript, Config()) if found is not None else None
        if found is None or not cannot_be_due(found, transcript, boundary):
            planned = plan(transcript, Config(), boundary)
            assert planned.checkpoint is not None
            assert planned.checkpoint.reason.startswith("would cost you more")
            found = gather(transcript, planned)
            looks += 1
    assert looks == 1
