"""The guard of a hand-written loop."""

from typing import get_args

import pytest

from context_guard_effects.codecs import Provider
from context_guard_effects.store import memory_store
from context_guard_effects.testing import LoopHost, assert_guard_invariants

PROVIDERS: tuple[Provider, ...] = get_args(Provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_hand_written_loop_is_guarded(provider: Provider) -> None:
    """What holds for every host holds for a loop over the messages of each provider."""
    assert_guard_invariants(LoopHost(provider), memory_store())
