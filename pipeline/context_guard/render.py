"""The text that the model reads in place of an output: a header, the kept slices, a line for every gap.

Everything but the header and the omission lines is a slice of the output.
"""

import json
import re

from msgspec import Struct

from context_guard.candidates import Candidate
from context_guard.chunks import Chunk, Cut
from context_guard.config import Config
from context_guard.labels import first_text, read_args
from context_guard.records import Phase
from context_guard.text import MARKER, format_chars, one_line, plural, without_lone_surrogates

RECALL = "recall"
MAX_FILES = 5

_READ_NOTE = re.compile(
    r"\[(?:Showing lines [0-9]+-[0-9]+ of [0-9]+[^\n]*|[0-9]+ more lines in file)\. Use offset=[0-9]+ to continue\.\]"
)
_NOTICE = re.compile(
    r"\[Showing lines? [^\n]*\]|\[[0-9]+ more lines in file\.[^\n]*\]|\[[^\n\]]*limit reached[^\n]*\]"
    r"|Command exited with code -?[0-9]+|Command timed out after [^\n]*|Command aborted"
)


class Rendering(Struct, frozen=True):
    text: str
    kept_lines: int
    total_lines: int


def render(candidate: Candidate, cut: Cut, kept: tuple[int, ...], config: Config, phase: Phase) -> Rendering:
    """The replacement of an output of which the chunks `kept` (indexes, ascending) stay."""
    total = cut.chunks[-1].end
    if not kept:
        return Rendering(text=_removed(candidate, total, _why(config, phase)), kept_lines=0, total_lines=total)
    notice = notice_start(candidate.text.split("\n")) if config.keep_notices else total
    body, kept_lines, kept_chars = _body(candidate, cut, frozenset(kept), notice)
    header = (
        f"{MARKER} Distilled the output of {candidate.label}: kept {kept_lines} of {plural(total, 'line')} "
        f"({format_chars(kept_chars)} of {format_chars(len(candidate.text))} chars); "
        f"the rest was {_why(config, phase)}. {recall_hint('Full output', candidate.entry_id)}"
    )
    return Rendering(text=without_lone_surrogates("\n".join([header, *body])), kept_lines=kept_lines, total_lines=total)


def recall_hint(what: str, entry_id: str) -> str:
    """The sentence that tells the model how to get back what was taken out."""
    return f'{what}: {RECALL}({{"entryId":{json.dumps(entry_id)}}}).'


def notice_start(lines: list[str]) -> int:
    """The first line of the tool's own closing notices and the blank lines before them; the line count without any."""
    start = end = len(lines)
    while end > 1 and not lines[end - 1]:
        end -= 1
    while end > 1 and _NOTICE.fullmatch(lines[end - 1]):
        end -= 1
        while end > 1 and not lines[end - 1]:
            end -= 1
        start = end
    return start


def _why(config: Config, phase: Phase) -> str:
    return "judged not needed for " + (
        "later work" if phase == "mid-run" and not config.original_texts else "the answer"
    )


def _removed(candidate: Candidate, total: int, why: str) -> str:
    return without_lone_surrogates(
        f"{MARKER} Removed the output of {candidate.label}: {plural(total, 'line')} "
        f"({format_chars(len(candidate.text))} chars) {why}. {recall_hint('Full output', candidate.entry_id)}"
    )


def _body(candidate: Candidate, cut: Cut, kept: frozenset[int], notice: int) -> tuple[list[str], int, int]:
    """The lines under the header, and how many lines and characters of the output are among them."""
    body: list[str] = []
    kept_lines = kept_chars = 0
    gap: list[Chunk] = []
    for chunk in cut.chunks:
        if chunk.index not in kept:
            gap.append(chunk)
            continue
        body += _omission(candidate, cut, gap, chunk.start)
        gap = []
        body.append(chunk.text)
        kept_lines += chunk.end - chunk.start
        kept_chars += len(chunk.text)
    if gap:
        total = cut.chunks[-1].end
        closing = max(notice, gap[0].start)
        body += _omission(candidate, cut, gap, closing)
        if closing < total:
            text = "\n".join(candidate.text.split("\n")[closing:])
            body.append(text)
            kept_lines += total - closing
            kept_chars += len(text)
    return body, kept_lines, kept_chars


def _omission(candidate: Candidate, cut: Cut, gap: list[Chunk], end: int) -> list[str]:
    """The line for a run of dropped chunks that ends before line `end`; none when nothing of the material is gone."""
    if not gap or end <= gap[0].start:
        return []
    start = gap[0].start
    if files := _files(gap):
        return [f"[… {plural(end - start, 'line')} omitted: matches in {files} …]"]
    args = read_args(candidate.args)
    path = first_text(args, "path", "file_path") if candidate.tool.lower() == "read" else ""
    if not path:
        return [f"[… {plural(end - start, 'line')} omitted (output lines {start + 1}–{end}) …]"]
    last = min(end, _file_end(candidate.text, cut.chunks[-1].end))
    if last <= start:
        return []
    base = _first_line(args.get("offset"))
    return [
        f"[… {plural(last - start, 'line')} omitted (lines {start + base}–{last - 1 + base} of {one_line(path)}) …]"
    ]


def _files(gap: list[Chunk]) -> str:
    names = list(dict.fromkeys(name for chunk in gap for name in chunk.files))
    more = f" and {len(names) - MAX_FILES} more" if len(names) > MAX_FILES else ""
    return ", ".join(one_line(name) for name in names[:MAX_FILES]) + more


def _file_end(text: str, total: int) -> int:
    """The line after the last one that belongs to the file: a closing note of the read tool does not."""
    blank, _, note = text.rpartition("\n")
    return total - 2 if _READ_NOTE.fullmatch(note) and blank.endswith("\n") else total


def _first_line(offset: object) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int | float) or not 1 <= offset < 1e15:
        return 1
    return int(offset)
