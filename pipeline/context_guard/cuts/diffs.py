"""Diffs: a hunk is a piece; the header of its file is one of its own, so that it can stay with any hunk that stays."""

import re

from context_guard.cuts.pieces import Piece

_FILE = re.compile(r"diff (?:--git|-\S+) (?:.* )?(?:b/)?(\S+)$|Index: (\S+)$|\+\+\+ (?:b/)?([^\t\n]+)")
_HUNK = re.compile(r"@@@? -")


def is_diff(text: str) -> bool:
    return ("\n@@ -" in text or text.startswith("@@ -")) and ("\n+++ " in text or "diff --" in text[:20_000])


def find_hunks(lines: list[str]) -> list[Piece]:
    """Headers of files and hunks, each with the file's name; what stands before the first one has none."""
    pieces: list[Piece] = []
    start, role, name = 0, "", ""
    for at, line in enumerate(lines):
        begins = ""
        if line.startswith("@@"):
            begins = "hunk" if _HUNK.match(line) else ""
        elif line.startswith(("diff --", "Index: ")) or (
            line.startswith("--- ") and role != "header" and _names_file(lines, at)
        ):
            begins = "header"
        elif line.startswith(("commit ", "From ")) and role in ("hunk", ""):
            begins = "" if not _is_commit(line) else "commit"
        if begins and at > start:
            pieces.append(_piece(start, at, role, name))
        if begins:
            start, role = at, begins
        if role == "header" and (found := _FILE.match(line)):
            name = next((group for group in found.groups() if group and group != "/dev/null"), name)
        elif begins == "commit":
            name = ""
    pieces.append(_piece(start, len(lines), role, name))
    return pieces


def join_small_files(pieces: list[Piece], lines: list[str], target: int) -> list[Piece]:
    """A file whose hunks fit into one piece with their header is one piece."""
    joined: list[Piece] = []
    size = target + 1
    for piece in pieces:
        own = sum(map(len, lines[piece.start : piece.end])) + piece.end - piece.start
        if (
            joined
            and piece.role != "header"
            and piece.files == joined[-1].files
            and piece.files
            and size + own <= target
        ):
            joined[-1] = Piece(joined[-1].start, piece.end, files=piece.files)
            size += own
        else:
            joined.append(piece)
            size = own if piece.role == "header" else target + 1
    return joined


def _piece(start: int, end: int, role: str, name: str) -> Piece:
    return Piece(start, end, "header" if role == "header" else "", (name,) if name else ())


def _names_file(lines: list[str], at: int) -> bool:
    return at + 2 < len(lines) and lines[at + 1].startswith("+++ ") and lines[at + 2].startswith("@@")


def _is_commit(line: str) -> bool:
    return re.match(r"(?:commit|From) [0-9a-f]{7,40}\b", line) is not None
