"""What single lines of tools say: a failure, a pass, a summary, how the command ended, that something was cut off."""

import re
from typing import Literal

Sign = Literal["", "failure", "pass", "summary", "exit", "notice"]

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

_MAX = 400
"""Of a longer line only the beginning is looked at."""

_NOTICE = (
    r"\[Showing lines? [^\n]*\]|\[[0-9]+ more lines in file\.[^\n]*\]|\[[^\n\]]*limit reached[^\n]*\]"
    r"|(?!\[… ).{0,40}(?:\b[0-9,]+ (?:lines?|chars?|characters|bytes|tokens|rows|files) "
    r"(?:were )?(?:truncated|omitted|elided|not shown)\b"
    r"|<[^>]{0,40}truncated[^>]{0,40}>|\boutput (?:was )?truncated\b|\[(?:\.\.\.|…)?\s?truncated)"
)
_EXIT = (
    r"(?:Command|Process) (?:exited with (?:exit )?code|timed out|aborted)|(?:\[?exit|Exit) ?(?:code|status):? ?-?[0-9]"
    r"|Exited with (?:code|status)|error: script \S+ exited with code|npm (?:ERR!|error) code |\[exit [0-9]"
)
_SUMMARY = (
    r"=+ .*\b(?:passed|failed|errors?|skipped|no tests ran|deselected)\b.* =+$|=+ short test summary info"
    r"|[0-9]+ (?:passed|failed|errors?|skipped)\b.* in [0-9.]+ ?s|Ran [0-9]+ tests? in|OK(?: \(|$)|FAILED \("
    r"|test result: |Tests?:? +[0-9]+ |Test (?:Suites?|Files):? +[0-9]|Tests run: [0-9]"
    r"|[0-9]+ (?:passing|failing|pending)\b|Found [0-9]+ errors?|Success: no issues|All checks passed"
    r"|# (?:tests|suites|pass|fail) [0-9]|ℹ (?:tests|pass|fail) [0-9]"
    r"|✖ [0-9]+ problems?|BUILD (?:SUCCESSFUL|FAILED|SUCCESS|FAILURE)|error: could not compile|error: aborting due to"
    r"|[0-9]+ (?:errors?|warnings?)(?: and [0-9]+ (?:errors?|warnings?))? generated|[0-9]+ tests?,? .*[0-9]+ failures?"
    r"|[0-9]+ files? changed\b|[0-9.]+[KMGT]?\s+total$|\([0-9]+ rows?\)$"
    r"|FAIL(?:\t\S|$)|failures:$|1\.\.[0-9]+$|\[  (?:PASSED|FAILED)  \] [0-9]+ tests?"
)
_PASS = (
    r"[✓✔√] |PASS(?:ED)?\b|--- PASS: |=== (?:RUN|PAUSE|CONT) |ok [0-9]+\b|ok  ?\t?\S+\t|ok\t"
    r"|\[ +(?:OK|RUN|PASSED) +\]|test \S.* \.\.\. (?:ok|ignored)$"
)
_SYSTEM = (
    r"No such file or directory|Permission denied|Operation not permitted|Is a directory|Not a directory|File exists"
    r"|Connection refused|No space left on device|Device or resource busy|Cannot allocate memory|exec format error"
)
"""What the operating system says behind the name of a program or a file."""
_TOOLS = (
    r"\[(?:ERROR|FATAL|error|fatal)\]|level=(?:error|fatal)\b|E: [A-Z]|e: \S|\*\* \(\w*(?:Error|exit|EXIT)\b"
    r"|PHP (?:Fatal|Parse) error|(?:Fatal|Parse|Runtime) error\b|Failure/Error|Uncaught |Unhandled|An error occurred"
    r"|Error (?:response from|from server|\[)|error (?:[A-Z]|connecting to)|CMake Error|ninja: build stopped"
    r"|gmake(?:\[[0-9]+\])?: \*\*\*|MSBUILD : error|\* What went wrong|ERR_|ELIFECYCLE|ERESOLVE|EACCES|ENOENT"
    r"|! \[(?:remote )?rejected|ORA-[0-9]{5}|SQLSTATE|Msg [0-9]+, Level|(?:< )?HTTP/[0-9.]+ [45][0-9]{2}\b"
    r"|<tool_use_error>|invalid-syntax: |OOMKilled|ld: |[0-9]+:[0-9]+ +error\b"
)
"""How compilers, package managers, containers, databases and clients begin what went wrong."""
_FAILURE = (
    r"FAIL(?:ED)?:? |ERROR:? |--- FAIL: |not ok [0-9]|[✗✘✖×] |●|\[  FAILED  \]|Traceback \(most recent call last\)"
    r"|panic: |thread '.*' panicked|E   |_{3,} .+ _{3,}$"
    r"|[\w.]*(?:Error|Exception|Failure|Exit|Interrupt)(?::|$)"
    r"|(?:fatal )?error(?:\[\w+\])?: |fatal: |Error: |Caused by: |make(?:\[[0-9]+\])?: \*\*\*|npm (?:ERR!|error) "
    r"|Segmentation fault|Assertion.* failed|AssertionError|FAILURE: |FATAL\b|CONFLICT \(|Killed$|curl: \([0-9]+\) "
    rf"|[0-9]+ tests? failed$|Permission denied$|{_TOOLS}"
)
_SYSTEM = (
    r"No such file or directory|[Pp]ermission denied|Operation not permitted|Is a directory|Not a directory|File exists"
    r"|Connection refused|No space left on device|Device or resource busy|Cannot allocate memory|exec format error"
    r"|command not found"
)
"""What the operating system or the shell says behind the name of a program or a file."""
_NAMED_FAILURE = re.compile(
    r"[^\s:()]{1,200}:[0-9]+(?::[0-9]+)?:? (?:(?:- )?(?:fatal )?(?i:error)\b|undefined: |syntax error\b)"
    r"|[^\s:()]{1,200}:[0-9]+:[0-9]+: (?:[A-Z]{1,4}[0-9]{2,5} |.{1,300} \([a-z][\w-]{1,40}\)$)"
    r"|[^\s:()]{1,200}\.go:[0-9]+:[0-9]+: \S|[^\s()]{1,200}\([0-9]+(?:,[0-9]+)?\): error\b"
    rf"|\S{{1,100}}: (?:error: |command not found: |(?:.{{1,200}}: )?(?:{_SYSTEM})$|[0-9]+: \S{{1,100}}: not found$)"
    rf"|\S{{1,60}} .{{0,200}}: (?:{_SYSTEM})(?:$| \()|psql:\S+ (?:ERROR|FATAL)"
    r"|.{0,200}: undefined reference to |go: .{1,300}(?:no required module|cannot find|not found|unknown revision)"
)
"""A failure behind the name of what failed: only lines with a colon are looked at."""
_SIGN = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in (
            ("exit", _EXIT),
            ("summary", _SUMMARY),
            ("failure", _FAILURE),
            ("pass", _PASS),
        )
    )
)
_BEFORE = re.compile(r"\[[\w:./@-]{1,60}\] (?=\D)|│ |=> |#[0-9]+ [0-9.]+ ")
"""What runners of tasks, terraform and docker put in front of the lines of others."""
_BEFORE_STARTS = ("[", "│", "=> ", "#")
_CUT_OFF = re.compile(_NOTICE)
_CUT_OFF_WORDS = ("truncated", "omitted", "elided", "not shown", "limit reached", "more lines in", "[Showing")
_PASSED_AT_END = (" PASSED", " ok", " passed", " SKIPPED")
_FAILED_AT_END = (" FAILED", " FAIL", " ERROR", "... failed")
_PYTEST = (" PASSED", "%]")
"""How most lines of a long run end: told apart without the rest."""
_DOTS = re.compile(r"(?:\S+ +)?[.sxX]+(?: +\[ *[0-9]+%\])?$")
_PERCENT = re.compile(r"\s*\[ *[0-9]+%\]$")


