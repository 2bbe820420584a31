"""Stage 3. An output in pieces that can be kept or dropped; the pieces in order are the output.

Output of a search (`path:line:text`, with `path-line-text` around it) is grouped by file, everything else is cut into
windows of about the target size, after a blank line where one is near.
"""

import re
from collections.abc import Iterator
from math import ceil

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.config import Config
from context_guard.text import WHITESPACE

GREP_MIN_LINES = 3
GREP_MIN_SHARE = 0.6
SPLIT_ABOVE = 1.5
MERGE_BELOW = 1 / 4
MERGE_UP_TO = 1 / 2
BLANK_LINE_FROM = 0.6
"""A window may end early after a blank line in the part behind this share of its lines."""

_MAX_PATH = 1_024
_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/].)")
_MATCH = re.compile(rf"([^\s:][^:]{{0,{_MAX_PATH}}}):([0-9]+):")
_DASH_NUMBER = re.compile(r"-(?=[0-9]+-)")
_HOUR_AT_END = re.compile(r"(?:^|[^\w./\\-]|[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}[T_,\s]+)[0-9]{1,2}$")
_SECONDS = re.compile(r"[0-9]{2}(?![0-9])")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DATE_AT_START = re.compile(r"\W*(?:[0-9]+(?:-[0-9]+)*$|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]|[\s,]))")


class Chunk(Struct, frozen=True):
    index: int
    start: int
    """First line, from 0, of the output split at newlines."""
    end: int
    """Line after the last one."""
    offset: int
    """Where `text` begins in the output, in characters."""
    text: str
    """A slice of the output; the newline between two chunks belongs to neither."""
    files: tuple[str, ...] = ()
    """Files that a search output names here, in order."""

    @property
    def stop(self) -> int:
        """Where `text` ends in the output."""
        return self.offset + len(self.text)


class Cut(Struct, frozen=True):
    """All chunks of one output."""

    entry_id: str
    is_grep: bool
    chunks: tuple[Chunk, ...]


Span = tuple[int, int, tuple[str, ...]]
"""First line, line after the last, files named."""


def cut_chunks(candidate: Candidate, config: Config) -> Cut:
    lines = candidate.text.split("\n")
    target = target_chars(len(candidate.text), config)
    names = _name_files(lines, config)
    spans = _windows(lines, 0, len(lines), target) if names is None else _by_file(lines, names, target)
    return Cut(
        entry_id=candidate.entry_id,
        is_grep=names is not None,
        chunks=tuple(_to_chunks(candidate.text, lines, spans)),
    )


def target_chars(length: int, config: Config) -> int:
    """The wanted size of a chunk: `minChunkChars`, more for an output that would have over `maxChunks` of them."""
    wanted = ceil(length / config.max_chunks)
    return min(max(wanted, config.min_chunk_chars), max(config.max_chunk_chars, wanted))


def matched_file(line: str, drive: int = 0) -> str:
    """The file of a `path:line:` match; empty for other lines, those that begin with a time or a date among them.

    `drive` is the length of a drive (`C:`) in front of the path, whose colon does not end it.
    """
    found = _MATCH.match(line, drive)
    if found is None:
        return ""
    name = line[: found.end(1)]
    is_time = len(found[2]) == 2 and _HOUR_AT_END.search(name) is not None and _SECONDS.match(line, found.end())
    return "" if is_time or _is_date(name) else name


def context_file(line: str, known: frozenset[str], drive: int = 0) -> str:
    """The file of a `path-line-` context line: the longest known one, else the shortest that can be a path."""
    if "-" not in line or line[0].isspace():
        return ""
    limit = _path_limit(line, drive)
    longest = shortest = ""
    for dash in _DASH_NUMBER.finditer(line, 1):
        if dash.start() > limit:
            break
        name = line[: dash.start()]
        if name in known:
            longest = name
        elif not shortest and not _is_date(name):
            shortest = name
        if shortest and not known:
            break
    return longest or shortest


def _is_date(name: str) -> bool:
    return not name[0].isalpha() and _DATE_AT_START.match(_ANSI.sub("", name)) is not None


