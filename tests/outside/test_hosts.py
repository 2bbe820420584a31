"""Real frameworks with scripted models: what holds for every guarded host, and the same in another process."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = sorted((ROOT / "effects" / "context_guard_effects" / "hosts").glob("*.py"))
HOSTS = sorted((ROOT / "tests" / "outside" / "hosts").glob("*_host.py"))


def run(python: str, *arguments: str, **environment: str) -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("pipeline", "effects", "tests"))
    done = subprocess.run(
        [python, *arguments],
        env=os.environ | {"PYTHONPATH": path, "OPENAI_API_KEY": "none", "MSWEA_SILENT_STARTUP": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("host", [path.stem for path in HOSTS])
def test_a_framework_is_guarded(frameworks: str, host: str, tmp_path: Path) -> None:
    """Raw history, sticky edits under the same call ids, exact recall, forks, another process, silence keeps all."""
    run(frameworks, "-m", f"outside.hosts.{host}", str(tmp_path / "store.db"))


def test_langchain_is_guarded_without_a_loop_too(frameworks: str, tmp_path: Path) -> None:
    run(frameworks, "-m", "outside.hosts.langchain_host", str(tmp_path / "store.db"), LANGCHAIN_SYNC="1")


def test_the_adapters_fit_the_types_of_the_frameworks(frameworks: str) -> None:
    """The base suite has no frameworks, so that mypy takes them for anything; here it sees them."""
    settings = ("--strict", "--explicit-package-bases", "--ignore-missing-imports", "--follow-imports=silent")
    run(frameworks, "-m", "mypy", *settings, *map(str, ADAPTERS), *map(str, HOSTS), MYPYPATH="pipeline:effects:tests")
