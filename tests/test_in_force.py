"""The log beside a message list: when a pass holds, what covers what, and the user's word."""

from typing import Any

import pytest

from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, Pinned, Replaced, Restored, Unpinned
from context_guard.in_force import edits_in_force, replay
from context_guard.records import ItemResult, Record

IDS = ("p1", "a1", "t1", "a2", "p2", "a3", "t2", "a4")
SHORT = Replaced("t2", ("short",))
GONE = (Replaced("p1", ("gone",)), Omitted("a1"), Omitted("t1"), Omitted("a2"))
SHOWN_GONE: dict[str, Any] = {"p1": ("gone",), "a1": None, "t1": None, "a2": None}


def logged(*edits: LoggedEdit, witness: str = "a4", seq: int = 0) -> LoggedPass:
    result = ItemResult(entry_id="p1", kind="exchange", outcome="removed", omitted=("a1", "t1", "a2"))
    record = Record(
        v=1,
        phase="run-end",
        model="m",
        saved_chars=0,
        requests=0,
        input_tokens=0,
        cost_usd=0,
        ms=0,
        timed_out=False,
        results=(result,) if Omitted("a1") in edits else (),
    )
    return LoggedPass(witness=witness, edits=edits, record=record, seq=seq)


def word(edit: LoggedEdit, seq: int = 0) -> LoggedPass:
    return LoggedPass(witness="", edits=(edit,), seq=seq)


def test_a_pass_holds_where_its_witness_stands_behind_its_targets() -> None:
    """Without the witness, or with the target behind it, the list is another one than the pass saw."""
    log = (logged(SHORT),)
    assert edits_in_force(IDS, log) == {"t2": ("short",)}
    assert edits_in_force(IDS[:-1], log) == {}
    assert edits_in_force((*IDS[:-2], "a4", "t2"), log) == {}
    assert edits_in_force(IDS, (logged(Replaced("a4", ("itself",))),)) == {}
    assert edits_in_force((*IDS, "p3", "a5"), log) == {"t2": ("short",)}


@pytest.mark.parametrize("missing", ["p1", "a1", "t1", "a2"])
def test_half_an_exchange_is_never_omitted(missing: str) -> None:
    """With one of its entries gone, edited or its edit lost, all of it is shown; other edits of the pass hold."""
    assert edits_in_force(IDS, (logged(*GONE, SHORT),)) == SHOWN_GONE | {"t2": ("short",)}
    left = tuple(it for it in IDS if it != missing)
    assert edits_in_force(left, (logged(*GONE, SHORT),)) == {"t2": ("short",)}
    kept = tuple(it for it in GONE if it.target != missing)
    if Omitted("a1") in kept:
        assert edits_in_force(IDS, (logged(*kept, SHORT),)) == {"t2": ("short",)}


def test_a_later_edit_covers_an_earlier_one() -> None:
    """The place in the log decides, not the order of the passes given; what is not stored yet comes last."""
    first, second = logged(SHORT, seq=1), logged(Replaced("t2", ("shorter",)), seq=2)
    assert edits_in_force(IDS, (second, first)) == {"t2": ("shorter",)}
    assert edits_in_force(IDS, (logged(Replaced("t2", ("new",))), second, first)) == {"t2": ("new",)}


@pytest.mark.parametrize("target", ["p1", "a1", "t1", "a2"])
def test_an_exchange_comes_back_as_a_whole(target: str) -> None:
    """With any of its entries, and as it was before it went: an output in it that was distilled still is."""
    log = (logged(Replaced("t1", ("short",)), witness="a2", seq=1), logged(*GONE, seq=2))
    assert edits_in_force(IDS, log) == SHOWN_GONE
    after: dict[str, Any] = {} if target == "t1" else {"t1": ("short",)}
    assert edits_in_force(IDS, (*log, word(Restored(target), seq=3))) == after
    assert edits_in_force(IDS, (*log, word(Pinned(target), seq=3))) == after
    last = {step.change.target: step.change for step in replay(IDS, (*log, word(Restored(target), seq=3))).steps}
    assert last[target] == Restored(target)


def test_what_is_pinned_takes_no_edit_until_it_is_unpinned() -> None:
    """Neither of its own nor with an exchange; an edit from before the pin does not come back after it."""
    pin, unpin = word(Pinned("t2"), seq=2), word(Unpinned("t2"), seq=3)
    assert edits_in_force(IDS, (logged(SHORT, seq=1), pin, unpin)) == {}
    assert edits_in_force(IDS, (pin, logged(SHORT, seq=4))) == {}
    assert edits_in_force(IDS, (pin, unpin, logged(SHORT, seq=4))) == {"t2": ("short",)}
    assert edits_in_force(IDS, (word(Pinned("a1"), seq=1), logged(*GONE, SHORT, seq=2))) == {"t2": ("short",)}
    assert replay(IDS, (pin,)).pinned == {"t2"}
    assert replay(IDS[:4], (pin,)).pinned == frozenset()


def test_a_restored_output_can_be_edited_again() -> None:
    """Restoring is for what was; the next pass decides anew."""
    log = (logged(SHORT, seq=1), word(Restored("t2"), seq=2), logged(Replaced("t2", ("again",)), seq=3))
    assert edits_in_force(IDS, log[:2]) == {}
    assert edits_in_force(IDS, log) == {"t2": ("again",)}
