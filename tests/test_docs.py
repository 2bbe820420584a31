"""What the documents show is what happens: their Python runs, their commands print what stands below them."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from context_guard_effects.cli import COMMANDS
from context_guard_effects.cli.exits import EXIT_CODES

ROOT = Path(__file__).resolve().parents[1]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str, language: str) -> list[str]:
    path = ROOT / name
    return [code for found, code in FENCED.findall(path.read_text(encoding="utf-8")) if found == language]


SNIPPETS = [
    (name, number)
    for name in ("docs/hosts.md", "docs/judges.md", "docs/store.md", "README.md")
    for number in range(len(blocks(name, "python")))
]


@pytest.mark.parametrize(("name", "number"), SNIPPETS)
def test_a_snippet_runs_as_it_stands(name: str, number: int) -> None:
    """Pasted into a new interpreter in the root of the repository, with nothing defined before."""
    done = subprocess.run(
        [sys.executable, "-c", blocks(name, "python")[number]],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'pipeline'}:{ROOT / 'effects'}", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout


def test_hosts_shows_the_three_ways() -> None:
    """One call, own I/O between plan and settle, stage by stage."""
    one, own, staged = blocks("docs/hosts.md", "python")[:3]
    assert "trio.run(partial(distill" in one
    assert "trio" not in own
    assert "settle(planned" in own
    assert all(stage in staged for stage in ("find_spans", "pick_candidates", "pack_segments", "decide_output"))


@pytest.mark.parametrize("name", ["docs/cli.md", "docs/audit.md"])
def test_the_commands_print_what_the_page_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is up to date; `python scripts/docs_output.py` makes it so."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / name).read_text(encoding="utf-8")
    refreshed = runpy.run_path(str(ROOT / "scripts" / "docs_output.py"))["refreshed"]
    assert page == refreshed(page)


def test_cli_names_every_command_and_every_exit_code() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## {name}" not in text] == []
    codes = re.findall(r"^  (\d+) +(.+)$", EXIT_CODES, re.MULTILINE)
    assert [code for code in codes if f"| {code[0]} | {code[1]} |" not in text] == []


LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


@pytest.mark.parametrize("name", ["hosts", "frameworks", "cli", "judges", "reviewing", "store", "audit", "proxy", "scaling"])
def test_a_link_leads_somewhere(name: str) -> None:
    """Files that a page points at are there."""
    path = ROOT / "docs" / f"{name}.md"
    found = LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in found if not (path.parent / link).exists()] == []
