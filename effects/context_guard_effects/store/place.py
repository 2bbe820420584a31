"""Where the store lies: one for all hosts of a user, so that sub-agents and other processes share it."""

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "CONTEXT_GUARD_STORE"


def default_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that the environment names, or `store.db` in the user's data directory."""
    if named := environment.get(VARIABLE, ""):
        return Path(named).expanduser()
    import platformdirs  # only here: a host most often names the file

    return platformdirs.user_data_path("context-guard", False) / "store.db"
