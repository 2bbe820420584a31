"""JSON lines: one record a line, and a record is never cut unless it is huge."""

from context_guard.cuts.pieces import Piece

_ENDS = "}],"
"""A comma: one record a line inside of an array; any other end is that of a line whose rest the sample left out."""


def is_json_lines(sample: list[str]) -> bool:
    """Several lines that each are an object or an array by their first and last characters."""
    records = sum(1 for line in sample if line[0] in "{[" and '"' in line and line.rstrip()[-1] in _ENDS)
    return len(sample) >= 3 and records * 10 >= len(sample) * 8


def find_records(lines: list[str]) -> list[Piece]:
    return [Piece(at, at + 1) for at in range(len(lines))]
