"""Faults of the file by itself: lines that Pi passes over, headers, ids given twice."""

from collections.abc import Iterator

from context_guard.doctor.chart import Chart
from context_guard.doctor.findings import Finding, found
from context_guard.formats.pi_mends import GoOn
from context_guard.formats.pi_session import MARKS, VERSION, decode_line
from context_guard.text import WHITESPACE


def read_marked(data: bytes) -> tuple[str, bytes] | None:
    """Of a file with a byte order mark: the name of its encoding, and the same text as UTF-8 without the mark."""
    if not data.startswith(MARKS):
        return None
    is_utf8 = data.startswith(MARKS[0])
    text = data.decode("utf-8-sig" if is_utf8 else "utf-16", "replace")
    return "UTF-8" if is_utf8 else "UTF-16", text.encode("utf-8", "replace")


def file_faults(chart: Chart) -> Iterator[Finding]:
    session = chart.session
    if session.version < VERSION:
        yield found("old-version", f"{session.version} instead of {VERSION}", line=1)
    yield from _unreadable(chart)
    yield from _encoding(chart)
    yield from _headers(chart)
    yield from _repeated(chart)


def _unreadable(chart: Chart) -> Iterator[Finding]:
    last = _last_line(chart)
    for line in chart.session.broken_lines:
        value = decode_line(chart.raw_lines[line - 1].decode("utf-8", "replace"))
        # What JavaScript takes for false Pi passes over; anything else counts for it, id or not.
        if not value and not isinstance(value, list | dict):
            is_marked = chart.raw_lines[line - 1].startswith(MARKS[0])
            detail = "a byte order mark stands in front of it" if is_marked else ""
            yield found("torn-line" if line == last else "broken-line", "" if line == last else detail, line=line)
        elif line != last:
            yield found("no-id", line=line)
        else:
            yield found("lost-leaf", line=line, mends=(GoOn(),))


def _last_line(chart: Chart) -> int:
    """The last physical line with something on it."""
    rows = enumerate(chart.raw_lines, 1)
    return max((line for line, raw in rows if raw.decode("utf-8", "replace").strip(WHITESPACE)), default=0)


def _encoding(chart: Chart) -> Iterator[Finding]:
    for line, raw in enumerate(chart.raw_lines, 1):
        if not raw.isascii() and line not in chart.session.broken_lines:
            try:
                raw.decode()
            except UnicodeDecodeError:
                yield found("not-utf8", line=line)


def _headers(chart: Chart) -> Iterator[Finding]:
    """Every header but the first. Where the branch starts behind one, what stands before it is out of reach."""
    starts = chart.lines[chart.path[0]["id"]] if chart.path else 0
    first = chart.session.lines[0] if chart.session.lines else 0
    for line in chart.headers[1:]:
        yield found("second-header", line=line, severity="shortens" if first < line < starts else "harmless")


def _repeated(chart: Chart) -> Iterator[Finding]:
    """Each id once, at its last line: the one that Pi knows."""
    first: dict[str, tuple[int, bytes]] = {}
    for entry, line in zip(chart.session.entries, chart.session.lines, strict=True):
        raw = chart.raw_lines[line - 1]
        if entry["id"] not in first:
            first[entry["id"]] = (line, raw)
        elif line == chart.lines[entry["id"]]:
            before, text = first[entry["id"]]
            same = raw.strip() == text.strip()
            yield found(
                "duplicate-id",
                f"line {before}, {'the same entry' if same else 'another entry'}",
                line=line,
                entry=entry["id"],
                severity="harmless" if same else "shortens",
            )
