"""The text that the model reads in place of an output: a header, the kept slices, a line for every gap.

Everything but the header and the omission lines is a slice of the output. Neighbours are joined by exactly what stands
between them in the output.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.chunks import Cut
from context_guard.config import Config
from context_guard.cuts.headings import headings_of
from context_guard.gaps import Elision, Stretch, Trim, elide, find_stretches, show_lines, whole_stretch
from context_guard.omissions import omission_line, removal_note
from context_guard.records import Phase
from context_guard.signs import sign_of
from context_guard.text import MARKER, format_chars, plural, recall_hint, without_lone_surrogates

_NOTICE = re.compile(
    r"\[Showing lines? [^\n]*\]|\[[0-9]+ more lines in file\.[^\n]*\]|\[[^\n\]]*limit reached[^\n]*\]"
    r"|Command exited with code -?[0-9]+|Command timed out after [^\n]*|Command aborted"
)


SUM_WITHIN = 4
"""Lines at the end of an output among which its sum is looked for."""


LineRanges = tuple[tuple[int, int], ...]
"""Lines of an output, counted from 0: the first of each range and the one after its last; ascending, apart."""


class Rendering(Struct, frozen=True):
    text: str
    kept_lines: int
    total_lines: int
    stretches: tuple[Stretch, ...] = ()
    """What stays and what goes of the output, in order; every line is in one."""


def render(
    candidate: Candidate,
    cut: Cut,
    kept: tuple[int, ...],
    config: Config,
    phase: Phase,
    trims: Mapping[int, tuple[Trim, ...]] | None = None,
    elisions: tuple[Elision, ...] = (),
) -> Rendering:
    """The replacement of an output of which the chunks `kept` (ascending) stay, without the lines of `trims` and the
    parts of `elisions`."""
    total = cut.chunks[-1].end
    if not kept:
        removed = _removed(candidate, cut, config, _why(config, phase))
        return Rendering(text=removed, kept_lines=0, total_lines=total, stretches=(whole_stretch(cut),))
    notice = notice_start(candidate.text.split("\n")) if config.keep_notices else total
    stretches = find_stretches(candidate.text, cut, frozenset(kept), trims or {}, notice)
    if config.hard_keeps:
        lines = candidate.text.split("\n")
        beside = _headings(lines, cut, stretches) | _sums(lines, notice)
        stretches = show_lines(candidate.text, stretches, cut, beside)
    stretches = elide(candidate.text, stretches, elisions)
    kept_lines = _count_lines(stretches)
    kept_chars = sum(each.stop - each.offset for each in stretches if each.kept)
    rest = f"the rest was {_why(config, phase)}"
    if elisions and len(kept) == len(cut.chunks):
        rest = "only encoded data, overwritten states and repetitions are left out"
    header = (
        f"{MARKER} Distilled the output of {candidate.label}: kept {_kept_lines(stretches, kept_lines, total)} "
        f"({format_chars(kept_chars)} of {format_chars(len(candidate.text))} chars); "
        f"{rest}. {recall_hint('Full output', candidate.entry_id, config.recall_with)}"
    )
    text = header + "".join(_body(candidate, cut, stretches, config))
    return Rendering(
        text=without_lone_surrogates(text), kept_lines=kept_lines, total_lines=total, stretches=tuple(stretches)
    )


def notice_start(lines: list[str]) -> int:
    """The first line of the tool's own closing notices and the blank lines before them; the line count without any."""
    start = end = len(lines)
    while end > 1 and not lines[end - 1]:
        end -= 1
    while end > 1 and _NOTICE.fullmatch(lines[end - 1]):
        end -= 1
        while end > 1 and not lines[end - 1]:
            end -= 1
        start = end
    return start


def _why(config: Config, phase: Phase) -> str:
    return "judged not needed for " + (
        "later work" if phase == "mid-run" and not config.original_texts else "the answer"
    )


def _removed(candidate: Candidate, cut: Cut, config: Config, why: str) -> str:
    note = removal_note(candidate, cut, config)
    return without_lone_surrogates(
        f"{MARKER} Removed the output of {candidate.label}: {plural(cut.chunks[-1].end, 'line')} "
        f"({format_chars(len(candidate.text))} chars) {why}{f': {note}' if note else ''}. "
        f"{recall_hint('Full output', candidate.entry_id, config.recall_with)}"
    )


def _headings(lines: list[str], cut: Cut, stretches: list[Stretch]) -> frozenset[int]:
    """The headings of the kept lines, as far as they are not kept themselves."""
    above = headings_of(lines, cut.kind)
    wanted: set[int] = set()
    for each in stretches:
        for line in range(each.start, each.end) if each.kept else ():
            heading = above[line]
            while heading >= 0 and heading not in wanted:
                wanted.add(heading)
                heading = above[heading]
    return frozenset(wanted)


def _sums(lines: list[str], end: int) -> frozenset[int]:
    """The row at the end that sums up all others: of `git diff --stat`, `wc`, a query, a run of tests."""
    last = [at for at in range(max(0, end - SUM_WITHIN), end) if lines[at].strip()]
    return frozenset(at for at in last if sign_of(lines[at]) == "summary")


def _kept_lines(stretches: list[Stretch], kept: int, total: int) -> str:
    """How many lines stay, and how many of them only in part."""
    gone = {line for each in stretches if not each.kept for line in (each.start, each.end - 1)}
    parts = len(gone & {line for each in stretches if each.kept for line in (each.start, each.end - 1)})
    if not parts:
        return f"{kept} of {plural(total, 'line')}"
    if total == 1:
        return "parts of its only line"
    return f"{kept} of {plural(total, 'line')}, {parts} of them in part"


def kept_ranges(stretches: Sequence[Stretch]) -> LineRanges:
    """The lines of which something stays, as few ranges as possible."""
    found: list[tuple[int, int]] = []
    for each in stretches:
        if each.kept and found and each.start <= found[-1][1]:
            found[-1] = (found[-1][0], max(each.end, found[-1][1]))
        elif each.kept:
            found.append((each.start, each.end))
    return tuple(found)


def _count_lines(stretches: list[Stretch]) -> int:
    """The lines of which something stays, each once."""
    count, last = 0, -1
    for each in stretches:
        if each.kept:
            count += each.end - max(each.start, last)
            last = each.end
    return count


def _body(candidate: Candidate, cut: Cut, stretches: list[Stretch], config: Config) -> list[str]:
    """What stands under the header, each piece with what joins it to the one before."""
    body: list[str] = []
    after_slice = False
    for each in stretches:
        if each.kept:
            goes_on = each.joined and after_slice
            body += ["" if goes_on else "\n", candidate.text[each.offset : each.stop]]
            after_slice = True
        elif line := omission_line(candidate, cut, each, config):
            body.append(f"\n{line}")
            after_slice = False
    return body
