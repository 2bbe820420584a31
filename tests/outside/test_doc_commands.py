"""Commands of README.md, pi.md, agents.md and proxy.md that install something: in a copy of the project, an
environment and a home of their own."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doc_pages import PAGES, Example, examples

from outside.conftest import ROOT

pytestmark = pytest.mark.outside

RUNNER = "tests/outside/test_doc_commands.py"
MARKED = [it for page in PAGES for it in examples(page) if it.run_by == RUNNER]
SERVES = "context-guard proxy"
LISTENS_WITHIN_S = 60
MOVES = ("CLAUDE_", "CODEX_", "PI_", "XDG_", "CONTEXT_GUARD_", "PYTHON", "VIRTUAL_ENV")
"""Variables by which something would be found or written elsewhere than in the home."""
NO_INDEX = "No matching distribution found"


class World:
    """A clone as a user has it."""

    def __init__(self, folder: Path) -> None:
        self.clone, self.home = folder / "clone", folder / "home"
        ignored = shutil.ignore_patterns(".*", "build", "tests", "snapshots", "benchmarks", "__pycache__")
        shutil.copytree(ROOT, self.clone, ignore=ignored)
        self.home.mkdir()
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        path = os.pathsep.join([str(folder / "venv" / "bin"), os.environ["PATH"]])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(MOVES)}
        self.environment = {**kept, "PATH": path, "HOME": str(self.home), "PYTHONUNBUFFERED": "1"}

    def run(self, line: str) -> "subprocess.CompletedProcess[str]":
        """Agrees to whatever is asked."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.clone,
            env=self.environment,
            input="y\n" * 4,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def serve(self, line: str) -> str:
        """What it says until it listens; then it is told to end."""
        said = self.home / "said"
        with said.open("w") as file:
            running = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=self.clone, env=self.environment, stdout=file, stderr=file
            )
        try:
            until = time.monotonic() + LISTENS_WITHIN_S
            while "http://127.0.0.1:" not in said.read_text() and running.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            running.terminate()
            running.wait(30)
        return said.read_text()


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("docs"))
    first = world.run("pip install --quiet --disable-pip-version-check .")
    if NO_INDEX in first.stderr:
        pytest.skip(f"a package index is needed: {first.stderr.strip()[-300:]}")
    assert first.returncode == 0, first.stderr
    return world


@pytest.mark.parametrize("example", MARKED, ids=str)
def test_commands_install_and_serve(clone: World, example: Example) -> None:
    """Each line ends well; the proxy prints its address."""
    for line in example.code.splitlines():
        if line == SERVES:
            assert "http://127.0.0.1:8484" in clone.serve(line)
            continue
        done = clone.run(line)
        assert done.returncode == 0, (line, done.stdout, done.stderr)


def test_what_was_installed_stands_in_the_home(clone: World) -> None:
    """After all of them: Claude Code's base URL is the proxy; Pi's extension was taken out again."""
    assert "127.0.0.1:8484" in (clone.home / ".claude" / "settings.json").read_text()
    assert list((clone.home / ".pi").rglob("*.js")) == []
