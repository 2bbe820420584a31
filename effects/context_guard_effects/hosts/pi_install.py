"""Where the extension of Pi goes, and what it is there: the shipped file with the command of this Python in it."""

import json
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from context_guard_effects.pi_bridge.settings import agent_folder

FILE_NAME = "context-guard.js"
SHIPPED = "pi_extension.js"
ORIGINAL = "pi-context-guard-jev"
"""Name of the original's package. Both at once would judge everything twice."""

FIRST_WORDS = "// context-guard's extension for Pi"
_COMMAND = "const COMMAND = "


def extension_path(environment: Mapping[str, str]) -> Path:
    return agent_folder(environment) / "extensions" / FILE_NAME


def extension_text() -> str:
    """Only this Python, and no module of the folder that Pi was started in, can be meant (`-P`)."""
    command = [sys.executable, "-P", "-m", "context_guard_effects.cli", "bridge"]
    shipped = files("context_guard_effects.hosts").joinpath(SHIPPED).read_text("utf-8")
    lines = shipped.split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith(_COMMAND))
    lines[place] = f"{_COMMAND}{json.dumps(command, ensure_ascii=False)};"
    return "\n".join(lines)


def is_ours(text: str) -> bool:
    return text.startswith(FIRST_WORDS)


def has_original(environment: Mapping[str, str]) -> bool:
    """Whether Pi's settings load the original too."""
    try:
        return ORIGINAL in (agent_folder(environment) / "settings.json").read_text("utf-8", "replace")
    except OSError:
        return False
