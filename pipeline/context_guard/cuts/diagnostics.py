"""What compilers and linters say: a message with the code that it shows is one piece, messages grouped by file."""

import re

from context_guard.cuts.pieces import Piece, Role
from context_guard.signs import sign_of

_PLACED = re.compile(
    r"(?P<file>(?:[A-Za-z]:[\\/])?[^\s:()]{1,300})(?::[0-9]+(?::[0-9]+)?(?:: | - )|\([0-9]+,[0-9]+\): )"
    r"(?:fatal error|error|warning|note|info|[A-Z]{1,4}[0-9]{2,5})\b"
)
"""gcc, clang, mypy, flake8, tsc: the file in the message's first line."""
_TITLED = re.compile(r"(?:error|warning|note|help)(?:\[[\w:-]+\])?: |[A-Z]{1,4}[0-9]{2,5} (?:\[\*\] )?\S")
"""rustc, ruff: the file in an arrow line below."""
_ARROW = re.compile(r"\s*(?:-->|╭─\[) ?([^\s:]+):[0-9]+")
_UNDER = re.compile(r"\s+[0-9]+:[0-9]+\s+(?:error|warning)\s")
"""eslint: under a line that is the file's name."""


_LAST = ("error: could not compile", "error: aborting due to")
_CLOSING = frozenset("0123456789FSATBCPEe✖[=")
"""With what a summary or exit line begins."""


def is_diagnostics(sample: list[str]) -> bool:
    titles = sum(1 for line in sample if _TITLED.match(line))
    arrows = sum(1 for line in sample if _ARROW.match(line))
    placed = sum(1 for line in sample if _PLACED.match(line))
    under = sum(1 for line in sample if _UNDER.match(line))
    return placed * 5 >= len(sample) or under * 2 >= len(sample) or (arrows >= 2 and titles >= 2)


def find_messages(lines: list[str]) -> list[Piece]:
    """Messages with what belongs to them; neighbours about one file together, summary lines apart."""
    pieces: list[Piece] = []
    start, name, role = 0, "", ""
    for at, line in enumerate(lines):
        begins, named = _begins(lines, at, line)
        if not begins and line[:1] in _CLOSING and sign_of(line) in ("summary", "exit"):
            begins, named = "summary", ""
        if not begins:
            if role == "rust" and not name and (found := _ARROW.match(line)):
                name = found[1]
            continue
        if begins == role and named == name and begins in ("placed", "summary"):
            continue
        if at > start:
            pieces.append(_piece(start, at, role, name))
        start, role, name = at, begins, named
    pieces.append(_piece(start, len(lines), role, name))
    return pieces


def _piece(start: int, end: int, sort: str, name: str) -> Piece:
    role: Role = "summary" if sort == "summary" else ""
    return Piece(start, end, role, (name,) if name else ())


def _begins(lines: list[str], at: int, line: str) -> tuple[str, str]:
    """What sort of message begins here, and the file that its line names; two empty texts where none does."""
    if not line or line[0].isspace():
        return "", ""
    if _TITLED.match(line):
        return ("", "") if line.startswith(_LAST) else ("rust", "")
    if found := _PLACED.match(line):
        return "placed", found["file"]
    if names_file_below(lines, at):
        return "under", line.strip()
    return "", ""


def names_file_below(lines: list[str], at: int) -> bool:
    """Whether the line is the name of the file that the messages under it are about."""
    return at + 1 < len(lines) and _UNDER.match(lines[at + 1]) is not None
