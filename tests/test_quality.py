"""Style and types are part of the suite: what CI would refuse fails here first."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"], ["mypy", "--strict"]],
    ids=["ruff check", "ruff format", "mypy"],
)
def test_the_code_is_clean(command: list[str]) -> None:
    """Linter, formatter and type checker have nothing to say."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