def _is_blank(line: str) -> bool:
    return not line.strip(WHITESPACE)


def _drive(line: str, config: Config) -> int:
    return 2 if line[1:2] == ":" and not config.original_cuts and _DRIVE.match(line) else 0


def _path_limit(line: str, drive: int) -> int:
    """Where a path at the head of the line must have ended: no colon is part of it, the drive's aside."""
    colon = line.find(":", drive, _MAX_PATH)
    return _MAX_PATH if colon < 0 else colon


def _name_files(lines: list[str], config: Config) -> list[str] | None:
    """The file of every line ("" for none), or None when this is no search output."""
    counted = sum(1 for line in lines if not _is_blank(line) and line != "--")
    if counted < GREP_MIN_LINES:
        return None
    allowed_misses = counted * (1 - GREP_MIN_SHARE) + 1
    names: list[str] = []
    rest: list[int] = []
    hits = misses = 0
    for index, line in enumerate(lines):
        name = matched_file(line, _drive(line, config))
        names.append(name)
        if name:
            hits += 1
        elif not _is_blank(line) and line != "--":
            rest.append(index)
            if context_file(line, _NONE, _drive(line, config)):
                hits += 1
            else:
                misses += 1
                if misses > allowed_misses:
                    return None
    if hits / counted < GREP_MIN_SHARE:
        return None
    known = frozenset(names) - {""}
    for index in rest:
        names[index] = context_file(lines[index], known, _drive(lines[index], config))
    return names


_NONE: frozenset[str] = frozenset()


def _windows(lines: list[str], start: int, end: int, target: int, files: tuple[str, ...] = ()) -> list[Span]:
    """Runs of lines of about the target size; a line over the target stands alone."""
    spans: list[Span] = []
    while start < end:
        stop, size = start + 1, len(lines[start]) + 1
        while stop < end and size + len(lines[stop]) + 1 <= target:
            size += len(lines[stop]) + 1
            stop += 1
        if stop < end:
            stop = _after_blank_line(lines, start, stop)
        spans.append((start, stop, files))
        start = stop
    return spans


def _after_blank_line(lines: list[str], start: int, stop: int) -> int:
    floor = start + max(1, int((stop - start) * BLANK_LINE_FROM))
    return next((end for end in range(stop, floor, -1) if _is_blank(lines[end - 1])), stop)


def _by_file(lines: list[str], names: list[str], target: int) -> list[Span]:
    """One chunk a file; a big file in windows, small neighbours together."""
    spans: list[Span] = []
    pending: Span | None = None
    pending_chars = 0
    for start, end, name in _file_groups(names):
        files = (name,) if name else ()
        chars = sum(len(line) + 1 for line in lines[start:end])
        if chars < target * MERGE_BELOW and pending is not None and pending_chars + chars <= target * MERGE_UP_TO:
            pending = (pending[0], end, pending[2] + files)
            pending_chars += chars
            continue
        if pending is not None:
            spans.append(pending)
            pending = None
        if chars > target * SPLIT_ABOVE:
            spans.extend(_windows(lines, start, end, target, files))
        elif chars < target * MERGE_BELOW:
            pending, pending_chars = (start, end, files), chars
        else:
            spans.append((start, end, files))
    if pending is not None:
        spans.append(pending)
    return spans


def _file_groups(names: list[str]) -> list[tuple[int, int, str]]:
    """Runs of lines of one file; a line without one stays with the lines before it."""
    groups: list[tuple[int, int, str]] = []
    start, current = 0, names[0]
    for index, name in enumerate(names):
        if name and name != current and index > 0:
            groups.append((start, index, current))
            start = index
        current = name or current
    groups.append((start, len(names), current))
    return groups


def _to_chunks(text: str, lines: list[str], spans: list[Span]) -> Iterator[Chunk]:
    offset = 0
    for index, (start, end, files) in enumerate(spans):
        length = sum(map(len, lines[start:end])) + end - start - 1
        yield Chunk(
            index=index,
            start=start,
            end=end,
            offset=offset,
            text=text[offset : offset + length],
            files=tuple(dict.fromkeys(files)),
        )
        offset += length + 1
