"""Mending by appending: what to append, and what is left after it, by a second look at the file as it would then be."""

from collections.abc import Iterator
from itertools import count

from msgspec import Struct, structs
from returns.result import Success

from context_guard.doctor.examine import examine
from context_guard.doctor.findings import Finding
from context_guard.formats.pi_mends import GoOn, Mend, Redo, StandIn, mend_lines
from context_guard.formats.pi_session import VERSION, PiSession, parse

ROUNDS = 30
"""A mend may bring to light what it hid: a stand-in brings back all that came before."""

TIME = "1970-01-01T00:00:00.000Z"
"""Of the lines that are only tried."""

NO_HELP = "Nothing that is appended helps here. In Pi, /tree goes back to before this entry."
OLD_VERSION = "Open the session once in Pi, which brings it to the present version, then run --repair."


class Repair(Struct, frozen=True):
    mends: tuple[Mend, ...]
    """To append together; none where nothing helps."""
    mended: tuple[Finding, ...]
    """What is wrong now and no longer after that."""
    revealed: tuple[Finding, ...]
    """What is mended besides: it stood in the part that no one saw, and a stand-in brings that back."""
    left: tuple[Finding, ...]
    """What is still wrong then."""


def plan_repair(data: bytes) -> Repair:
    """Mends for all that bricks or shortens the session, each proven to help. Harmless findings are left alone.

    All at once if that leaves nothing worse; then, or otherwise, one by one, each kept only if it makes things better.
    """
    match parse(data):
        case Success(PiSession(version=version) as session) if version == VERSION:
            before = _look(data)
            if not any(finding.is_urgent and finding.mends for finding in before):
                return Repair(mends=(), mended=(), revealed=(), left=before)
            mends = _useful(data, session, _closed(data, session, ()))
            if not _is_better(_look_after(data, session, mends), before):
                mends = ()
            mends = _one_by_one(data, session, mends)
            hidden = _look_after(data, session, tuple(mend for mend in mends if not isinstance(mend, Redo)))
            return _repair(before, hidden, _look_after(data, session, mends), mends)
        case Success(_):
            return Repair(
                mends=(), mended=(), revealed=(), left=tuple(_unmended(finding, OLD_VERSION) for finding in _look(data))
            )
        case _:
            return Repair(mends=(), mended=(), revealed=(), left=_look(data))


def _repair(
    before: tuple[Finding, ...], hidden: tuple[Finding, ...], after: tuple[Finding, ...], mends: tuple[Mend, ...]
) -> Repair:
    known, remaining = {finding.key for finding in before}, {finding.key for finding in after}
    return Repair(
        mends=mends,
        mended=tuple(finding for finding in before if finding.key not in remaining) if mends else (),
        revealed=tuple(finding for finding in hidden if finding.key not in known | remaining),
        left=tuple(_unmended(finding, NO_HELP) for finding in after),
    )


def _unmended(finding: Finding, remedy: str) -> Finding:
    """A finding that nothing is appended for, although its kind can be mended."""
    return structs.replace(finding, mends=(), remedy=remedy) if finding.mends else finding


def _useful(data: bytes, session: PiSession, mends: tuple[Mend, ...]) -> tuple[Mend, ...]:
    """Without those of findings that are still there, if the session is as well without them."""
    after = _look_after(data, session, mends)
    useless = {_thing(mend) for finding in after for mend in finding.mends}
    fewer = tuple(mend for mend in mends if _thing(mend) not in useless)
    return fewer if _badness(_look_after(data, session, fewer)) <= _badness(after) else mends


def _closed(data: bytes, session: PiSession, mends: tuple[Mend, ...]) -> tuple[Mend, ...]:
    """These mends with those that their own effects call for."""
    for _ in range(ROUNDS):
        more = [mend for finding in _look_after(data, session, mends) if finding.is_urgent for mend in finding.mends]
        joined = _joined(mends, more)
        if joined == mends:
            break
        mends = joined
    return mends


def _joined(mends: tuple[Mend, ...], more: list[Mend]) -> tuple[Mend, ...]:
    """One mend for each thing: a later edit of a target takes the place of an earlier one; stand-ins stay."""
    by_thing: dict[tuple[str, str], Mend] = {_thing(mend): mend for mend in mends}
    for mend in more:
        if isinstance(mend, Redo) or _thing(mend) not in by_thing:
            by_thing[_thing(mend)] = mend
    return tuple(by_thing.values())


def _thing(mend: Mend) -> tuple[str, str]:
    match mend:
        case Redo(target=target):
            return ("edit", target)
        case StandIn(id=id):
            return ("id", id)
        case GoOn():
            return ("end", "")


def _one_by_one(data: bytes, session: PiSession, mends: tuple[Mend, ...]) -> tuple[Mend, ...]:
    """With every other mend that makes things better by itself: one may help only once another has."""
    now = _look_after(data, session, mends)
    for _ in range(ROUNDS):
        helped = False
        for finding in now:
            if not (finding.is_urgent and finding.mends and finding.key in {other.key for other in now}):
                continue
            tried = _joined(mends, list(finding.mends))
            after = _look_after(data, session, tried)
            if _is_better(after, now):
                mends, now, helped = tried, after, True
        if not helped:
            break
    return mends


def _is_better(after: tuple[Finding, ...], before: tuple[Finding, ...]) -> bool:
    """Fewer findings that brick; as many, and fewer that shorten."""
    return _badness(after) < _badness(before)


def _badness(findings: tuple[Finding, ...]) -> tuple[int, int]:
    severities = [finding.severity for finding in findings]
    return severities.count("bricks"), severities.count("shortens")


def _look(data: bytes) -> tuple[Finding, ...]:
    return examine(data).value_or(())


def _look_after(data: bytes, session: PiSession, mends: tuple[Mend, ...]) -> tuple[Finding, ...]:
    return _look(data + mend_lines(session, mends, _trial_ids(), TIME))


def _trial_ids() -> Iterator[str]:
    return map("{:08x}".format, count())
