"""Output of a search under headings: the name of a file, then its matches as `12:text`, with `11-text` around them."""

import re

from context_guard.cuts.windows import is_blank

_HIT = re.compile(r"([0-9]{1,9})([:-])")
MIN_HITS = 3
MIN_SHARE = 0.9
_MAX_PATH = 1_024


def headed_files(lines: list[str]) -> list[str] | None:
    """The file of every line ("" for blank ones), or None when this is no such output."""
    names: list[str] = []
    current = ""
    number = hits = heads = rising = 0
    begins = True
    for at, line in enumerate(lines):
        if is_blank(line):
            names.append("")
            begins = True
            continue
        found = _HIT.match(line)
        if begins and found is None and _is_heading(lines, at):
            current, number = line, 0
            heads += 1
        elif found is not None and current:
            hits += 1
            rising += int(found[1]) > number
            number = int(found[1])
        elif line == "--":
            heads += 1
        names.append(current)
        begins = False
    counted = sum(1 for line in lines if not is_blank(line))
    is_search = hits >= MIN_HITS and rising >= hits * MIN_SHARE and hits + heads >= counted * MIN_SHARE
    return names if is_search else None


def is_hit(line: str) -> bool:
    """Whether it is a match; the lines around one have a dash behind their number."""
    found = _HIT.match(line)
    return found is not None and found[2] == ":"


def may_be_headed(sample: list[str]) -> bool:
    """Whether most lines begin with a number as matches do: looked at before the rest."""
    return sum(1 for line in sample if line == "--" or _HIT.match(line)) * 2 >= len(sample)


def _is_heading(lines: list[str], at: int) -> bool:
    line = lines[at]
    return (
        len(line) <= _MAX_PATH
        and not line[0].isspace()
        and not line.endswith(":")
        and ("/" in line or "." in line or "\\" in line or " " not in line)
        and at + 1 < len(lines)
        and _HIT.match(lines[at + 1]) is not None
    )
