"""How the agent behind a request can recall: for a proxy, which sees nothing of the agent but its requests."""

import re
from collections.abc import Iterator
from typing import Any

from context_guard.text import RECALL, SHELL

_OURS = re.compile(rf"(?:.*guard(?:__|[_./:]))?{RECALL}")
"""As hosts name the tool of a server called `guard` or `context-guard`, and the tool itself."""


def find_recall_way(body: dict[str, Any]) -> str:
    """The value of `Config.recall_with` for a request of any of the three APIs: the name of the recall tool among its
    tools, else the shell, which every coding agent has. Tools that the agent finds by a search are not seen here."""
    return next((name for name in _names(body.get("tools")) if _OURS.fullmatch(name)), SHELL)


def _names(tools: Any) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        function = tool.get("function")
        named = function if isinstance(function, dict) else tool
        if isinstance(named.get("name"), str):
            yield named["name"]
