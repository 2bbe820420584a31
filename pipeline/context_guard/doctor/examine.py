"""The doctor's look at a session file: everything that is wrong with it."""

from itertools import chain

from returns.result import Failure, Result, Success

from context_guard.doctor.chart import Chart, draw_chart, is_headless
from context_guard.doctor.edit_faults import edit_faults
from context_guard.doctor.file_faults import file_faults, read_marked
from context_guard.doctor.findings import Finding, found
from context_guard.doctor.kinds import SEVERITIES
from context_guard.doctor.message_faults import message_faults
from context_guard.doctor.pair_faults import pair_faults
from context_guard.doctor.payload_faults import payload_faults
from context_guard.doctor.tree_faults import tree_faults
from context_guard.formats.errors import FormatError


def examine(data: bytes) -> Result[tuple[Finding, ...], FormatError]:
    """The findings, worst first, then by line. What is no session of Pi at all is a FormatError."""
    if (marked := read_marked(data)) is not None and is_session(marked[1]):
        return Success((found("byte-order-mark", marked[0], line=1),))
    match draw_chart(data):
        case Success(Chart() as chart):
            return Success(tuple(sorted(_findings(chart), key=_rank)))
        case Failure(_) if is_headless(data):
            return Success((found("no-header", line=1),))
        case Failure(FormatError() as error):
            return Failure(error)
    raise AssertionError("a result is a success or a failure")


def is_session(data: bytes) -> bool:
    return is_headless(data) or isinstance(draw_chart(data), Success)


def _findings(chart: Chart) -> list[Finding]:
    findings = [*chain(file_faults(chart), tree_faults(chart), edit_faults(chart), message_faults(chart))]
    findings += pair_faults(chart)
    # A request that Pi cannot build, or that holds what is named already, has nothing more to say.
    if not any(finding.severity == "bricks" for finding in findings):
        findings += payload_faults(chart)
    return findings


def _rank(finding: Finding) -> tuple[int, int]:
    return SEVERITIES.index(finding.severity), finding.line or 0
