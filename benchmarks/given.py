"""Paths and packages that a benchmark needs: where one is missing, it ends with one line that says what."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def needed_package(name: str) -> Any:
    """A package of the extra `benchmarks`."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        sys.exit(f"{name.partition('.')[0]} is not installed: pip install -e '.[benchmarks]'")


def existing_file(given: str) -> Path:
    path = Path(given)
    if not path.is_file():
        sys.exit(f"{path}: no such file")
    return path


def file_to_write(given: str) -> Path:
    path = Path(given)
    if not path.parent.is_dir():
        sys.exit(f"{path}: there is no folder {path.parent}")
    return path


def folder_with(*names: str) -> Callable[[str], Path]:
    """A check for a folder that holds these files; `../` leads out of it."""

    def check(given: str) -> Path:
        path = Path(given)
        if not path.is_dir():
            sys.exit(f"{path}: no such folder")
        for name in names:
            if not (path.resolve() / name).is_file():
                sys.exit(f"{path} is not the folder that is wanted: it has no {name}")
        return path

    return check


later_use_folder = folder_with("items.jsonl.gz", "gold.jsonl.gz")
scored_folder = folder_with("items.jsonl.gz", "gold.jsonl.gz", "../lateruse.py")
bed_folder = folder_with("score.py", "cases.json.gz")
