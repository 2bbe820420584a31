"""Which kind of material an output is, by cheap evidence: a sample of its lines, a few searches, the file's name."""

import re
from typing import Literal

from context_guard.cuts.diagnostics import find_messages, is_diagnostics
from context_guard.cuts.diffs import find_hunks, is_diff, join_small_files
from context_guard.cuts.evidence import is_json, is_source, is_test_run, take_sample
from context_guard.cuts.headed import headed_files, may_be_headed
from context_guard.cuts.json_lines import find_records, is_json_lines
from context_guard.cuts.listings import find_rows, has_header, is_csv, is_listing
from context_guard.cuts.logs import find_entries, is_log
from context_guard.cuts.markdown import find_sections, is_markdown
from context_guard.cuts.outline import find_outline
from context_guard.cuts.pieces import Piece, fill_between, pack_pieces
from context_guard.cuts.search import MIN_SHARE, group_by_file, matched_file, name_files
from context_guard.cuts.testlogs import find_failures
from context_guard.cuts.tracebacks import find_traces
from context_guard.signs import ANSI

Kind = Literal[
    "text",
    "search",
    "tests",
    "trace",
    "diagnostics",
    "diff",
    "source",
    "json",
    "json lines",
    "listing",
    "log",
    "markdown",
]

ROOM = 1.5
"""Pieces with borders of their own are packed up to this multiple of the wanted size: fewer of them are torn."""
_FINE: tuple[Kind, ...] = ("text", "tests", "log")
"""Kinds of which a small part is a whole."""
_SEARCH_DOUBT = 0.4
"""With a smaller share of matches in the sample the whole is no search output."""
_CODE_FILE = re.compile(
    r"\.(?:pyi?|[jt]sx?|[mc]js|go|rs|java|kt|cc?|cpp|h|hpp|cs|rb|php|swift|scala|lua|sh|bash|toml|ya?ml|s?css|html?|xml"
    r"|vue|svelte|sql|tf|exs?)\b"
)
_TEXT_FILE = re.compile(r"\.(?:md|mdx|markdown|rst)\b", re.IGNORECASE)
_READS = re.compile(
    r"\"(?:path|file_path|file)\":|\"(?:cmd|command)\": ?\"(?:cd [^&;]{1,200}&& )?(?:cat|sed -n|head|tail|nl|bat)\b"
)


def find_pieces(lines: list[str], text: str, args: str, target: int) -> tuple[Kind, list[Piece]]:
    """The kind and the pieces of about the wanted size; `args` are those of the call, for the name of a file."""
    plain = [ANSI.sub("", line) for line in lines] if "\x1b" in text else lines
    sample = take_sample(plain)
    names = name_files(lines, drives=True) if _may_be_search(sample) else None
    if names is None and may_be_headed(sample):
        names = headed_files(lines)
    if names is not None:
        return "search", group_by_file(lines, names, target)
    kind = _recognise(plain, sample, text, args)
    wanted = target if kind in _FINE else int(target * ROOM)
    return kind, pack_pieces(_find(kind, plain, text, wanted), lines, wanted)


def _recognise(lines: list[str], sample: list[str], text: str, args: str) -> Kind:
    if is_diff(text):
        return "diff"
    if len(lines) > 2 and is_test_run(text, sample):
        return "tests"
    if is_json_lines(sample):
        return "json lines"
    if is_json(text, sample):
        return "json"
    if is_csv(lines):
        return "listing"
    if is_log(sample):
        return "log"
    if is_diagnostics(sample):
        return "diagnostics"
    is_read = _READS.search(args) is not None
    is_code_file = is_read and _CODE_FILE.search(args) is not None
    if (is_read and _TEXT_FILE.search(args)) or (not is_code_file and is_markdown(sample)):
        return "markdown"
    if is_source(sample, is_code_file):
        return "source"
    return "listing" if is_listing(sample) or has_header(lines) else "text"


def _find(kind: Kind, lines: list[str], text: str, target: int) -> list[Piece]:
    match kind:
        case "diff":
            return join_small_files(find_hunks(lines), lines, target)
        case "tests":
            return find_failures(lines)
        case "json" | "source":
            return find_outline(lines, target)
        case "json lines":
            return find_records(lines)
        case "log":
            return find_entries(lines, target)
        case "diagnostics":
            return find_messages(lines)
        case "listing":
            return find_rows(lines)
        case "markdown":
            return find_sections(lines)
        case _:
            return fill_between(find_traces(lines, text), 0, len(lines))


def _may_be_search(sample: list[str]) -> bool:
    hits = sum(1 for line in sample if line == "--" or matched_file(line) or _DASHED.match(line))
    return hits >= len(sample) * min(_SEARCH_DOUBT, MIN_SHARE)


_DASHED = re.compile(r"\S.*-[0-9]+-|[A-Za-z]:[\\/].*:[0-9]+:")
