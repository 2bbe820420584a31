"""Lines that say what the lines under them belong to: without its heading a kept line is misread.

The name of a file over its matches (`rg --heading`, eslint) or over its text (`head a b`), the folder of a recursive
listing, the section of `git status`, the columns of a table, the section of a document.
"""

import re

from context_guard.cuts.diagnostics import names_file_below
from context_guard.cuts.headed import headed_files
from context_guard.cuts.listings import names_columns
from context_guard.cuts.markdown import section_lines
from context_guard.cuts.windows import is_blank

NONE = -1
LONGEST = 200
_BANNER = re.compile(r"==> .+ <==$|(?:={3,}|-{3,}|#{3,}|\*{3,}|>{3,}|\+{3,}) ?[^\s=#*>|+-].*$|\$ \S")
"""`==> a.txt <==`, `=== a.txt ===`, a prompt with its command."""
_PATH = re.compile(r"(?:[./~]|[A-Za-z]:[\\/])?[^\s:]+$")


def headings_of(lines: list[str], kind: str) -> list[int]:
    """For each line its heading, which may have one itself; -1 for none."""
    match kind:
        case "search":
            return _headed(lines)
        case "diagnostics":
            return _over_messages(lines)
        case "markdown":
            return section_lines(lines)
        case "text" | "listing" | "log" | "trace":
            return _sections(lines)
        case _:
            return [NONE] * len(lines)


def _headed(lines: list[str]) -> list[int]:
    names = headed_files(lines)
    found: list[int] = []
    heading = NONE
    for at, line in enumerate(lines):
        if names is not None and names[at] == line and line:
            heading = at
            found.append(NONE)
        else:
            found.append(heading if names is not None and names[at] else NONE)
    return found


def _over_messages(lines: list[str]) -> list[int]:
    found: list[int] = []
    heading = NONE
    for at, line in enumerate(lines):
        if line and not line[0].isspace():
            heading = at if names_file_below(lines, at) else NONE
            found.append(NONE)
        else:
            found.append(heading if line else NONE)
    return found


def _sections(lines: list[str]) -> list[int]:
    """Banners over sections over tables: a line belongs to the nearest one that is still open."""
    found: list[int] = []
    banner = section = table = NONE
    after_blank = True
    for at, line in enumerate(lines):
        if is_blank(line):
            table, after_blank = NONE, True
            found.append(NONE)
            continue
        indented = line[0].isspace()
        if not indented and len(line) <= LONGEST and _BANNER.match(line):
            banner, section, table = at, NONE, NONE
            found.append(NONE)
        elif not indented and line[-1] == ":" and _opens(lines, at, after_blank):
            section, table = at, NONE
            found.append(banner)
        else:
            if not indented and after_blank:
                section = NONE
            inside = section if section != NONE else banner
            if table == NONE and names_columns(lines, at):
                found.append(inside)
                table = at
            else:
                found.append(table if table != NONE else inside)
        after_blank = False
    return found


def _opens(lines: list[str], at: int, after_blank: bool) -> bool:
    """Whether a line that ends with a colon is a heading: of indented lines, or a folder over its files."""
    if len(lines[at]) > LONGEST or at + 1 >= len(lines):
        return False
    below = next((line for line in lines[at + 1 : at + 3] if not is_blank(line)), "")
    return below[:1].isspace() or (after_blank and bool(below) and _PATH.match(lines[at][:-1]) is not None)
