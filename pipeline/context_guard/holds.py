"""Hard keeps: what of an output stays under any judge, and when that ends (docs/questions.md, "Hard keeps").

A failure with its evidence, summary and exit lines, notices that something was cut off, lines that the answer quotes or
that a later edit used, the header of what stays. They add to what a judge keeps. All of it is over once a later call
made the output out of date or the failure was got past.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.chunks import Chunk, Cut, cut_chunks
from context_guard.config import Config
from context_guard.elisions import repeated_data
from context_guard.labels import first_text, read_args
from context_guard.past import why_past
from context_guard.render import notice_start
from context_guard.signs import sign_of
from context_guard.small import SmallOutput
from context_guard.span import Span
from context_guard.uses import edited_chunks, quoted_chunks

MOST_ERRORS = 4
"""Chunks with error lines in a failed output of no known form; with more of them they are the judge's to tell apart."""
CLOSING_LINES = 4

_MESSAGES = ("text", "tests", "diagnostics", "log", "trace")
_SHOWS = re.compile(
    r"\b(?:cat|sed|head|tail|nl|bat|less|more|[ef]?grep|rg|ag|awk|find|git (?:show|log|diff|blame|grep))\b"
)


_NAME = re.compile(r"\b[A-Za-z]\w*(?:[_./:-]+\w+)+|\b[a-z]+[A-Z]\w+|\b[A-Z]\w*[a-z][A-Z]\w+")
_OUTCOME = re.compile(
    r"\b(?:success\w*|succeed\w*|pass(?:es|ed)?|fail\w*|error\w*|broken?|breaks|crash\w*|abort\w*|finish\w*|complet\w*"
    r"|compile[sd]?|buil[dt]s?|installed|deployed|green|clean|works?|done|went (?:well|through|fine))\b",
    re.IGNORECASE,
)
"""An answer with such a word speaks of how something ended: a failure that it does not own up to may prove it wrong."""


class Holds(Struct, frozen=True):
    """Chunks by why they are held."""

    failing: tuple[int, ...] = ()
    """Failures, summary and exit lines."""
    used: tuple[int, ...] = ()
    """What the answer quotes, what an edit used, notices."""
    data: tuple[int, ...] = ()
    """Chunks whose encoded data the answer or a later call repeats."""
    over: str = ""
    """Why none of it is needed any more; empty while it is."""
    is_current: bool = False
    """The answer speaks of the failure, or of how something ended; or there is none yet."""


NO_HOLDS = Holds()


def find_holds(candidate: Candidate, cut: Cut, span: Span, config: Config) -> Holds:
    if not config.hard_keeps:
        return NO_HOLDS
    failed = candidate.is_error or any(chunk.role == "failure" for chunk in cut.chunks)
    return Holds(
        failing=tuple(_failing(candidate, cut)),
        used=tuple(
            sorted(
                {
                    *quoted_chunks(cut, span.answer),
                    *edited_chunks(cut, candidate.turn, span.calls),
                    *_noticed(candidate, cut),
                }
            )
        ),
        data=tuple(_repeated(candidate, cut, span)),
        over=why_past(candidate, span, failed),
        is_current=not span.answer or _OUTCOME.search(span.answer) is not None or _is_told(cut, span.answer),
    )


def is_held(small: SmallOutput, span: Span, config: Config) -> bool:
    """Whether a small output shows a current failure: then it stays as a whole."""
    if not config.hard_keeps or small.superseded:
        return False
    output = Candidate(
        entry_id=small.entry_id,
        tool=small.tool,
        args=small.args,
        label=small.label,
        text=small.text,
        is_error=small.is_error,
        turn=small.turn,
    )
    cut = cut_chunks(output, config)
    holds = find_holds(output, cut, span, config)
    shows_failure = any(cut.chunks[index].role == "failure" or _has_error(cut.chunks[index]) for index in holds.failing)
    return shows_failure and holds.is_current and not holds.over


