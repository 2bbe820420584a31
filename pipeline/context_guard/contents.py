"""What a gap holds, in a few words, where that is known: passed tests, failures, errors, keys, definitions, hunks."""

import re
from collections.abc import Iterator

from context_guard.chunks import Cut
from context_guard.gaps import Stretch
from context_guard.signs import sign_of
from context_guard.text import one_line, plural

MAX_NAMES = 5
_KEY = re.compile(r"^([ \t]*)\"([^\"\n]{1,60})\"\s*:", re.MULTILINE)
_NAME = re.compile(
    r"^(?: *[0-9]+(?:\t|→|\| ?))?([ \t]*)"
    r"(?:export |default |public |private |protected |static |async |pub(?:\([a-z]+\))? )*"
    r"(?:def|class|fn|func|function|struct|enum|trait|interface|impl|module)\s+"
    r"(?:\([^)\n]{0,60}\)\s*)?([A-Za-z_$][\w$]{0,59})",
)
_FIRST = frozenset(
    {"exp", "def", "pub", "pri", "pro", "sta", "asy", "cla", "fn ", "fun", "str", "enu", "tra", "int", "imp", "mod"}
)
"""How a line with a definition begins."""
_NOT_A_TEST = ("=== ", "[ RUN")
_DOTS = re.compile(r"(?:\S+ +)?([.sxX]+)(?: +\[ *[0-9]+%\])?$")
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_WORDS = {
    "blank": "blank lines",
    "repeated": "the line above again",
    "progress": "earlier states of the progress below",
    "overwritten": "earlier states that the line overwrote",
    "data": "encoded data",
    "passed": "",
}


def contents_of(text: str, cut: Cut, gap: Stretch) -> str:
    """What kind of lines a gap holds, where that is known."""
    text = text[gap.offset : gap.stop]
    if gap.why:
        media = f", {gap.media}" if gap.media else ""
        return _WORDS[gap.why] + media or ", ".join(_verdicts(text, cut, gap))
    match cut.kind:
        case "tests" | "trace":
            return ", ".join(_verdicts(text, cut, gap))
        case "diagnostics":
            return ", ".join(_messages(text))
        case "json":
            return _listed("keys", _top(_KEY.findall(text)))
        case "source":
            return _listed("with", _top(list(_definitions(text))))
        case "diff":
            hunks = sum(1 for line in text.split("\n") if line.startswith("@@ "))
            names = [name for chunk in cut.chunks[gap.first : gap.last] for name in chunk.files]
            return f"{plural(hunks, 'hunk')} of {_named(names)}" if hunks and names else ""
        case _:
            return ", ".join(_errors(text))


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Indentation and name of each; the regular expression is for lines that may be one."""
    for line in text.split("\n"):
        first = line.lstrip()[:3]
        if (first in _FIRST or first[:1].isdigit()) and (found := _NAME.match(line)):
            yield found[1], found[2]


def _verdicts(text: str, cut: Cut, gap: Stretch) -> Iterator[str]:
    passes = [_passed(line) for line in text.split("\n") if line.strip()]
    passed = sum(passes)
    dropped = () if gap.why else cut.chunks[gap.first : gap.last]
    failures = sum(1 for chunk in dropped if chunk.role == "failure")
    if passed:
        yield plural(passed, "passed test")
    if failures:
        yield f"{plural(failures, 'failure')} among them"
    elif passed and all(passes):  # of a line in any other form nobody can say that it is no failure
        yield "no failure among them"
    if any(chunk.role == "summary" for chunk in dropped):
        yield "the summary among them"


def _passed(line: str) -> int:
    if sign_of(line) != "pass" or line.lstrip().startswith(_NOT_A_TEST):
        return 0
    dots = _DOTS.match(line.rstrip())
    return dots[1].count(".") if dots else 1


def _messages(text: str) -> Iterator[str]:
    if errors := sum(1 for line in text.split("\n") if _is_error(line)):
        yield f"{plural(errors, 'error')} among them"


def _errors(text: str) -> Iterator[str]:
    if any(sign_of(line) == "failure" for line in text.split("\n")):
        yield "errors among them"


def _is_error(line: str) -> bool:
    return _ERROR.search(line[:300]) is not None


def _top(found: list[tuple[str, str]]) -> list[str]:
    """The names at the least indentation."""
    least = min((len(indent) for indent, _ in found), default=0)
    return list(dict.fromkeys(name for indent, name in found if len(indent) == least))


def _listed(word: str, names: list[str]) -> str:
    return f"{word} {_named(names)}" if names else ""


def _named(names: list[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - MAX_NAMES} more" if len(found) > MAX_NAMES else ""
    return ", ".join(one_line(name) for name in found[:MAX_NAMES]) + more
