"""Stack traces, wherever they stand: a traceback with its exception, chained ones together, is one piece."""

import re

from context_guard.cuts.pieces import Piece

_BEGINS = re.compile(
    r"\s*(?:.{0,80}\s)?"
    r"(?:Traceback \(most recent call last\):|thread '[^']*' panicked at |panic: |Exception in thread )"
)
_NAMED = re.compile(r"(?:Uncaught |Unhandled )?(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)(?::|$)")
_CALLED = re.compile(r"\s+at \S")
_CHAINS = ("During handling of the above exception", "The above exception was the direct cause", "Caused by: ")
_EVIDENCE = ("Traceback (most recent call last)", "\n    at ", "\n\tat ", "panicked at ", "\ngoroutine ")
"""A text with none of these holds no trace: looked for in the whole text, which is fast."""
_MAX_LINES = 400


def find_traces(lines: list[str], text: str) -> list[Piece]:
    """The traces alone, in order; `text` is the lines joined."""
    if not any(mark in text for mark in _EVIDENCE):
        return []
    found: list[Piece] = []
    at = 0
    while at < len(lines):
        if _may_begin(lines[at]) and _begins(lines, at) and (end := _end(lines, at)) > at + 1:
            found.append(Piece(at, end, "failure"))
            at = end
        else:
            at += 1
    return found


def _begins(lines: list[str], at: int) -> bool:
    if _BEGINS.match(lines[at]):
        return True
    return _NAMED.match(lines[at]) is not None and at + 1 < len(lines) and _CALLED.match(lines[at + 1]) is not None


def _may_begin(line: str) -> bool:
    return "Traceback" in line or "rror" in line or "xception" in line or "panic" in line


def _end(lines: list[str], start: int) -> int:
    """The line after the trace: after the frames and the exception of the last link of its chain."""
    at = start + 1
    limit = min(len(lines), start + _MAX_LINES)
    is_python = "Traceback" in lines[start]
    while at < limit:
        if _is_frame(lines[at]):
            at += 1
        elif not lines[at].strip():
            after = lines[at + 1] if at + 1 < limit else ""
            if not (after.startswith(_CHAINS) or _is_frame(after) or (is_python and after.startswith("Traceback"))):
                break
            at += 2
        elif lines[at].startswith((*_CHAINS, "Traceback", "goroutine ", "note: run with", "main.", "created by ")):
            at += 1
        elif is_python:
            at += 1
            if at >= limit or (lines[at].strip() and not _is_frame(lines[at])):
                break
            is_python = at + 1 < limit and lines[at + 1].startswith((*_CHAINS, "Traceback"))
        else:
            break
    return at


def _is_frame(line: str) -> bool:
    return line.startswith((" ", "\t")) and bool(line.strip())