def add_holds(kept: list[int], cut: Cut, holds: Holds) -> list[int]:
    """The chunks that stay, ascending: what the judge kept, what is held, the headers above and the rest of failures.

    Where the judge keeps nothing, only a current failure and what the answer used still stays.
    """
    found = set(kept)
    if not holds.over:
        found |= {*holds.used, *(holds.failing if kept or holds.is_current else ())}
    for index in sorted(found):
        found |= {*_header(cut.chunks, index), *_rest(cut.chunks, index)}
    return sorted(found)


def _repeated(candidate: Candidate, cut: Cut, span: Span) -> Iterator[int]:
    if candidate.turn is not None:
        later = [call.args for call in span.calls if call.turn > candidate.turn]
        yield from repeated_data(candidate.text, cut, "\n".join([span.answer, *later]))


def _is_told(cut: Cut, answer: str) -> bool:
    """Whether the answer names something of a failure: a test, a file, an exception."""
    lines = [line for chunk in cut.chunks if chunk.role == "failure" for line in chunk.text.split("\n", 400)[:400]]
    names = {name for line in lines if sign_of(line) for name in _NAME.findall(line)}
    return any(name in answer for name in names)


def _failing(candidate: Candidate, cut: Cut) -> Iterator[int]:
    """Failures and summaries by role; in what else a command prints the few chunks with error lines, and its end."""
    found = [chunk.index for chunk in cut.chunks if chunk.role == "failure"]
    ends = [chunk.index for chunk in cut.chunks if chunk.role == "summary"]
    if not found and (candidate.is_error or _is_told_by_a_program(candidate, cut)):
        found = [chunk.index for chunk in cut.chunks if _has_error(chunk)]
        found = found if len(found) <= MOST_ERRORS else []
    if found or ends or candidate.is_error:
        ends += [chunk.index for chunk, line in _closing(candidate, cut) if sign_of(line) in ("exit", "summary")]
    yield from sorted({*found, *ends})


def _is_told_by_a_program(candidate: Candidate, cut: Cut) -> bool:
    """Whether the lines are messages of what ran, and not those of files that it shows."""
    command = first_text(read_args(candidate.args), "command", "cmd")
    return bool(command) and cut.kind in _MESSAGES and _SHOWS.search(command) is None


def _has_error(chunk: Chunk) -> bool:
    return any(sign_of(line) == "failure" for line in chunk.text.split("\n"))


def _noticed(candidate: Candidate, cut: Cut) -> Iterator[int]:
    """The chunks that say at the output's ends that something was cut off before it got here."""
    opening = [(cut.chunks[0], line) for line in cut.chunks[0].text.split("\n", CLOSING_LINES)[:CLOSING_LINES]]
    yield from (chunk.index for chunk, line in (*opening, *_closing(candidate, cut)) if sign_of(line) == "notice")


def _closing(candidate: Candidate, cut: Cut) -> list[tuple[Chunk, str]]:
    """The last lines with their chunks, but for the tool's own notices, which `render` keeps line by line."""
    lines = candidate.text.split("\n")
    end = notice_start(lines)
    places = range(max(0, end - CLOSING_LINES), end)
    found = [
        (chunk, at) for chunk in cut.chunks[-CLOSING_LINES - 1 :] for at in places if chunk.start <= at < chunk.end
    ]
    return [(chunk, lines[at]) for chunk, at in found]


def _header(chunks: tuple[Chunk, ...], index: int) -> tuple[int, ...]:
    """The header that belongs to a chunk: the nearest one before it, of the same file where it names one."""
    for before in range(index - 1, -1, -1):
        if chunks[before].role == "header":
            same = not chunks[before].files or chunks[before].files == chunks[index].files[:1]
            return (before,) if same else ()
        if chunks[before].files != chunks[index].files:
            return ()
    return ()


def _rest(chunks: tuple[Chunk, ...], index: int) -> Iterator[int]:
    """The other parts of a failure that was too large for one chunk."""
    first = index
    while chunks[first].continued:
        first -= 1
        yield first
    last = index + 1
    while last < len(chunks) and chunks[last].continued:
        yield last
        last += 1
