"""The line in place of a gap: how much is gone and where, what kind of lines they were, and whether a failure was among
them, so that "not shown" is never read as "not there".
"""

import re
from collections import Counter

from context_guard.candidates import Candidate
from context_guard.chunks import Cut
from context_guard.config import Config
from context_guard.contents import contents_of
from context_guard.cuts.encoded import media_type
from context_guard.cuts.headed import is_hit
from context_guard.cuts.search import matched_file
from context_guard.gaps import Stretch, whole_stretch
from context_guard.labels import first_text, read_args
from context_guard.text import one_line, plural

MAX_FILES = 5
"""Files that a gap in search output names, as the original does."""
MAX_COUNTED = 12
"""The same with a count each."""
_READ_NOTE = re.compile(
    r"\[(?:Showing lines [0-9]+-[0-9]+ of [0-9]+[^\n]*|[0-9]+ more lines in file)\. Use offset=[0-9]+ to continue\.\]"
)


def omission_line(candidate: Candidate, cut: Cut, gap: Stretch, config: Config) -> str:
    """Empty when nothing of the material is gone: a note of the read tool is not the file's."""
    if gap.joined or candidate.text[gap.stop : gap.stop + 1] not in ("", "\n"):
        size = gap.stop - gap.offset
        return _line(f"{size:,} character{'s' * (size != 1)}", _inside(candidate, cut, gap))
    dropped = cut.chunks[gap.first : gap.last]
    count = gap.end - gap.start
    if not gap.why and (names := [name for chunk in dropped for name in chunk.files]) and cut.is_grep:
        files = _files(names) if config.original_texts else _counted(candidate.text, gap.offset, gap.stop, names)
        return f"[… {plural(count, 'line')} omitted: matches in {files} …]"
    path, base = _file(candidate)
    last = gap.end
    if path and (config.original_texts or last == cut.chunks[-1].end):
        last = min(last, _file_end(candidate.text, cut.chunks[-1].end))
    if last <= gap.start:
        return ""
    where = (
        f"(lines {gap.start + base}–{last - 1 + base} of {path})" if path else f"(output lines {gap.start + 1}–{last})"
    )
    told = "" if config.original_texts else contents_of(candidate.text, cut, gap)
    return _line(plural(last - gap.start, "line"), where + (f": {told}" if told else ""))


def removal_note(candidate: Candidate, cut: Cut, config: Config) -> str:
    """What an output held of which nothing is shown, as far as it is known; empty in the original's texts."""
    if config.original_texts:
        return ""
    if cut.is_grep and (names := [name for chunk in cut.chunks for name in chunk.files]):
        return f"matches in {_counted(candidate.text, 0, len(candidate.text), names)}"
    return contents_of(candidate.text, cut, whole_stretch(cut))


def _line(count: str, where: str) -> str:
    return f"[… {count} omitted {where} …]"


def _inside(candidate: Candidate, cut: Cut, gap: Stretch) -> str:
    """Where a gap is that is a part of a line: characters are counted from 1 in the line."""
    path, base = _file(candidate)
    before = candidate.text.rfind("\n", 0, gap.offset) + 1
    blobs = [chunk for chunk in cut.chunks[gap.first : gap.last] if chunk.role == "blob"]
    data = sum(len(chunk.text) for chunk in blobs)
    types = dict.fromkeys(media_type(candidate.text, chunk.offset, chunk.stop) for chunk in blobs)
    line = f"line {gap.start + base} of {path}" if path else f"output line {gap.start + 1}"
    where = f"({line}, characters {gap.offset - before + 1:,}–{gap.stop - before:,})"
    if gap.why:
        return f"{where}: {contents_of(candidate.text, cut, gap)}"
    named = "".join(f", {media}" for media in types if media)
    return f"{where}: {data:,} of them encoded data{named}" if data else where


def _file(candidate: Candidate) -> tuple[str, int]:
    """The path of a file that was read, and the number of the output's first line; no path for other outputs."""
    args = read_args(candidate.args)
    path = first_text(args, "path", "file_path") if candidate.tool.lower() == "read" else ""
    return (one_line(path), _first_line(args.get("offset"))) if path else ("", 1)


def _files(names: list[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - MAX_FILES} more" if len(found) > MAX_FILES else ""
    return ", ".join(one_line(name) for name in found[:MAX_FILES]) + more


def _counted(text: str, start: int, stop: int, names: list[str]) -> str:
    """The files with their numbers of matches in a part of the text; context lines are not counted.

    Of a heading that stays above the gap the matches are counted, too.
    """
    lines = text[start:stop].split("\n")
    counts = Counter(matched_file(line, 2 if line[1:2] == ":" else 0) for line in lines)
    if not counts.keys() - {""}:
        above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
        if counts := _under_headings(lines, above if above in names else names[0], frozenset(names)):
            names = [name for name in names if counts[name]]
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - MAX_COUNTED} more" if len(found) > MAX_COUNTED else ""
    shown = (f"{one_line(name)}{f' ({counts[name]})' if counts[name] else ''}" for name in found[:MAX_COUNTED])
    return ", ".join(shown) + more


def _under_headings(lines: list[str], heading: str, headings: frozenset[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        if line in headings:
            heading = line
        elif is_hit(line):
            counts[heading] += 1
    return counts


def _file_end(text: str, total: int) -> int:
    """The line after the last one that belongs to the file: a closing note of the read tool does not."""
    blank, _, note = text.rpartition("\n")
    return total - 2 if _READ_NOTE.fullmatch(note) and blank.endswith("\n") else total


def _first_line(offset: object) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int | float) or not 1 <= offset < 1e15:
        return 1
    return int(offset)
