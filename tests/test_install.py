"""`context-guard install pi`: the file, its content, and that uninstalling leaves nothing behind."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from context_guard_effects.cli import main
from context_guard_effects.hosts.pi_install import extension_path, extension_text


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "pi" / "agent"
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folder))
    return folder


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == code, done.output
    return done.output


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_uninstalling_leaves_no_trace(agent: Path, tmp_path: Path) -> None:
    """Neither file nor folder, where there was none before; what others put there stays."""
    before = tree(tmp_path)
    assert "wrote" in run("install", "pi")
    assert (agent / "extensions" / "context-guard.js").is_file()
    assert "removed" in run("uninstall", "pi")
    assert before == tree(tmp_path)

    run("install", "pi")
    (agent / "extensions" / "mine.js").write_text("mine")
    run("install", "pi")
    run("uninstall", "pi")
    assert [path.name for path in (agent / "extensions").iterdir()] == ["mine.js"]


def test_a_dry_run_writes_nothing(agent: Path, tmp_path: Path) -> None:
    assert "would write" in run("install", "pi", "--dry-run")
    assert tree(tmp_path) == {}
    run("install", "pi")
    before = tree(tmp_path)
    assert "would remove" in run("uninstall", "pi", "--dry-run")
    assert before == tree(tmp_path)


def test_installing_again_brings_an_older_file_up_to_date(agent: Path) -> None:
    run("install", "pi")
    path = agent / "extensions" / "context-guard.js"
    new = path.read_text()
    assert "is up to date" in run("install", "pi")
    path.write_text(new.replace("QUICK_MS = 2_000", "QUICK_MS = 1_000"))
    assert "updated" in run("install", "pi")
    assert new == path.read_text()


def test_a_file_of_somebody_else_stays(agent: Path) -> None:
    path = agent / "extensions" / "context-guard.js"
    path.parent.mkdir(parents=True)
    path.write_text("export default function () {}")
    assert "is not ours" in run("install", "pi", code=4)
    assert "is not ours" in run("uninstall", "pi", code=4)
    assert path.read_text() == "export default function () {}"


def test_both_guards_at_once_are_a_warning(agent: Path) -> None:
    """The original would judge everything a second time."""
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text('{"packages": ["npm:pi-context-guard-jev"]}')
    assert "pi remove npm:pi-context-guard-jev" in run("install", "pi")


def test_the_extension_starts_this_python_and_takes_nothing_from_the_project() -> None:
    """Its interpreter is written into it, and `-P` keeps modules of Pi's folder out."""
    text = extension_text()
    assert text.splitlines()[0] == extension_text().splitlines()[0]
    (command,) = re.findall(r"^const COMMAND = (.*);$", text, re.MULTILINE)
    assert f'["{sys.executable}", "-P", "-m", "context_guard_effects.cli", "bridge"]' == command
    assert extension_path({"PI_CODING_AGENT_DIR": "/a"}) == Path("/a/extensions/context-guard.js")
