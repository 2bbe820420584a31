"""Whether a later call of the run made an output out of date, and how: a hint for the judge."""

import re
from collections.abc import Iterable
from posixpath import normpath
from typing import Any

from context_guard.labels import first_text, read_args, tool_label
from context_guard.span import Call
from context_guard.text import compact_json, one_line, plural

_EDITORS = frozenset({"edit", "write", "multiedit", "notebookedit", "str_replace_based_edit_tool", "apply_patch"})
_READERS = frozenset({"read", "view", "read_file"})
_SEARCHERS = frozenset({"grep", "rg", "search"})

_DRIVE = re.compile(r"[A-Za-z]:/")
_STDERR_TOO = re.compile(r"\s*2>&1$")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Delete|Add) File: (.+)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_REDIRECTED = re.compile(r"(?<![0-9&>])>{1,2}\s*(?!&)(\"[^\"]+\"|'[^']+'|[^\s;|&<>()]+)")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s;|&<>()]+")
_IN_PLACE = re.compile(
    r"(?:^|[;&|]\s*|\bsudo\s+)(sed\s+(?:-\S+\s+)*-\w*i\S*|perl\s+(?:-\S+\s+)*-\w*i\S*|git\s+(?:checkout|restore|apply|stash|reset|revert|merge|pull)"
    r"|tee|mv|cp|rm|truncate|patch|dd|install|black|ruff\s+format|prettier\s+(?:\S+\s+)*--write|gofmt\s+-w)\b([^;&|]*)"
)
"""Shell commands that change the files among their words."""
_COPIERS = frozenset({"cp", "install"})
"""Those of them that change only the last one."""


def superseded_by(tool: str, args: str, turn: int, calls: Iterable[Call], cwd: str | None = None) -> str:
    """How a later call made this output out of date, in words for the judge; empty when none did.

    `calls` are all calls of the run in order; those of a later turn count, failed changes do not.
    """
    given = read_args(args)
    path = first_text(given, "path", "file_path", "file")
    command = _command(given)
    searched = _searched_file(tool, given, command)
    for later in calls:
        if later.turn <= turn:
            continue
        ago = f"{plural(later.turn - turn, 'turn')} later"
        label = tool_label(later.name, later.args)
        then = read_args(later.args)
        if tool.lower() in _READERS and path:
            if _changes(later, then, path, cwd):
                return f"this file was changed after this read ({label}, {ago})"
            if later.name == tool and not later.failed and _same_range(given, then, path, cwd):
                return f"the same file range was read again later ({label}, {ago})"
        elif command and _normal(_command(then)) == _normal(command):
            return f"the same command ran again later ({ago})"
        elif not command and later.name == tool and compact_json(then) == compact_json(given):
            return f"the same {one_line(tool)} call ran again later ({ago})"
        elif searched and _changes(later, then, searched, cwd):
            return f"the file it searched was changed later ({label}, {ago})"
    return ""


def is_repeated(superseded: str) -> bool:
    """Whether that is because the same was shown again; a file that was changed after a read is still worked on."""
    return " again later" in superseded


def same_path(one: str, other: str, cwd: str | None = None) -> bool:
    """Whether two spellings name one file: `./a`, `a`, `x/../a`, `<cwd>/a` and `C:\\\\a`, `c:/a` alike."""
    return _normal_path(one, cwd) == _normal_path(other, cwd)


def _normal_path(path: str, cwd: str | None) -> str:
    plain = path.strip("\"'").replace("\\", "/")
    base = (cwd or "").replace("\\", "/").rstrip("/")
    if _DRIVE.match(plain):
        plain, base = plain.lower(), base.lower()
    plain = normpath(plain).replace("//", "/")
    return plain[len(base) + 1 :] if base and plain.startswith(base + "/") else plain


def _command(args: dict[str, Any]) -> str:
    return first_text(args, "command", "cmd")


def _normal(command: str) -> str:
    return _STDERR_TOO.sub("", one_line(command)).strip()


def _same_range(given: dict[str, Any], then: dict[str, Any], path: str, cwd: str | None) -> bool:
    again = first_text(then, "path", "file_path", "file")
    return (
        bool(again)
        and same_path(path, again, cwd)
        and (given.get("offset") or 1) == (then.get("offset") or 1)
        and given.get("limit") == then.get("limit")
    )


def _changes(later: Call, then: dict[str, Any], path: str, cwd: str | None) -> bool:
    """Whether the later call changed the file: by an edit tool, a patch, or a shell command that names it."""
    if later.failed:
        return False
    if later.name.lower() in _EDITORS:
        edited = first_text(then, "path", "file_path", "file")
        patched = _patched(first_text(then, "input", "patch", "diff"))
        return any(same_path(path, name, cwd) for name in [edited, *patched] if name)
    return any(same_path(path, name, cwd) for name in _shell_changes(_command(then)))


def _patched(patch: str) -> list[str]:
    return [update or target for update, target in _PATCHED.findall(patch)]


def _shell_changes(command: str) -> list[str]:
    """Files that a shell command writes to, as far as its words tell."""
    if not command:
        return []
    found = [name for name in _REDIRECTED.findall(command) if name != "/dev/null"]
    for verb, words in _IN_PLACE.findall(command):
        names = [word for word in _WORD.findall(words) if not word.startswith("-")]
        found += names[-1:] if verb in _COPIERS else names
    return found + (_patched(command) if "*** " in command or "+++ " in command else [])


def _searched_file(tool: str, args: dict[str, Any], command: str) -> str:
    """The one file that a search looked into; empty for a search over folders."""
    if tool.lower() in _SEARCHERS:
        return first_text(args, "path", "file_path", "file")
    words = _WORD.findall(command)
    if not command or words[:1] not in (["grep"], ["rg"], ["egrep"], ["cat"], ["head"], ["tail"]) or "|" in command:
        return ""
    return words[-1] if len(words) > 1 and not words[-1].startswith("-") else ""
