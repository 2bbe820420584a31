"""Which edits a message list can take, so that what comes of them is a list that its provider takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from context_guard.formats.message import Message
from context_guard.text import trim, without_lone_surrogates
from context_guard.transcript import EDITABLE, calls_of, only_result

Texts = tuple[str, ...]
Edits = Mapping[str, Texts | None]
"""Entry id → the texts that the model sees instead; None: it does not see the entry."""


Changes = Mapping[int, Texts | None]
"""Place of the entry in the list's `Message`s → the same."""


def fit(messages: Sequence[Message], ids: Sequence[str], edits: Edits) -> Changes:
    """The edits that a provider can take, by the place of their entry.

    An omitted exchange goes as a whole, behind the stub on its prompt. It stays where something stands in it that may
    not go, or where a call would lose its result.
    """
    changes = {
        place: _clean(edits[entry_id])
        for place, entry_id in enumerate(ids)
        if entry_id in edits and _is_open(messages[place], edits[entry_id])
    }
    if any(texts is None for texts in changes.values()):
        _keep_broken(messages, changes)
    return changes


def _is_open(message: Message, texts: Texts | None) -> bool:
    if message.is_fixed:
        return False
    if texts is None:
        return message.role in EDITABLE
    return message.role in ("tool", "user") and any(map(trim, texts))


def _clean(texts: Texts | None) -> Texts | None:
    """No empty text, which no provider takes, and no half of a surrogate pair."""
    return texts if texts is None else tuple(without_lone_surrogates(text) for text in texts if text)


def _keep_broken(messages: Sequence[Message], changes: dict[int, Texts | None]) -> None:
    """Takes out of the changes every exchange that cannot go as a whole."""
    pairs = tuple(_pairs(messages))
    stubs = _stubs(messages, changes)
    while broken := {*_incomplete(messages, stubs), *_halved(pairs, stubs)}:
        for place in [*stubs, *broken]:
            if stubs.get(place, place) in broken:
                changes.pop(place, None)
                stubs.pop(place, None)


def _stubs(messages: Sequence[Message], changes: dict[int, Texts | None]) -> dict[int, int]:
    """Place of every omitted entry → that of the stub before it; -1 where there is none."""
    found: dict[int, int] = {}
    stub = -1
    for place in sorted(changes):
        if changes[place] is None:
            found[place] = stub
        elif messages[place].role == "user":
            stub = place
    return found


def _incomplete(messages: Sequence[Message], stubs: dict[int, int]) -> Iterator[int]:
    """Exchanges without a stub, and those of which an entry stays that is fixed or would go with the others."""
    for stub, last in {stub: place for place, stub in stubs.items()}.items():
        inside = range(stub + 1, last)
        if stub < 0 or any(
            messages[place].is_fixed or (messages[place].role in EDITABLE and place not in stubs) for place in inside
        ):
            yield stub


def _halved(pairs: Iterable[tuple[int, int]], stubs: dict[int, int]) -> Iterator[int]:
    """Exchanges that hold a call without its result, or the other way round."""
    for call, result in pairs:
        if (call in stubs) != (result in stubs):
            yield stubs[call] if call in stubs else stubs[result]


def _pairs(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Places of a call and of its result."""
    calls: dict[str, int] = {}
    for place, message in enumerate(messages):
        calls.update((call.id, place) for call in calls_of(message.blocks))
        result = only_result(message.blocks)
        if result is not None and result.call_id in calls:
            yield calls[result.call_id], place
