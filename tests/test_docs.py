"""What the documents show is what happens: their Python and their commands run, their links lead somewhere."""

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio
from command_line import guard
from doc_pages import PAGES, ROOT, Example, anchors, examples, links
from test_reviewing import checkout

from context_guard.config import Config
from context_guard.settings_table import GROUPS, settings_table
from context_guard_effects.cli import COMMANDS
from context_guard_effects.cli.exits import EXIT_CODES
from context_guard_effects.testing import fake_system_one

ALL = tuple(example for page in PAGES for example in examples(page))
HERE = tuple(example for example in ALL if not (example.run_by or example.by_hand))
PRINTING = ("docs/cli.md", "docs/audit.md", "docs/how-it-decides.md")
FINDS_DIFFERENCES = re.compile(r"context-guard (replay|diff) ")
ENTRY = "dfb6760b"


def of_language(*languages: str) -> list[Example]:
    return [example for example in HERE if example.language in languages]


@pytest.mark.parametrize("example", of_language("python"), ids=str)
def test_a_snippet_runs_as_it_stands(example: Example) -> None:
    """Pasted into a new interpreter in the root of the repository, with nothing defined before."""
    done = subprocess.run(
        [sys.executable, "-c", example.code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'pipeline'}:{ROOT / 'effects'}", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout


@pytest.mark.parametrize("example", of_language("sh"), ids=str)
def test_commands_run_as_they_stand(example: Example, tmp_path: Path) -> None:
    """In a checkout with what they name: SESSION, ENTRY; a remote judge is a scripted one."""
    make_world(tmp_path, example.code)

    async def run() -> list[tuple[str, int, str]]:
        done = []
        async with fake_system_one() as server:
            variables = {"TYPESAFE_BASE_URL": server.url, "TYPESAFE_API_KEY": server.key}
            for line in re.sub(r"\bENTRY\b", ENTRY, example.code).splitlines():
                ran = await trio.run_process(
                    ["bash", "-c", line],
                    cwd=tmp_path,
                    env={**os.environ, **variables, **world(tmp_path)},
                    check=False,
                    capture_stdout=True,
                    capture_stderr=True,
                )
                done.append((line, ran.returncode, (ran.stdout + ran.stderr).decode()))
        return done

    done = trio.run(run)
    assert done
    failed = [it for it in done if it[1] not in ((0, 1) if FINDS_DIFFERENCES.match(it[0]) else (0,))]
    assert failed == []


def make_world(folder: Path, code: str) -> None:
    """What `code` names, and no more: some of it takes a while to make."""
    checkout(folder)
    programs(folder / "bin")
    session = (ROOT / "docs" / "examples" / "pi-search.jsonl").read_bytes()
    (folder / "sessions").mkdir()
    for name in ("SESSION", "SESSION.jsonl", "sessions/one.jsonl"):
        (folder / name).write_bytes(session)
    (folder / "labels.json").write_text(json.dumps({"one.jsonl": {ENTRY: [[1, 9]]}}))
    if "pytest" in code:
        for name in ("tests/cases", "snapshots"):
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    if "store" in code:
        (folder / "store.db").write_bytes(docs_output()["_store"]())
        (folder / "store.db").chmod(0o600)
    if "traces" in code:
        for name, threshold in (("old", "0.6"), ("new", "0.5")):
            setting = ["--set", f"chunkKeepThreshold={threshold}"]
            made = guard("trace", folder / "SESSION", "-o", folder / f"{name}-traces" / "one.json", *setting)
            assert made.exit_code == 0, made.stderr


def programs(folder: Path) -> None:
    folder.mkdir()
    for name, module in (("context-guard", "context_guard_effects.cli"), ("pytest", "pytest")):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        (folder / name).chmod(0o755)


@cache
def docs_output() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "docs_output.py"))


def world(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join((str(folder / "bin"), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(str(folder / name) for name in ("pipeline", "effects")),
        "PYTHONIOENCODING": "utf-8",
        "HOME": str(folder),
        "CONTEXT_GUARD_STORE": str(folder / "store.db"),
    }


def test_every_example_is_run_or_says_why_not() -> None:
    """Code names its language; one that the base suite does not run names who does, or why nobody can."""
    assert {example.language for example in ALL} == {"python", "py", "sh", "console", "text", "json"}
    for example in ALL:
        if example.run_by:
            runner = (ROOT / example.run_by).read_text(encoding="utf-8")
            name = Path(example.page).name
            assert name in runner or example.code.strip() in runner, str(example)
    assert {str(it.page) for it in ALL if it.language == "py"} == {"docs/frameworks.md"}
    assert {it.page for it in ALL if it.language == "console"} == set(PRINTING)


def test_what_nobody_runs_is_known() -> None:
    by_hand = [(it.page, it.by_hand) for it in ALL if it.by_hand]
    assert by_hand == [
        ("CONTRIBUTING.md", ".ci/run does the same in a folder of its own"),
        ("docs/audit.md", "needs an object store and a cluster"),
        ("docs/benchmark.md", "minutes to an hour"),
        ("docs/benchmark.md", "the labelled sessions are not in the project"),
        ("docs/deploy.md", "needs Docker"),
        ("docs/frameworks.md", "needs Python 3.12, and was not run"),
        (
            "docs/store.md",
            "they need a server of yours; tests/outside/test_postgres.py does the same on one of its own",
        ),
    ]
    for example in ALL:
        if example.by_hand and example.language == "python":
            ast.parse(example.code)


@pytest.mark.parametrize("example", of_language("json"), ids=str)
def test_data_can_be_read(example: Example) -> None:
    assert json.loads(example.code)


def test_hosts_shows_the_three_ways() -> None:
    """One call, own I/O between plan and settle, stage by stage."""
    one, own, staged = [it.code for it in examples("docs/hosts.md") if it.language == "python"][:3]
    assert "trio.run(partial(distill" in one
    assert "trio" not in own
    assert "settle(planned" in own
    assert all(stage in staged for stage in ("find_spans", "pick_candidates", "pack_segments", "decide_output"))


@pytest.mark.parametrize("name", [*PRINTING, "docs/configuration.md"])
def test_a_page_shows_what_the_program_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is up to date; `python scripts/docs_output.py` makes it so."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page == docs_output()["refreshed"](page)


def test_every_setting_has_one_row() -> None:
    keys = [key for _, keys in GROUPS for key in keys]
    assert sorted(keys) == sorted(Config.__struct_encode_fields__)
    assert re.findall(r"^\| `(\w+)` \|", settings_table(), re.MULTILINE) == keys


def test_cli_names_every_command_and_every_exit_code() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## {name}" not in text] == []
    codes = re.findall(r"^  (\d+) +(.+)$", EXIT_CODES, re.MULTILINE)
    assert [code for code in codes if f"| {code[0]} | {code[1]} |" not in text] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_link_leads_somewhere(page: str) -> None:
    """Files that a page points at are there, and so are the headings."""
    broken = []
    for _, target in links(page):
        file, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / file).resolve() if file else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(str(path.relative_to(ROOT)))):
            broken.append(target)
    assert broken == []


def test_the_site_has_every_page_once() -> None:
    """And no page links out of the folder that the site is made of."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    shown = re.findall(r'"(\S+\.md)"', json.dumps(site["nav"]))
    assert sorted(shown) == sorted(page.removeprefix("docs/") for page in PAGES if page.startswith("docs/"))
    assert [link for page in PAGES if page.startswith("docs/") for link in links(page) if ".." in link.target] == []
