"""Stage 7, seen from the item: what all answers about one output come to, and the text that replaces it."""

import re

from msgspec import Struct
from msgspec.structs import replace

from context_guard.candidates import Candidate
from context_guard.chunks import Cut
from context_guard.config import Config
from context_guard.elisions import find_elisions
from context_guard.gaps import Elision, Stretch
from context_guard.holds import NO_HOLDS, Holds, add_holds
from context_guard.keep_sets import KeepSet
from context_guard.records import ItemResult, Kind, Outcome, Phase, was_judged
from context_guard.render import LineRanges, kept_ranges, render
from context_guard.trims import find_trims


class Decision(Struct, frozen=True):
    kind: Kind
    entry_id: str
    tool: str
    label: str
    outcome: Outcome
    reason: str
    before_chars: int
    after_chars: int
    traces: tuple[str, ...] = ()
    weighed: str = ""
    """Of an edit that waits, the sum that says so."""
    replacement: tuple[str, ...] | None = None
    """Text blocks that the model sees instead; None leaves the entry as it is."""
    omitted: tuple[str, ...] | None = None
    """Further entries that go with it (the rest of an exchange)."""
    elided_chars: int = 0
    """Of what stays, encoded data and overwritten states that are told about instead of shown."""
    cited: tuple[int, ...] = ()
    """Indexes of the chunks that stay only because the answer names their files (`keepCitedFiles`)."""
    held: tuple[int, ...] = ()
    """Indexes of the chunks that stay only because they are held under any judge (`hardKeeps`)."""
    kept_lines: int | None = None
    total_lines: int | None = None
    stretches: tuple[Stretch, ...] = ()
    """Of a large output that changes: what stays and what goes, in order."""

    @property
    def shown(self) -> LineRanges | None:
        """The output's lines of which the model still sees something; None where it sees the whole output, or the item
        has no lines."""
        return kept_ranges(self.stretches) if self.stretches else None


def decide_output(
    candidate: Candidate,
    cut: Cut,
    keep_sets: tuple[KeepSet, ...],
    answer: str,
    config: Config,
    phase: Phase,
    holds: Holds = NO_HOLDS,
) -> Decision:
    """Combine the keep sets of an output's segments and what is held in any case; edit only where it pays."""
    judged = sorted({index for keep_set in keep_sets for index in keep_set.kept})
    as_it_is = _as_it_is(candidate, cut, keep_sets)
    is_all = len(judged) == len(cut.chunks)
    if is_all and not _elisions(candidate, cut, judged, keep_sets, holds, config):
        return replace(as_it_is, reason=_kept_whole(keep_sets))
    with_cited = sorted({*judged, *_cited_chunks(cut, answer)}) if config.keep_cited_files else judged
    kept = add_holds(with_cited, cut, holds) if config.hard_keeps else with_cited
    elisions = _elisions(candidate, cut, kept, keep_sets, holds, config)
    elided = sum(elision.stop - elision.start for elision in elisions)
    decision = replace(
        as_it_is,
        reason=_kept_whole(keep_sets) if is_all else _not_worth(keep_sets),
        elided_chars=elided,
        cited=tuple(index for index in with_cited if index not in judged),
        held=tuple(index for index in kept if index not in with_cited),
    )
    length = len(candidate.text)
    if sum(len(cut.chunks[index].text) + 1 for index in kept) - elided > length * config.max_keep_ratio:
        return decision
    trims = find_trims(cut, kept, answer) if config.trim_lines else {}
    rendering = render(candidate, cut, tuple(kept), config, phase, trims, elisions)
    if len(rendering.text) >= length:
        return decision
    return replace(
        decision,
        outcome="distilled" if kept else "removed",
        reason="chunks" if kept else "none-needed",
        after_chars=len(rendering.text),
        replacement=(rendering.text,),
        kept_lines=rendering.kept_lines,
        total_lines=rendering.total_lines,
        stretches=rendering.stretches,
    )


def cited_files(files: tuple[str, ...], answer: str) -> tuple[str, ...]:
    """The files that the answer names, by their whole path or by a base name of at least four characters."""
    return tuple(name for name in files if any(_names(answer, form) for form in {name, _base_name(name)}))


def to_result(decision: Decision) -> ItemResult:
    return ItemResult(
        kind=decision.kind,
        entry_id=decision.entry_id,
        tool=decision.tool,
        label=decision.label,
        outcome=decision.outcome,
        reason=decision.reason,
        before_chars=decision.before_chars,
        after_chars=decision.after_chars,
        jev=decision.traces,
        weighed=decision.weighed,
        omitted=decision.omitted,
    )


def _as_it_is(candidate: Candidate, cut: Cut, keep_sets: tuple[KeepSet, ...]) -> Decision:
    """Nothing of it changes; the reason is still to come."""
    total = cut.chunks[-1].end
    return Decision(
        kind="large",
        entry_id=candidate.entry_id,
        tool=candidate.tool,
        label=candidate.label,
        outcome="kept",
        reason="",
        before_chars=len(candidate.text),
        after_chars=len(candidate.text),
        traces=tuple(keep_set.trace for keep_set in keep_sets),
        kept_lines=total,
        total_lines=total,
    )


def _elisions(
    candidate: Candidate, cut: Cut, kept: list[int], keep_sets: tuple[KeepSet, ...], holds: Holds, config: Config
) -> tuple[Elision, ...]:
    """What goes inside of the chunks that stay, but for those that no judge answered for and data that was used."""
    if not config.trim_lines:
        return ()
    raw = {index for keep_set in keep_sets if not keep_set.is_answered for index in keep_set.kept} | {*holds.data}
    return find_elisions(candidate.text, cut, [index for index in kept if index not in raw])


def _kept_whole(keep_sets: tuple[KeepSet, ...]) -> str:
    return ",".join(dict.fromkeys(keep_set.reason for keep_set in keep_sets if keep_set.keeps_all)) or "all-chunks"


def _not_worth(keep_sets: tuple[KeepSet, ...]) -> str:
    """A segment that failed is named beside, so that the output counts as not judged."""
    failed = dict.fromkeys(keep_set.reason for keep_set in keep_sets if not was_judged(keep_set.reason))
    return ",".join(["not-worth", *failed])


def _cited_chunks(cut: Cut, answer: str) -> list[int]:
    return [chunk.index for chunk in cut.chunks if cited_files(chunk.files, answer)]


def _base_name(path: str) -> str:
    name = re.split(r"[\\/]", path)[-1]
    return name if len(name) >= 4 else path


def _names(answer: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", answer, re.ASCII) is not None
