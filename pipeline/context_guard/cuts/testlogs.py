"""Output of test runs: a failure with its evidence is one piece, passes are runs, summary and exit lines one piece."""

import re
from collections.abc import Sequence

from context_guard.cuts.pieces import Piece, Role
from context_guard.signs import Sign, sign_of

_OPENS = re.compile(
    r"_{3,} .+ _{3,}$|={50,}$|---- .+ stdout ----$|\s*--- FAIL: |\s*● |\s*not ok [0-9]|\s*[✗✘✖×] |(?:FAIL|ERROR): "
    r"|\s*Traceback \(most recent|\s{1,4}[0-9]{1,4}\) \S|=== RUN |\[ RUN "
)
"""How a failure that goes on over several lines begins."""
_SECTION = re.compile(r"={3,} .+ ={3,}$|-{50,}$|failures:$|\s*Failed tests?:|\s*Summary of all failing tests")
_LASTING = re.compile(r"_{3,} |={50,}$|---- |\s*● |(?:FAIL|ERROR): |\s{1,4}[0-9]{1,4}\) ")
"""Those whose text may hold blank lines and lines at the margin: only the next failure or section ends them."""
_RUNS = re.compile(r"=== RUN |\[ RUN ")
_QUIET = 40
"""A failure of the other kind ends with the first blank line, and after so many lines at the latest."""
_NONE: tuple[Sign, ...] = ("", "notice")


def find_failures(lines: list[str]) -> list[Piece]:
    """Pieces with a role for every line that has one, runs of no role between them."""
    signs = [sign_of(line) for line in lines]
    opens = [_opens(line, sign) for line, sign in zip(lines, signs, strict=True)]
    pieces: list[Piece] = []
    at = 0
    while at < len(lines):
        sign = signs[at]
        if opens[at] or sign == "failure":
            end = _end_of_failure(lines, signs, at)
            role: Role = "failure"
            if _RUNS.match(lines[at]) and "failure" not in signs[at:end]:
                role = "pass"
            elif sign == "" and "failure" not in signs[at:end]:
                role = ""
        else:
            end = _end_of_run(lines, signs, opens, at)
            role = {"pass": "pass", "summary": "summary", "exit": "summary"}.get(sign, "")  # type: ignore[assignment]
        pieces.append(Piece(at, end, role))
        at = end
    return pieces


def _opens(line: str, sign: Sign) -> bool:
    if sign == "pass":
        return _RUNS.match(line) is not None
    return _OPENS.match(line) is not None


def _end_of_failure(lines: list[str], signs: Sequence[Sign], start: int) -> int:
    """Where the failure that begins at `start` is over."""
    is_lasting = _LASTING.match(lines[start]) is not None
    is_run = _RUNS.match(lines[start]) is not None
    for at in range(start + 1, len(lines)):
        line, sign = lines[at], signs[at]
        if is_run and sign == "failure" and line.lstrip().startswith(("--- FAIL", "[  FAILED")):
            return _end_of_failure(lines, signs, at)
        if sign in ("summary", "exit") or (_SECTION.match(line) and not _rule_of(lines, start, at)):
            return at
        if is_lasting:
            if (_OPENS.match(line) and _LASTING.match(line) and at > start + 1) or _tests_go_on(lines, signs, at):
                return at
        elif (
            sign == "pass"
            or (_OPENS.match(line) and not line.startswith("Traceback"))
            or (not line.strip() and not _goes_on(lines, at))
            or (at - start > _QUIET and not line.startswith((" ", "\t")))
        ):
            return at
    return len(lines)


def _tests_go_on(lines: list[str], signs: Sequence[Sign], at: int) -> bool:
    """Whether verdicts at the margin follow, two at least: one may be a line of the failure's own output."""
    return [*signs[at : at + 2]] == ["pass", "pass"] and not lines[at].startswith((" ", "\t"))


def _rule_of(lines: list[str], start: int, at: int) -> bool:
    """The line of dashes under the name of a failure, as unittest prints it."""
    return at == start + 2 and lines[start].startswith("=====")


def _goes_on(lines: list[str], blank: int) -> bool:
    """Whether what follows a blank line is still indented under the failure, or the rest of a chain of exceptions."""
    after = lines[blank + 1] if blank + 1 < len(lines) else ""
    return after.startswith(("    ", "\t", "During handling", "The above exception"))


def _end_of_run(lines: list[str], signs: Sequence[Sign], opens: Sequence[bool], start: int) -> int:
    """Where the run of lines of one sort is over; blank lines and notices stay with what is before them."""
    sort = _sort(signs[start])
    at = start + 1
    while at < len(lines) and not opens[at]:
        if signs[at] != signs[start] and lines[at].strip():
            if signs[at] not in _NONE and _sort(signs[at]) != sort:
                break
            if sort in ("pass", "end") and signs[at] in _NONE:
                break
        at += 1
    return at


def _sort(sign: Sign) -> str:
    return "end" if sign in ("summary", "exit") else sign
