"""Any number of sessions for the fleet, made of the recorded ones beside the project: the texts of each are its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "hosts" / "samples"
MARK = "@@NUMBER@@"
DIGITS = 8
FOLDER = 1_000
"""Files in one folder."""

KINDS = (
    *(("mini-swe-agent-2.4.6.traj.json", 60), ("opencode-1.18.33.json", 36)),
    *(("claude-code-2.1.332.jsonl", 1), ("codex-0.171.0.jsonl", 1)),
    *(("cline-3.0.65.messages.json", 1), ("pi-1.6.0.jsonl", 1)),
)
"""A sample, and how many of a hundred sessions are made of it: most are short."""


class Missing(Exception):
    """The samples are not there."""


def write_sessions(folder: Path, count: int) -> None:
    """The same count gives the same files. Raises Missing."""
    made = list(_templates())
    for number in range(count):
        name, template = made[number * 37 % len(made)]  # mixed, so that a batch has some of every kind
        place = folder / f"{number // FOLDER:05}"
        if number % FOLDER == 0:
            place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:0{DIGITS}}-{name}").write_bytes(template.replace(MARK.encode(), b"%08d" % number))


def _templates() -> Iterator[tuple[str, bytes]]:
    """One for each of a hundred sessions, with MARK where its number stands."""
    for name, share in KINDS:
        path = SAMPLES / name
        if not path.is_file():
            raise Missing(f"{path} is not there: the sessions are made of those in ../shared")
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            lines = [json.dumps(_marked(json.loads(line))) for line in text.splitlines() if line.strip()]
            template = "\n".join(lines) + "\n"
        else:
            template = json.dumps(_marked(json.loads(text)))
        yield from [(name, template.encode())] * share


def _marked(value: Any) -> Any:
    """Texts of several lines are told apart by a first line of their own: nothing is judged twice."""
    if isinstance(value, dict):
        return {key: _marked(it) for key, it in value.items()}
    if isinstance(value, list):
        return [_marked(it) for it in value]
    if isinstance(value, str) and "\n" in value and not value.lstrip().startswith(("{", "[")):
        return f"part {MARK}\n{value}"
    return value
