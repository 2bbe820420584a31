"""Replays of synthetic sessions against a simulated provider: the guard never makes one much dearer."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.cost.judges import fixed_judge
from benchmarks.cost.providers import PROVIDERS
from build import answer, call, lines, prompt, result, session
from msgspec.structs import replace
from shared_data import needs_shared

from context_guard.config import Config
from context_guard.cost.provider import Provider
from context_guard.cost.recording import MINUTE, SECOND, Recording, record
from context_guard.cost.replay import replay
from context_guard.cost.timing import warm
from context_guard.transcript import Entry

ROOT = Path(__file__).resolve().parent.parent
ANTHROPIC = PROVIDERS[0]
MOST_MORE = 1.01

every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)


def recording(*pieces: Entry, pauses: tuple[float, ...] = ()) -> Recording:
    """The entries five seconds apart; each prompt but the first after so many minutes."""
    made = record("synthetic", session(*pieces))
    waits = iter(pauses)
    now = 0
    entries: list[Entry] = []
    for entry in made.entries:
        now += int(next(waits, 0.1) * MINUTE) if entry.role == "user" and entries else 5 * SECOND
        entries.append(replace(entry, time=now))
    return replace(made, entries=tuple(entries))


def run(turns: int, chars: int = 12_000, says: str = "Look at it.") -> list[Entry]:
    """A prompt, so many calls with an output each, and an answer."""
    pieces = [prompt(says)]
    for turn in range(turns):
        pieces += [call("bash", {"command": f"cat part-{says}-{turn}.log"}), result(lines(chars // 42))]
    return [*pieces, answer("Nothing of note in there.")]


def test_a_prompt_within_seconds_finds_the_context_as_it_was() -> None:
    """T32: after 20 s the cache is warm, and in a short session an edit is not worth it."""
    two = recording(*run(3), prompt("And now?"), answer("Done."), pauses=(20 / 60,))
    without, with_guard = replay(two, ANTHROPIC, None), replay(two, ANTHROPIC, Config(), fixed_judge)
    assert without.usages == with_guard.usages
    assert with_guard.deferring > 0


def test_a_prompt_after_the_cache_has_expired_finds_less() -> None:
    """T32: after 6 min the same edit is free, and the request costs less."""
    two = recording(*run(3), prompt("And now?"), answer("Done."), pauses=(6,))
    without, with_guard = replay(two, ANTHROPIC, None), replay(two, ANTHROPIC, Config(), fixed_judge)
    assert with_guard.editing == 1
    assert with_guard.dollars < 0.75 * without.dollars


@every_provider
def test_where_the_sum_says_no_nothing_is_edited(provider: Provider) -> None:
    """A session of a few requests ends as it would have without a guard, request by request."""
    short = recording(*run(2), prompt("Thanks."), answer("You're welcome."))
    with_guard = replay(short, provider, Config(), fixed_judge)
    assert replay(short, provider, None).usages == with_guard.usages


@pytest.mark.parametrize("provider", PROVIDERS[::2], ids=lambda provider: provider.name)
def test_a_long_run_costs_less_and_stays_smaller(provider: Provider) -> None:
    """Eighty turns in one run, always warm: checkpoints pay, and the largest request is smaller."""
    long = warm(recording(*run(80, chars=6_000)))
    without, with_guard = replay(long, provider, None), replay(long, provider, Config(), fixed_judge)
    assert with_guard.dollars < 0.98 * without.dollars
    assert with_guard.peak < without.peak


@every_provider
@pytest.mark.parametrize("requests", [31, 48])
def test_no_session_costs_much_more_however_soon_it_ends(provider: Provider, requests: int) -> None:
    """Cut off after any number of requests, right behind an edit too, a session is at most 1 % dearer."""
    pieces = [piece for number in range(12) for piece in run(6, chars=9_000, says=f"Part {number}.")]
    places = [place for place, piece in enumerate(pieces) if piece.role == "assistant"]
    cut = warm(recording(*pieces[: places[requests] + 1]))
    without, with_guard = replay(cut, provider, None), replay(cut, provider, Config(), fixed_judge)
    assert with_guard.dollars <= MOST_MORE * without.dollars


@every_provider
def test_with_nothing_to_judge_the_bill_is_the_same(provider: Provider) -> None:
    """Prompts and answers alone cost to the cent what they cost without a guard."""
    talk = recording(*[piece for number in range(30) for piece in (prompt(f"Question {number}?"), answer("Yes."))])
    assert replay(talk, provider, None).dollars == pytest.approx(replay(talk, provider, Config()).dollars, rel=0.001)


def test_what_was_deferred_goes_when_the_cache_is_cold() -> None:
    """Put off at the first run's end, the edits of the first run are made before a prompt that comes late."""
    pieces = [*run(3), prompt("Next?"), answer("Sure."), prompt("And then?"), answer("That is all.")]
    early = replay(recording(*pieces, pauses=(0.2, 0.2)), ANTHROPIC, Config(), fixed_judge)
    late = replay(recording(*pieces, pauses=(0.2, 30)), ANTHROPIC, Config(), fixed_judge)
    assert (early.editing, late.editing) == (0, 1)
    assert late.edits == 3


def test_what_was_deferred_goes_once_it_pays() -> None:
    """The same without a pause, when the session has gone on for so long that more can be expected."""
    pieces = [piece for number in range(14) for piece in run(5, chars=6_000, says=f"Part {number}.")]
    done = replay(warm(recording(*pieces)), ANTHROPIC, Config(), fixed_judge)
    assert done.deferring > 0
    assert done.edits > 40


@needs_shared
def test_the_recorded_sessions_cost_no_more() -> None:
    """The quick part of the benchmark: every recorded session of fewer than 60 requests, by every provider's rules."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cost", "--quick"],
        cwd=ROOT,
        env={"PYTHONPATH": "pipeline:effects"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
