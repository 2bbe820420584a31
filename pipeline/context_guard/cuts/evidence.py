"""Cheap evidence for a kind of material that has no first line of its own: a sample of lines, a few searches."""

import re

from context_guard.cuts.outline import without_numbers
from context_guard.signs import sign_of

SAMPLE = 200
_ENDS = 20_000
"""A run of tests says so at its beginning or in its summary."""
_CODE = re.compile(
    r"\s*(?:def |class |func |fn |pub |impl |import |from \S+ import|package |use |#include|const |let |var |export "
    r"|public |private |static |return\b|if\b|for\b|while\b|struct |interface |type |function |async |module |end$"
    r"|\}|@\w)|.*[{};]$"
)
_TESTS = (
    "test session starts",
    "=== FAILURES",
    "short test summary info",
    "\n--- FAIL:",
    "    --- FAIL:",
    "test result: ",
    "\nTests: ",
    "\nTest Suites: ",
    "\nnot ok ",
    "Test Files ",
    "\nTests run: ",
    "[  FAILED  ]",
    " passing (",
    "\n--- PASS:",
)
_RAN = re.compile(r"\nRan [0-9]+ tests? in |\nℹ tests [0-9]|\n# tests [0-9]|\n=+ .*\b(?:passed|failed)\b.* in [0-9.]+s")


def take_sample(lines: list[str]) -> list[str]:
    """Lines with something in them: the first ones, then from all over."""
    head = lines[: SAMPLE // 4]
    step = max(1, len(lines) // SAMPLE)
    return [line[:400] for line in (*head, *lines[len(head) :: step]) if line and not line.isspace()]


def is_test_run(text: str, sample: list[str]) -> bool:
    ends = text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]}\n{text[-_ENDS:]}"
    if any(mark in ends for mark in _TESTS) or _RAN.search(ends):
        return True
    signs = [sign_of(line) for line in sample]
    passed, failed = signs.count("pass"), signs.count("failure")
    return (passed >= 5 and passed * 2 >= len(sample)) or (passed >= 2 and failed >= 1 and "summary" in signs)


def is_json(text: str, sample: list[str]) -> bool:
    """By its first and last characters; by its lines where the end was cut off."""
    head, tail = text[:200].lstrip()[:1], text[-200:].rstrip()[-1:]
    start = text[:4_000]
    if head not in ("{", "[") or start.count('":') + start.count('",') < 2:
        return False
    like = sum(1 for line in sample if line.lstrip()[0] in '"{}[]')
    return (head, tail) in (("{", "}"), ("[", "]")) or like * 10 >= len(sample) * 8


def is_source(sample: list[str], is_code_file: bool) -> bool:
    """Code by what it looks like; a file with the name of one needs only some indentation."""
    bodies = [body for body in without_numbers(sample) if body.strip()]
    indented = sum(1 for body in bodies if body[0] in " \t")
    code = sum(1 for body in bodies if _CODE.match(body))
    return indented * 10 >= len(bodies) > 0 and code * (12 if is_code_file else 3) >= len(bodies)
