"""What every `Store` has to do, as checks for the tests of one.

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_a_store(check):
    clock = Clock()
    check(MyStore(now=clock), clock)

Each check wants an empty store that reads its time from the clock. `SHARED_CHECKS` take a second handle on the same
store too, as another process would have it.
"""

import threading
from collections.abc import Callable, Iterable
from datetime import timedelta

from context_guard.edit_log import LoggedEdit, LoggedPass, Omitted, Pinned, RawImage, RawOutput, Replaced, Restored
from context_guard.records import ItemResult, Record
from context_guard_effects.store.port import Expired, IdTaken, Quota, Store, StoreError

DAY = 86_400_000


class Clock:
    """Milliseconds that pass only when they are told to."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.ms


Check = Callable[[Store, Clock], None]


def pass_of(*edits: LoggedEdit, session: str = "s", results: tuple[ItemResult, ...] = ()) -> LoggedPass:
    record = Record(1, "run-end", "local/made-up", 900, 1, 10, 0.0, 5, False, results)
    return LoggedPass(witness="witness", edits=edits, record=record, session=session, time=1_700_000_000_000)


def replaced(*ids: str, session: str = "s") -> LoggedPass:
    return pass_of(*(Replaced(id, (f"[context-guard] short {id}",)) for id in ids), session=session)


def output(id: str, text: str = "", images: tuple[RawImage, ...] = ()) -> RawOutput:
    return RawOutput(id=id, text=text or f"raw {id}\n" * 50, images=images, tool="bash", session="s")


def keeps_texts_and_images_as_they_are(store: Store, clock: Clock) -> None:
    """Whatever characters they hold: half pairs, zeros, none, very many."""
    texts = ("", "\ud83d", "a\0b\r\n", "é😀\ufeff", "x" * 1_000_000, "\udcff" * 3 + "line\n" * 9_000)
    images = (
        RawImage("image/png", "iVBORw0KGgo=" * 999),
        RawImage("image/png", "https://example.org/p.png", kind="url"),
    )
    raws = tuple(
        RawOutput(id=f"id{n}", text=text, images=images[: n % 3], tool="to\ud83dol", session="s\0")
        for n, text in enumerate(texts)
    )
    kept = store.keep(replaced(*(raw.id for raw in raws), session="s\ud83d"), raws)
    assert raws == tuple(store.raw(raw.id) for raw in raws)
    assert (kept,) == store.find([raws[0].id])
    assert store.sessions()[0].session == "s\ud83d"


def gives_back_the_pass_with_its_place(store: Store, clock: Clock) -> None:
    """Places rise from 1; what `keep` returns is what `find` finds."""
    result = ItemResult(entry_id="b", tool="bash", label="half \ud83d", outcome="kept", reason="needed", jev=("kw.9",))
    first = pass_of(Replaced("a", ("[context-guard] a", "more")), results=(result,))
    kept = [store.keep(first, (output("a"),)), store.keep(replaced("c"), (output("c"),))]
    assert [found.seq for found in kept] == [1, 2]
    assert (first.edits, first.record, first.witness) == (kept[0].edits, kept[0].record, kept[0].witness)
    assert (kept[0], kept[1]) == store.find({"c", "a"})


def finds_by_edits_and_by_results(store: Store, clock: Clock) -> None:
    """A pass comes once, in the order of the log, however many ids are asked for."""
    kept = store.keep(pass_of(Replaced("a", ("x",)), results=(ItemResult(entry_id="b"),)), (output("a"),))
    assert (kept,) == store.find(["a"]) == store.find(["b"]) == store.find([*map(str, range(3_000)), "b", "a", "a"])
    assert () == store.find([]) == store.find(["c", "\ud83d", ""])


def takes_the_same_output_again(store: Store, clock: Clock) -> None:
    """From another fork or session; one that is stored need not be given again."""
    store.keep(replaced("a"), (output("a"),))
    store.keep(replaced("a", session="fork"), (output("a"),))
    store.keep(replaced("a", session="third"), ())
    assert [found.seq for found in store.find(["a"])] == [1, 2, 3]
    assert (store.status().outputs, store.status().passes) == (1, 3)


def refuses_an_id_with_another_content(store: Store, clock: Clock) -> None:
    """In the text or in an image; the error names the ids, and nothing of the pass is written."""
    image = RawImage("image/png", "AAAA")
    store.keep(replaced("a", "i"), (output("a"), output("i", images=(image,))))
    for other in (output("a", "other"), output("a", images=(image,)), output("i")):
        taken = _refused(store, replaced("new", other.id), (output("new"), other))
        assert isinstance(taken, IdTaken)
        assert (other.id,) == taken.ids
    assert None is store.raw("new")
    assert store.find(["new"]) == ()
    twice = _refused(store, replaced("new"), (output("new"), output("new", "other")))
    assert isinstance(twice, IdTaken)
    assert None is store.raw("new")


def refuses_an_edit_without_its_raw(store: Store, clock: Clock) -> None:
    """No edit stands in the log whose output recall could not give back."""
    assert "b" in _refused(store, replaced("a", "b"), (output("a"),)).message
    assert "m" in _refused(store, pass_of(Omitted("m")), ()).message
    assert None is store.raw("a")
    assert store.find(["a", "b", "m"]) == ()


def knows_an_omitted_exchange_by_its_prompt(store: Store, clock: Clock) -> None:
    """The members of one need no output of their own: the transcript that stands for the prompt holds them."""
    exchange = ItemResult(entry_id="p", kind="exchange", outcome="removed", omitted=("m1", "m2"))
    edits = (Replaced("p", ("[context-guard] Omitted",)), Omitted("m1"), Omitted("m2"))
    kept = store.keep(pass_of(*edits, results=(exchange,)), (output("p"),))
    assert (kept,) == store.find(["m2"])
    assert None is store.raw("m1")


def tells_expired_from_unknown(store: Store, clock: Clock) -> None:
    """An expired id says when, its edits are gone from the log, and given again it is there again."""
    store.keep(replaced("a"), (output("a"),))
    clock.ms += 31 * DAY
    kept = store.keep(replaced("b"), (output("b"),))
    purged = store.purge(older_than=timedelta(days=30))
    assert (purged.passes, purged.outputs) == (1, 1)
    assert purged.raw_size >= len(output("a").text)
    assert Expired(id="a", at=clock.ms) == store.raw("a")
    assert None is store.raw("never")
    assert (kept,) == store.find(["a", "b"])
    assert isinstance(store.raw("b"), RawOutput)
    assert "a" in _refused(store, replaced("a"), ()).message
    again = store.keep(replaced("a"), (output("a", "another text by now"),))
    assert again.seq == 3
    assert output("a", "another text by now") == store.raw("a")


def keeps_what_a_later_pass_needs(store: Store, clock: Clock) -> None:
    """An output goes with the last pass that hides it, not with the first."""
    store.keep(replaced("a"), (output("a"),))
    clock.ms += 31 * DAY
    later = store.keep(replaced("a"), ())
    assert store.purge(older_than=timedelta(days=30)).outputs == 0
    assert output("a") == store.raw("a")
    assert (later,) == store.find(["a"])


def purges_one_session(store: Store, clock: Clock) -> None:
    """Its passes, and the outputs that no other session needs."""
    store.keep(replaced("own", "both", session="going"), (output("own"), output("both")))
    stays = store.keep(replaced("both", session="stays"), ())
    store.keep(LoggedPass(witness="", edits=(Pinned("both"),), session="going"), ())
    purged = store.purge(session="going")
    assert (purged.passes, purged.outputs) == (2, 1)
    assert (stays,) == store.find(["own", "both"])
    assert isinstance(store.raw("own"), Expired)
    assert output("both") == store.raw("both")
    assert store.purge(session="unknown").passes == 0


def keeps_the_word_of_the_user_by_age(store: Store, clock: Clock) -> None:
    """A pin quotes nothing and goes on to hold."""
    word = store.keep(LoggedPass(witness="", edits=(Pinned("a"), Restored("b"))), ())
    clock.ms += DAY
    assert store.purge(older_than=timedelta(0)).passes == 0
    assert (word,) == store.find(["a"])


def tells_what_a_purge_would_delete(store: Store, clock: Clock) -> None:
    """And deletes nothing yet. Without an age or a session nothing is purged."""
    store.keep(replaced("a"), (output("a"),))
    clock.ms += DAY
    told = store.purgeable(older_than=timedelta(days=1))
    assert output("a") == store.raw("a")
    purged = store.purge(older_than=timedelta(days=1))
    assert (told.passes, told.outputs, told.raw_size) == (purged.passes, purged.outputs, purged.raw_size)
    try:
        store.purge()
    except StoreError:
        return
    raise AssertionError("it purged everything")


def serves_threads(store: Store, clock: Clock) -> None:
    """Many at once, each with its own outputs: all are there, each pass has its own place."""
    faults: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for n in range(5):
                id = f"{name}-{n}"
                store.keep(replaced(id), (output(id),))
                assert output(id) == store.raw(id)
        except BaseException as error:
            faults.append(error)

    _together(threading.Thread(target=write, args=(f"t{n}",)) for n in range(6))
    assert faults == []
    found = store.find([f"t{n}-{m}" for n in range(6) for m in range(5)])
    assert list(range(1, 31)) == [kept.seq for kept in found]


def counts_what_is_there(store: Store, clock: Clock) -> None:
    """For people: outputs, passes, sessions, sizes, times."""
    store.keep(replaced("a", session="one"), (output("a", "é" * 100),))
    clock.ms += DAY
    store.keep(replaced("b", session="two"), (output("b", "x" * 100),))
    status = store.status()
    assert (status.outputs, status.expired, status.passes, status.sessions, status.raw_size) == (2, 0, 2, 2, 300)
    assert (clock.ms - DAY, clock.ms) == (status.oldest, status.newest)
    assert status.size > 0
    assert [(it.session, it.passes, it.outputs) for it in store.sessions()] == [("two", 1, 1), ("one", 1, 1)]


def finds_no_fault_in_itself(store: Store, clock: Clock) -> None:
    store.keep(replaced("a"), (output("a"),))
    clock.ms += DAY
    store.keep(replaced("b"), (output("b"),))
    store.purge(older_than=timedelta(hours=1))
    assert store.check() == ()


def says_that_it_is_closed(store: Store, clock: Clock) -> None:
    """Closing twice is no fault; what is asked afterwards is a StoreError, never an answer."""
    store.close()
    store.close()
    try:
        store.raw("a")
    except StoreError:
        return
    raise AssertionError("a closed store answered")


CHECKS: tuple[Check, ...] = (
    keeps_texts_and_images_as_they_are,
    gives_back_the_pass_with_its_place,
    finds_by_edits_and_by_results,
    takes_the_same_output_again,
    refuses_an_id_with_another_content,
    refuses_an_edit_without_its_raw,
    knows_an_omitted_exchange_by_its_prompt,
    tells_expired_from_unknown,
    keeps_what_a_later_pass_needs,
    purges_one_session,
    keeps_the_word_of_the_user_by_age,
    tells_what_a_purge_would_delete,
    serves_threads,
    counts_what_is_there,
    finds_no_fault_in_itself,
    says_that_it_is_closed,
)


def is_seen_by_the_other(store: Store, other: Store, clock: Clock) -> None:
    """What one handle keeps, the other finds at once; a purge by one is a purge for both."""
    kept = store.keep(replaced("a"), (output("a"),))
    assert (kept,) == other.find(["a"])
    assert output("a") == other.raw("a")
    clock.ms += DAY
    other.purge(older_than=timedelta(hours=1))
    assert isinstance(store.raw("a"), Expired)


def takes_turns_with_the_other(store: Store, other: Store, clock: Clock) -> None:
    """Two writers at once: nobody fails, no place is given twice."""
    places: list[int] = []

    def write(handle: Store, name: str) -> None:
        for n in range(20):
            places.append(handle.keep(replaced(f"{name}-{n}"), (output(f"{name}-{n}"),)).seq)

    _together(threading.Thread(target=write, args=args) for args in ((store, "one"), (other, "two")))
    assert list(range(1, 41)) == sorted(places)


def shares_a_limit_with_the_other(store: Store, other: Store, clock: Clock) -> None:
    """As many places as there are, however many ask at once; each window and each name has its own."""
    taken: list[bool] = []

    def ask(handle: Quota) -> None:
        taken.extend(handle.take("judge", 5, 7) for _ in range(10))

    assert isinstance(store, Quota)
    assert isinstance(other, Quota)
    _together(threading.Thread(target=ask, args=(handle,)) for handle in (store, other))
    assert sum(taken) == 7
    assert [store.take("judge", 6, 1), other.take("another", 6, 1), other.take("judge", 6, 1)] == [True, True, False]


SHARED_CHECKS: tuple[Callable[[Store, Store, Clock], None], ...] = (
    is_seen_by_the_other,
    takes_turns_with_the_other,
    shares_a_limit_with_the_other,
)


def _refused(store: Store, pass_: LoggedPass, raws: tuple[RawOutput, ...]) -> StoreError:
    try:
        store.keep(pass_, raws)
    except StoreError as error:
        return error
    raise AssertionError(f"it was kept: {pass_}")


def _together(threads: Iterable[threading.Thread]) -> None:
    running = list(threads)
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
