"""What sort of call an output came from, as far as its name and arguments tell."""

import re
from typing import Literal

from context_guard.labels import first_text, read_args

Kind = Literal["read", "search", "vcs", "check", "agent", "other"]
KINDS: tuple[Kind, ...] = ("read", "search", "vcs", "check", "agent")

_AGENT = re.compile(r"task|agent|skill|web|fetch", re.IGNORECASE)
_SEARCH = re.compile(r"grep|^rg$|glob|search|find|^ls$|^list", re.IGNORECASE)
_READ = re.compile(r"read|view|^cat$|open", re.IGNORECASE)
_LEAD = re.compile(r"^(?:\s*(?:cd [^;&|]{1,200}(?:&&|;)|\w+=\S*|sudo|time|timeout \S+)\s*)*")
_COMMANDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("read", re.compile(r"(?:cat|sed|head|tail|nl|less|bat|awk)\b")),
    ("search", re.compile(r"(?:rg|grep|egrep|ag|find|fd|ls|tree|git grep|git ls-files)\b")),
    ("vcs", re.compile(r"(?:git|gh|hg|svn)\b")),
    (
        "check",
        re.compile(
            r"(?:go|cargo|npm|npx|pnpm|yarn|bun|make|mise|pytest|tox|uv|python[0-9.]*|node|mvn|gradle\w*|dotnet|docker"
            r"|ruff|mypy|eslint|tsc|\./\S+)\b"
        ),
    ),
)
_CUT_COMMAND = re.compile(r'"(?:cmd|command)"\s*:\s*"((?:[^"\\]|\\.)*)')
"""In arguments that were cut off and so are no JSON any more."""
_TEST_PATH = re.compile(r"(?:^|[/_.])tests?(?:[/_.]|$)|_test\.|\.spec\.", re.IGNORECASE)
_PROSE_PATH = re.compile(r"\.(?:md|txt|rst|adoc)\b", re.IGNORECASE)


def kind_of(tool: str, args_text: str) -> Kind:
    args = read_args(args_text)
    if command := _command(args_text):
        rest = _LEAD.sub("", command, count=1)
        return next((kind for kind, pattern in _COMMANDS if pattern.match(rest)), "other")
    if _AGENT.search(tool):
        return "agent"
    if _SEARCH.search(tool) or first_text(args, "pattern", "query"):
        return "search"
    if _READ.search(tool) or first_text(args, "path", "file_path", "file"):
        return "read"
    return "other"


def _command(args_text: str) -> str:
    args = read_args(args_text)
    given = first_text(args, "command", "cmd")
    if not given:
        found = _CUT_COMMAND.search(args_text)
        given = found[1] if found else ""
    return given.strip()


def is_test(path: str) -> bool:
    return _TEST_PATH.search(path) is not None


def is_prose(path: str) -> bool:
    return _PROSE_PATH.search(path) is not None
