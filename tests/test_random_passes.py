"""Random conversations, random answers, random settings: what holds for any sequence of passes (issue 3)."""

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_passes import Seen, check_passes
from transcripts import tapes

EXAMPLES = 10_000
SHARES = 4
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
