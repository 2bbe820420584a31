"""What `install` and `uninstall` can be told to change: a table of agents, each with a pair of functions."""

from importlib import import_module
from typing import NamedTuple


class Asked(NamedTuple):
    """The options of the command."""

    dry_run: bool = False
    yes: bool = False
    proxy: str = ""
    providers: tuple[str, ...] = ()


class Target(NamedTuple):
    told: str
    """What it is, for the help."""
    module: str
    """Has `install(agent, asked)` and `uninstall(agent, asked)`; imported only when asked for."""


PROXY = "http://127.0.0.1:8484"
"""Where `context-guard proxy` listens unless it is told otherwise."""
SETTINGS = "context_guard_effects.cli.install_agent"

TARGETS = {
    "claude-code": Target("Claude Code: base URL and MCP server in its settings", SETTINGS),
    "codex": Target("Codex: a model provider and an MCP server in config.toml", SETTINGS),
    "opencode": Target("OpenCode: base URLs and an MCP server in opencode.json", SETTINGS),
    "pi": Target("Pi: an extension of its own", "context_guard_effects.cli.install_pi"),
}


def install(agent: str, asked: Asked) -> None:
    import_module(TARGETS[agent].module).install(agent, asked)


def uninstall(agent: str, asked: Asked) -> None:
    import_module(TARGETS[agent].module).uninstall(agent, asked)