def sign_of(line: str) -> Sign:
    """What the line says, escapes aside; "" for a line that says none of it."""
    if line.endswith(_PYTEST) and (line[-1] == "D" or line[: line.rfind("[")].rstrip().endswith(" PASSED")):
        if line[0] not in "FE":
            return "pass"
    elif not line or line.isspace():
        return ""
    if len(line) > _MAX:
        line = line[:_MAX]
    if "\x1b" in line:
        line = ANSI.sub("", line)
    line = line.strip()
    if sign := _at_start(line):
        return sign
    if (
        line.startswith(_BEFORE_STARTS)
        and (before := _BEFORE.match(line))
        and (sign := _at_start(line[before.end() :]))
    ):
        return sign
    if any(word in line for word in _CUT_OFF_WORDS) and _CUT_OFF.match(line):
        return "notice"
    end = line
    if end.endswith("%]"):
        if _DOTS.match(end):
            return "pass"
        end = _PERCENT.sub("", end)
    if end.endswith(_FAILED_AT_END):
        return "failure"
    return "pass" if end.endswith(_PASSED_AT_END) else ""


def _at_start(line: str) -> Sign:
    found = _SIGN.match(line)
    if found is not None:
        sign: Sign = found.lastgroup  # type: ignore[assignment]
        return sign
    return "failure" if ": " in line and _NAMED_FAILURE.match(line) else ""
