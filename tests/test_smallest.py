"""What is left of a list when all is left out that can be."""

from hypothesis import given
from hypothesis import strategies as st

from context_guard_effects.testing.smallest import shrink


@given(st.integers(0, 60), st.sets(st.integers(0, 59)))
def test_exactly_what_is_needed_is_left(count: int, needed: set[int]) -> None:
    """Where some items are needed and no others, those are left, in their order."""
    wanted = [it for it in range(count) if it in needed]
    assert wanted == shrink(range(count), lambda left: {*wanted} <= {*left})


@given(st.integers(0, 40), st.integers(0, 2**16))
def test_what_is_left_holds(count: int, odd: int) -> None:
    """Also where leaving out more can be right again where less was not."""

    def holds(left: list[int]) -> bool:
        return len(left) == count or (sum(left) * 7 + len(left)) % 5 == odd % 5

    assert holds(shrink(range(count), holds))
