"""Tables and listings: whole rows, the header row apart, so that it can stay with any row that stays."""

import re

from context_guard.cuts.pieces import Piece

_MODE = re.compile(r"[-dlcbpsD][rwxsStT-]{9}[.+@]? ")
_STATUS = re.compile(r"(?:[ MADRCUT?!]{2} \S|\t(?:modified|new file|deleted|renamed|typechange):? )")
_COLUMNS = re.compile(r"\S+(?: \S+)*(?:(?:  +|\t| ?\| ?)\S+(?: \S+)*){2,}")
_CAPS = re.compile(r"[|\s]*[A-Z][A-Z0-9 _/%()#.-]+(?:  +|\t|\|)[A-Z0-9 _/%()#.|\t-]+$")
_RULE = re.compile(r"[|+\s]*[-=]{3,}(?:[\s|+]+[-=]{2,})*[|+\s]*$")
_COLUMN_RULE = re.compile(r"[|+\s]*[-=]{2,}(?:[\s|+]+[-=]{2,})+[|+\s]*$")
_COLUMN = re.compile(r"[^\W\d][\w .()/%#:-]{0,59}")
LONGEST_HEADER = 2_000
MIN_COLUMNS = 3
MIN_ROWS = 5
CSV_SAMPLE = 60
_TOTAL = re.compile(r"total [0-9.]+[KMGT]?$")


def is_listing(sample: list[str]) -> bool:
    rows = sum(1 for line in sample if _MODE.match(line) or _STATUS.match(line))
    return rows * 10 >= len(sample) * 7


def has_header(lines: list[str]) -> bool:
    return header_rows(lines) > 0 and sum(1 for line in lines[1:60] if _COLUMNS.match(line.strip())) * 2 >= min(
        len(lines) - 1, 59
    )


def is_csv(lines: list[str]) -> bool:
    """Values between commas, tabs, semicolons or bars, as many in most lines as there are names in the first."""
    names, mark = _names(lines[0][:LONGEST_HEADER]) if len(lines) > MIN_ROWS else ([], "")
    if len(names) < MIN_COLUMNS or len(set(names)) < len(names) or not all(map(_COLUMN.fullmatch, names)):
        return False
    rows = [line for line in lines[1:CSV_SAMPLE] if line]
    same = sum(1 for line in rows if line.count(mark) >= len(names) - 1 and not line.startswith("|"))
    exact = sum(1 for line in rows if line.count(mark) == len(names) - 1)
    return len(rows) >= MIN_ROWS and same * 10 >= len(rows) * 9 and exact * 2 >= len(rows)


def _names(line: str) -> tuple[list[str], str]:
    mark = max("\t,;|", key=line.count)
    return [name.strip(' "\r') for name in line.split(mark)], mark


def names_columns(lines: list[str], at: int) -> bool:
    """Whether a line inside of a text is the header of a table: in capitals, or over a rule."""
    line = lines[at]
    if _CAPS.match(line) is not None:
        return True
    return at + 1 < len(lines) and "  " in line.strip() + "  " and _COLUMN_RULE.match(lines[at + 1]) is not None


def header_rows(lines: list[str]) -> int:
    """How many lines at the top name the columns: 0 where none does."""
    if is_csv(lines):
        return 1
    if len(lines) > 1 and _RULE.match(lines[1]) and lines[0].strip():
        return 2
    if len(lines) > 2 and _RULE.match(lines[0]) and _RULE.match(lines[2]):
        return 3
    return 1 if lines and (_CAPS.match(lines[0]) or _TOTAL.match(lines[0])) else 0


def find_rows(lines: list[str]) -> list[Piece]:
    """The header rows, then each stretch between blank lines."""
    header = header_rows(lines)
    pieces = [Piece(0, header, "header")] if header else []
    start = header
    for at in range(header, len(lines) - 1):
        if not lines[at]:
            pieces.append(Piece(start, at + 1))
            start = at + 1
    if start < len(lines):
        pieces.append(Piece(start, len(lines)))
    return pieces
