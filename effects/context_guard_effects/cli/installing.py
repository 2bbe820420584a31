"""What `install` and `uninstall` can be told to change: a table of agents, each with a pair of functions."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple


class Target(NamedTuple):
    told: str
    """What it is, for the help."""
    module: str
    """Has `install(dry_run)` and `uninstall(dry_run)`; imported only when asked for."""

    def install(self, dry_run: bool) -> None:
        self._function("install")(dry_run)

    def uninstall(self, dry_run: bool) -> None:
        self._function("uninstall")(dry_run)

    def _function(self, name: str) -> Callable[[bool], None]:
        function: Callable[[bool], None] = getattr(import_module(self.module), name)
        return function


TARGETS = {
    "pi": Target("Pi: an extension of its own", "context_guard_effects.cli.install_pi"),
}


def choose_target(name: str) -> Target:
    return TARGETS[name]
