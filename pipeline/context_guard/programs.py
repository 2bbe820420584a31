"""What a shell command runs and on what, so that a later run can be compared with an earlier one."""

import re

from msgspec import Struct

from context_guard.labels import first_text, read_args

_RUNNERS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "deno", "cargo", "go", "make", "python", "python3", "gradle", "mvn"}
)
"""Programs whose next word says what is run."""
_PREFIX = re.compile(r"(?:(?:\w+=\S*|env|time|sudo|timeout \S+|uv run|poetry run|npx) )*")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_INSIDE = re.compile(r"[;|&<>\s]")
"""What separates nothing inside of quotes."""
_ENDS = re.compile(r"[;\n]|\|\|")
_PIPE = re.compile(r"\||&(?!>)|[0-9]?&?>{1,2}(?:&[0-9]|\s*\S+)?|<")
"""Behind the first of these a command only says where its output goes."""
_IN_BIN = re.compile(r"^\S*/bin/")
_ASIDE = frozenset({"cd", "echo", "export", "set", "source", ".", "sleep", "pwd", "true", "mkdir", "exit"})
"""Programs that are no work of their own."""
_SHOWN = (
    "--tb",
    "--color",
    "--durations",
    "--reporter",
    "--maxfail",
    "--timeout",
    "--log-level",
    "--verbosity",
    "--jobs",
)
"""Options whose value changes what is printed or how fast, and not what is run."""


class Program(Struct, frozen=True):
    name: str
    """With its first word where that says what is run: `cargo test`."""
    targets: frozenset[str]
    """Files, tests, patterns: every other word that is no option or number. None of them means all there is."""
    narrowed: frozenset[str]
    """Options with a value (`--filter=pool`), which may leave out a part of that."""


def programs_of(args: str) -> tuple[Program, ...]:
    """What must have gone well for the command to have gone well: of a chain of `&&` its last one; empty for no
    command."""
    command = first_text(read_args(args), "command", "cmd")
    hidden = _QUOTED.sub(lambda found: _INSIDE.sub("_", found[0]), command)
    chains = (_last_of(part) for part in _ENDS.split(hidden))
    return tuple(program for program in chains if program is not None)


def covers(later: Program, earlier: Program) -> bool:
    """Whether the later run was of the same program, on all that the earlier one was on."""
    if later.name != earlier.name or not later.narrowed <= earlier.narrowed:
        return False
    if not later.targets:
        return True
    held = (any(_holds(other, target) for other in later.targets) for target in earlier.targets)
    return bool(earlier.targets) and all(held)


def _last_of(chain: str) -> Program | None:
    found = [program for link in chain.split("&&") if (program := _read(link)) is not None]
    return found[-1] if found else None


def _read(command: str) -> Program | None:
    command = _PIPE.split(command.strip("() \t"), maxsplit=1)[0]
    words = command[_PREFIX.match(command).end() :].split()  # type: ignore[union-attr]
    if len(words) > 2 and words[0].startswith("python") and words[1] == "-m":
        words = words[2:]
    if not words or words[0] in _ASIDE:
        return None
    named = [word for word in words[:6] if not word.startswith("-")][: 2 if words[0] in _RUNNERS else 1]
    rest = [word for word in words if word not in named]
    return Program(
        name=" ".join([_IN_BIN.sub("", word) for word in named]),
        targets=frozenset(_target(word) for word in rest if not word.startswith("-") and not _is_all(word)),
        narrowed=frozenset(word for word in rest if word.startswith("-") and "=" in word and not _is_shown(word)),
    )


def _is_all(word: str) -> bool:
    """Whether a word leaves nothing out: the folder one is in, or the number that is the value of an option."""
    return word in (".", "./", "./...") or word.isdigit()


def _is_shown(word: str) -> bool:
    return word.startswith(_SHOWN)


def _target(word: str) -> str:
    return word.strip("\"'").removeprefix("./").rstrip("/")


def _holds(target: str, other: str) -> bool:
    """`tests` holds `tests/test_a.py`, which holds its test `tests/test_a.py::test_one`."""
    return other == target or other.startswith((f"{target}/", f"{target}::"))
