"""Output of a search: `path:line:text`, with `path-line-text` around it, grouped by file."""

import re

from context_guard.cuts.pieces import SPLIT_ABOVE, Piece
from context_guard.cuts.windows import find_windows, is_blank

MIN_LINES = 3
MIN_SHARE = 0.6
MERGE_BELOW = 1 / 4
MERGE_UP_TO = 1 / 2

_MAX_PATH = 1_024
_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/].)")
_MATCH = re.compile(rf"([^\s:][^:]{{0,{_MAX_PATH}}}):([0-9]+):")
_DASH_NUMBER = re.compile(r"-(?=[0-9]+-)")
_HOUR_AT_END = re.compile(r"(?:^|[^\w./\\-]|[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}[T_,\s]+)[0-9]{1,2}$")
_TIME_AT_END = re.compile(r"(?:^|[\s\[(])[0-2]?[0-9]$")
_HOST_AT_END = re.compile(r"(?:^|[^\w.])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|localhost|\[[0-9A-Fa-f]{0,4}|\*)$")
"""An address, or the beginning of one, before a port."""
_IPV6 = re.compile(r"\W*(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4})?\b")
_IS_HEX = re.compile(r"\W*[0-9A-Fa-f]{1,4}$")
_HEX_CHARS = 5
MOST_REPEATS = 3
"""So often the same number behind a name without a folder is a port, not a line."""
_SECONDS = re.compile(r"[0-9]{2}(?![0-9])")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DATE_AT_START = re.compile(r"\W*(?:[0-9]+(?:-[0-9]+)*$|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]|[\s,]))")
_NONE: frozenset[str] = frozenset()


def matched_file(line: str, drive: int = 0) -> str:
    """The file of a `path:line:` match; empty for other lines, those that begin with a time or a date among them.

    `drive` is the length of a drive (`C:`) in front of the path, whose colon does not end it.
    """
    found = _MATCH.match(line, drive)
    if found is None:
        return ""
    name = line[: found.end(1)]
    if len(found[2]) == 2 and _SECONDS.match(line, found.end()) and _HOUR_AT_END.search(name):
        return ""
    return "" if _is_date(name) or _is_address(line, name, found[2]) else name


def context_file(line: str, known: frozenset[str], drive: int = 0) -> str:
    """The file of a `path-line-` context line: the longest known one, else the shortest that can be a path."""
    if "-" not in line or line[0].isspace():
        return ""
    limit = _path_limit(line, drive)
    if not known and line[0].isalpha():
        first = _DASH_NUMBER.search(line, 1, limit + 1_024)
        return line[: first.start()] if first is not None and first.start() <= limit else ""
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


def name_files(lines: list[str], drives: bool) -> list[str] | None:
    """The file of every line ("" for none), or None when this is no search output. `drives`: paths may have one."""
    counts = [line != "--" and not is_blank(line) for line in lines]
    counted = sum(counts)
    if counted < MIN_LINES:
        return None
    allowed_misses = counted * (1 - MIN_SHARE) + 1
    names: list[str] = []
    rest: list[int] = []
    hits = misses = 0
    for index, line in enumerate(lines):
        name = matched_file(line, _drive(line, drives)) if ":" in line else ""
        names.append(name)
        if name:
            hits += 1
        elif counts[index]:
            rest.append(index)
            if context_file(line, _NONE, _drive(line, drives)):
                hits += 1
            else:
                misses += 1
                if misses > allowed_misses:
                    return None
    if hits / counted < MIN_SHARE:
        return None
    known = frozenset(names) - {""}
    if drives:
        for index, name in enumerate(names):
            if name and (owner := _owner(name, known)):
                names[index] = owner
        _without_ports(lines, names)
        known = frozenset(names) - {""}
    hits = sum(map(bool, names))
    for index in rest:
        names[index] = context_file(lines[index], known, _drive(lines[index], drives))
        hits += names[index] in known
    return names if not drives or hits / counted >= MIN_SHARE else None


def _owner(name: str, known: frozenset[str]) -> str:
    """The file of a context line whose text made it look like a match: `a.py-5-at 10` before `:30:` is `a.py`'s."""
    return next((name[: dash.start()] for dash in _DASH_NUMBER.finditer(name, 1) if name[: dash.start()] in known), "")


def group_by_file(lines: list[str], names: list[str], target: int) -> list[Piece]:
    """One piece a file; a big file in windows, small neighbours together."""
    pieces: list[Piece] = []
    pending: Piece | None = None
    pending_chars = 0
    for start, end, name in _file_groups(names):
        files = (name,) if name else ()
        chars = sum(len(line) + 1 for line in lines[start:end])
        if chars < target * MERGE_BELOW and pending is not None and pending_chars + chars <= target * MERGE_UP_TO:
            pending = Piece(pending.start, end, files=pending.files + files)
            pending_chars += chars
            continue
        if pending is not None:
            pieces.append(pending)
            pending = None
        if chars > target * SPLIT_ABOVE:
            pieces.extend(Piece(*window, files=files) for window in find_windows(lines, start, end, target))
        elif chars < target * MERGE_BELOW:
            pending, pending_chars = Piece(start, end, files=files), chars
        else:
            pieces.append(Piece(start, end, files=files))
    if pending is not None:
        pieces.append(pending)
    return pieces


def _is_address(line: str, name: str, number: str) -> bool:
    """Whether the name and the number are those of a host and a port, or of an hour and a minute."""
    if name[-1].isdigit():
        if _HOST_AT_END.search(name) or (len(number) == 2 and number < "60" and _TIME_AT_END.search(name)):
            return True
    elif name.endswith(("localhost", "*")) or "[" in name[-_HEX_CHARS:]:
        return _HOST_AT_END.search(name) is not None
    if len(name) > 2 * _HEX_CHARS or not _IS_HEX.match(name):
        return False
    address = _IPV6.match(line)
    return address is not None and (address[0].count(":") > 3 or "::" in address[0])


def _without_ports(lines: list[str], names: list[str]) -> None:
    """Forget names that always have the same number, as `db.internal:5432:` has: no search prints a line so often."""
    numbers: dict[str, list[str]] = {}
    for line, name in zip(lines, names, strict=True):
        if name and "/" not in name and "\\" not in name:
            numbers.setdefault(name, []).append(line[len(name) + 1 :].partition(":")[0])
    ports = {name for name, found in numbers.items() if len(found) >= MOST_REPEATS and len(set(found)) == 1}
    for index, name in enumerate(names):
        if name in ports:
            names[index] = ""


def _is_date(name: str) -> bool:
    return not name[0].isalpha() and _DATE_AT_START.match(_ANSI.sub("", name)) is not None


def _drive(line: str, drives: bool) -> int:
    return 2 if drives and line[1:2] == ":" and _DRIVE.match(line) else 0


def _path_limit(line: str, drive: int) -> int:
    """Where a path at the head of the line must have ended: no colon is part of it, the drive's aside."""
    colon = line.find(":", drive, _MAX_PATH)
    return _MAX_PATH if colon < 0 else colon


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
