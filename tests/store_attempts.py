"""Any passes and outputs that a host might keep, and what has to hold of a store after each."""

from hypothesis import strategies as st

from context_guard.edit_log import LoggedPass, Omitted, Pinned, RawImage, RawOutput, Replaced, Restored, Unpinned
from context_guard.hidden import mentioned
from context_guard.records import ItemResult, Record
from context_guard_effects.store import Store, StoreError

Attempts = list[tuple[LoggedPass, tuple[RawOutput, ...]]]

TEXTS = st.text(st.characters(), max_size=60) | st.text(st.sampled_from("\ud83d\0\n\r\ufeffa"), max_size=9)
SOME_IDS = ("a", "b", "\ud83d", "")
IDS = st.sampled_from(SOME_IDS)
EDITS = (
    st.builds(Replaced, IDS, st.lists(TEXTS, max_size=2).map(tuple))
    | st.builds(Omitted, IDS)
    | st.builds(Restored, IDS)
    | st.builds(Pinned, IDS)
    | st.builds(Unpinned, IDS)
)
RESULTS = st.builds(
    ItemResult,
    entry_id=IDS,
    label=TEXTS,
    reason=TEXTS,
    before_chars=st.integers(0, 10**15),
    omitted=st.none() | st.lists(IDS, max_size=2).map(tuple),
)
RECORDS = st.builds(
    Record,
    v=st.just(1),
    phase=st.sampled_from(["run-end", "mid-run"]),
    model=TEXTS,
    saved_chars=st.integers(-(2**80), 2**80),
    requests=st.integers(0, 9),
    input_tokens=st.integers(0, 9),
    cost_usd=st.floats(0, 1e15),
    ms=st.integers(0, 9),
    timed_out=st.booleans(),
    results=st.lists(RESULTS, max_size=3).map(tuple),
)
PASSES = st.builds(
    LoggedPass,
    witness=TEXTS,
    edits=st.lists(EDITS, max_size=4).map(tuple),
    record=st.none() | RECORDS,
    session=TEXTS,
    time=st.integers(),
)
RAWS = st.builds(
    RawOutput,
    id=IDS,
    text=TEXTS,
    images=st.lists(st.builds(RawImage, TEXTS, TEXTS, st.sampled_from(["base64", "url"])), max_size=2).map(tuple),
    tool=TEXTS,
    session=TEXTS,
)
ATTEMPTS = st.lists(st.tuples(PASSES, st.lists(RAWS, max_size=4).map(tuple)), max_size=4)


def check_attempts(store: Store, attempts: Attempts) -> None:
    """Each, on an empty store: either all of it is there, equal, or nothing of it."""
    log: list[LoggedPass] = []
    there: dict[str, tuple[str, tuple[RawImage, ...]]] = {}
    for pass_, raws in attempts:
        given_now = {raw.id: (raw.text, raw.images) for raw in raws}
        try:
            kept = store.keep(pass_, raws)
        except StoreError:
            pass
        else:
            there |= given_now
            if raws or mentioned(pass_):
                log.append(kept)
        assert log == list(store.find(SOME_IDS))
        found = {id: store.raw(id) for id in SOME_IDS}
        assert there == {id: (raw.text, raw.images) for id, raw in found.items() if isinstance(raw, RawOutput)}
    assert () == store.check()
