"""What of an edit log holds in one list of entries: which target shows what now, and how it came to that."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from context_guard.edit_log import LoggedPass, Omitted, Pinned, Replaced, Restored, Unpinned

Texts = tuple[str, ...]
Change = Replaced | Omitted | Restored


class Step(Struct, frozen=True):
    """A change of what the model sees of one entry."""

    place: int
    """Index into `Replay.passes`."""
    change: Change


class Replay(Struct, frozen=True):
    passes: tuple[LoggedPass, ...]
    """Those that hold here, in the order of the log."""
    steps: tuple[Step, ...]
    """Every change that took effect; the last one of a target is in force."""
    edits: tuple[tuple[str, Texts | None], ...]
    """What is in force: target → texts; None: the model does not see the target."""
    pinned: frozenset[str]


def edits_in_force(ids: Sequence[str], log: Sequence[LoggedPass]) -> dict[str, Texts | None]:
    """What the model sees instead of each edited entry of a list; None in place of an omitted one."""
    return dict(replay(ids, log).edits)


def replay(ids: Sequence[str], log: Sequence[LoggedPass]) -> Replay:
    """The log over a list of entries.

    A pass holds where its witness is. Of its edits each holds whose target stands in front of the witness, those of one
    omitted exchange together or not at all. A later edit covers an earlier one. The user's word brings back the raw
    content, and with one entry of an omitted exchange the whole of it. What is pinned takes no edit.
    """
    places = {entry_id: place for place, entry_id in enumerate(ids)}
    passes: list[LoggedPass] = []
    state = _State()
    for logged in sorted(log, key=_place_in_log):
        end = places.get(logged.witness, -1) if logged.witness else len(ids)
        if end < 0:
            continue
        groups = _groups(logged)
        own = {edit.target for edit in logged.edits if isinstance(edit, Replaced | Omitted)}
        ready = {target for target in own if places.get(target, end) < end} - state.pinned
        broken = {group for target, group in groups.items() if target not in ready}
        for edit in logged.edits:
            target = edit.target
            match edit:
                case Replaced() | Omitted():
                    group = groups.get(target)
                    if target in ready and group not in broken:
                        state.cover(len(passes), edit, group)
                case Restored():
                    state.bring_back(len(passes), target)
                case Pinned():
                    state.bring_back(len(passes), target)
                    if target in places:
                        state.pinned.add(target)
                case Unpinned():
                    state.pinned.discard(target)
        passes.append(logged)
    return Replay(
        passes=tuple(passes), steps=tuple(state.steps), edits=tuple(state.edits()), pinned=frozenset(state.pinned)
    )


class _State:
    """While the log is read: for each target the edits on it, the last one on top, each with its exchange."""

    def __init__(self) -> None:
        self.pinned: set[str] = set()
        self.steps: list[Step] = []
        self._covers: dict[str, list[tuple[Replaced | Omitted, tuple[int, str] | None]]] = {}

    def cover(self, place: int, edit: Replaced | Omitted, group: str | None) -> None:
        self._covers.setdefault(edit.target, []).append((edit, None if group is None else (place, group)))
        self.steps.append(Step(place, edit))

    def bring_back(self, place: int, target: str) -> None:
        """The target as it is stored; of exchanges that it went with, the others as they were before those."""
        gone = {group for _, group in self._covers.get(target, ()) if group is not None}
        if self._covers.pop(target, ()):
            self.steps.append(Step(place, Restored(target)))
        for other, covers in self._covers.items():
            left = [cover for cover in covers if cover[1] not in gone]
            if gone and left != covers:
                self._covers[other] = left
                self.steps.append(Step(place, left[-1][0] if left else Restored(other)))

    def edits(self) -> Iterator[tuple[str, Texts | None]]:
        for target, covers in self._covers.items():
            if covers:
                edit = covers[-1][0]
                yield target, edit.texts if isinstance(edit, Replaced) else None


def _groups(logged: LoggedPass) -> dict[str, str]:
    """Entry → prompt of the exchange with which this pass omitted it."""
    results = logged.record.results if logged.record is not None else ()
    return {
        target: result.entry_id
        for result in results
        if result.kind == "exchange" and result.omitted is not None
        for target in (result.entry_id, *result.omitted)
    }


def _place_in_log(logged: LoggedPass) -> float:
    """What is not stored yet comes last."""
    return logged.seq or float("inf")
