"""How much context each request of a session carried, and how much it would have carried with the guard.

Sizes are characters, an image as the text of as many tokens. Two lines: *without* has every original at full size;
*guarded* has the edits that the branch holds from the request after they were made, and those of the pass from the end
of the run that they belong to, as if that run had been judged when it ended. Exchanges and images go by the whole
conversation, so they count from the next request on.
"""

from itertools import pairwise

from msgspec import Struct

from context_guard.drafts import Append, Omit, Replace
from context_guard.sizes import blocks_chars
from context_guard.stages import Plan, Settlement
from context_guard.transcript import Transcript


class Point(Struct, frozen=True):
    """One request, at the entry that answered it."""

    entry_id: str
    """Empty for the request that comes next."""
    without: int
    guarded: int
    begins_run: bool = False
    """Whether a prompt came since the request before it."""


class Change(Struct, frozen=True):
    """From this entry on, the model sees so many characters of the target."""

    at: int
    """Index of the first entry that it holds for, in `Transcript.entries`."""
    target: int
    chars: int


def find_points(transcript: Transcript, plan: Plan, settlement: Settlement) -> tuple[Point, ...]:
    """One for each answer of the model, in order, and the next request; those of sub-agents are not among them. What
    stood before a compaction counts until it; behind the last one what it kept is known, behind an earlier one only
    what came after it.
    """
    entries = transcript.entries
    kept_by_last = frozenset(transcript.context)
    compactions = [at for at, entry in enumerate(entries) if entry.role == "summary" and entry.kind == "compaction"]
    last = compactions[-1] if compactions else -1
    changes = sorted(find_changes(transcript, plan, settlement), key=lambda change: change.at)
    base = transcript.overhead_chars or 0
    full = [0 if entry.role == "meta" or entry.sidechain else blocks_chars(entry.raw) for entry in entries]
    now = list(full)
    inside: set[int] = set()
    without = guarded = base
    points: list[Point] = []
    begins_run = False
    done = 0
    for at in range(len(entries) + 1):
        while done < len(changes) and changes[done].at <= at:
            change = changes[done]
            guarded += (change.chars - now[change.target]) * (change.target in inside)
            now[change.target] = change.chars
            done += 1
        if at == len(entries):
            points.append(Point(entry_id="", without=without, guarded=guarded))
            break
        entry = entries[at]
        if entry.role == "assistant" and not entry.sidechain:
            points.append(Point(entry_id=entry.id, without=without, guarded=guarded, begins_run=begins_run))
            begins_run = False
        begins_run = begins_run or entry.role == "user"
        if at in compactions:
            inside = {place for place in inside if place in kept_by_last} if at == last else set()
            without = base + sum(full[place] for place in inside)
            guarded = base + sum(now[place] for place in inside)
        if at > last and at not in kept_by_last:
            continue
        inside.add(at)
        without += full[at]
        guarded += now[at]
    return tuple(points)


def find_changes(transcript: Transcript, plan: Plan, settlement: Settlement) -> list[Change]:
    """The edits of the branch, then those of the pass."""
    places = {entry.id: at for at, entry in enumerate(transcript.entries)}
    made = [
        Change(at=edit.at, target=places[edit.target], chars=blocks_chars(edit.content))
        for edit in transcript.edits
        if edit.target in places
    ]
    ends = _run_ends(transcript, plan, places)
    for draft in settlement.drafts:
        match draft:
            case Append():
                continue
            case Replace(target=target, texts=texts):
                chars = sum(map(len, texts))
            case Omit(target=target):
                chars = 0
        if target in places:
            at = ends.get(target, len(transcript.entries))
            made.append(Change(at=at, target=places[target], chars=chars))
    return made


def _run_ends(transcript: Transcript, plan: Plan, places: dict[str, int]) -> dict[str, int]:
    """For each large and small output of the pass, the first entry behind its run; mid-run everything begins now."""
    if plan.phase == "mid-run":
        return {}
    starts = sorted(places[span.start_id] for span in plan.spans if span.start_id in places)
    following = dict(pairwise([*starts, len(transcript.entries)]))
    runs = [(item.entry_id, item.run_id) for item in plan.items.large]
    runs += [(item.entry_id, item.run_id) for item in plan.items.small]
    return {entry_id: following[places[run_id]] for entry_id, run_id in runs if run_id in places}
