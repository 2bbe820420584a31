"""Agents that have settings of their own for a base URL and for MCP servers: shown, agreed to, written, taken back."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from context_guard_effects.cli.exits import UNREADABLE, UNWRITABLE, USAGE, Stop, missing
from context_guard_effects.cli.installing import PROXY, Asked
from context_guard_effects.cli.output import warn, write

if TYPE_CHECKING:
    from context_guard_effects.agents.installer import Change, Installer
    from context_guard_effects.agents.settings import Addition

Answer = TypeVar("Answer")


def install(agent: str, asked: Asked) -> None:
    installer = _installer(agent)
    changes = _told(lambda: installer.install(_additions(agent, asked)))
    if not changes:
        write(f"{agent} is set up already.\n")
        return
    if not _agreed(changes, asked):
        return
    _done(lambda: installer.put(changes))
    for change in changes:
        write(f"wrote {change.file}\n")
    write(
        f"The agent now needs the proxy: start it with `context-guard proxy{_listen(asked.proxy)}`, "
        "and start the agent anew. "
        f"`context-guard uninstall {agent}` takes all of it back.\n"
    )


def _listen(proxy: str) -> str:
    """What the proxy is told where it is not at its usual address."""
    return "" if proxy == PROXY else f" --listen {proxy.partition('://')[2]}"


def uninstall(agent: str, asked: Asked) -> None:
    installer = _installer(agent)
    additions = installer.additions
    changes = _told(lambda: installer.uninstall(additions or _additions(agent, asked)))
    if not changes:
        write(f"Nothing of context-guard is in the settings of {agent}.\n")
        return
    for change in changes:
        if change.said:
            warn(change.said)
    if not _agreed(changes, asked):
        return
    _done(lambda: installer.take_back(changes))
    for change in changes:
        write(f"{_outcome(change)}\n")


def _outcome(change: "Change") -> str:
    if change.then is None:
        return f"removed {change.file}, which the guard had made"
    if not change.said:
        return f"restored {change.file} to the byte"
    if change.then == change.now:
        return f"left {change.file} as it is"
    return f"removed the guard's part from {change.file}; what changed there since is kept"


def _installer(agent: str) -> "Installer":
    try:
        from context_guard_effects.agents.installer import Installer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("tomlkit", "tree_sitter", "tree_sitter_json"):
            raise
        raise missing(error.name or "tomlkit", "agents") from error
    import platformdirs

    return _told(lambda: Installer(agent, platformdirs.user_data_path("context-guard", False) / "installed.json"))


def _additions(agent: str, asked: Asked) -> "tuple[Addition, ...]":
    from context_guard_effects.agents.targets import AGENTS, Wish

    return AGENTS[agent](Wish(asked.proxy, asked.providers), os.environ)


def _told(question: Callable[[], Answer]) -> Answer:
    from context_guard_effects.agents.document import DocumentError
    from context_guard_effects.agents.targets import Conflict

    try:
        return question()
    except (Conflict, DocumentError) as error:
        raise Stop(str(error), UNREADABLE) from error
    except OSError as error:
        raise Stop(f"cannot read {error.filename}: {(error.strerror or str(error)).lower()}", UNREADABLE) from error


def _agreed(changes: "tuple[Change, ...]", asked: Asked) -> bool:
    from context_guard.printable import visible_line

    for change in changes:
        write("".join(f"{visible_line(line)}\n" for line in change.diff().splitlines()))
    if asked.dry_run:
        write("Nothing was written.\n")
        return False
    if asked.yes:
        return True
    try:
        if click.confirm("Write this?"):
            return True
    except click.Abort:
        raise Stop("nobody answered, so nothing was written. --yes writes without asking.", USAGE) from None
    write("Nothing was written.\n")
    return False


def _done(writing: Callable[[], None]) -> None:
    try:
        writing()
    except OSError as error:
        place = Path(error.filename or "?")
        raise Stop(f"cannot write {place}: {(error.strerror or str(error)).lower()}", UNWRITABLE) from error
