"""Writes what the commands in docs/cli.md print now below them.

    python scripts/docs_output.py

A block of ```console holds commands, each behind `$ `, and what they print; `| head -n N` and `| tail -n N` shorten it.
$SESSION and $BROKEN are copies of pi-search.jsonl and pi-broken.jsonl in docs/examples, made anew for each block, and
$DIR the folder that they lie in. The test `tests/test_docs.py` fails where the page is out of date.
"""

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
EXAMPLES = ROOT / "docs" / "examples"
COPIES = {"$SESSION": "session.jsonl", "$BROKEN": "broken.jsonl"}
ORIGINALS = {"$SESSION": "pi-search.jsonl", "$BROKEN": "pi-broken.jsonl"}
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ context-guard "
SHORTENED = re.compile(r" \| (head|tail) -n (\d+)$")
SECONDS = re.compile(r"\(\d+\.\d s;")


def refreshed(page: str) -> str:
    """The page with the output of every command as it is now. The working directory has to be the repository's root."""
    return BLOCK.sub(lambda found: f"```console\n{_session(found[1])}```", page)


def _session(block: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for name, copy in COPIES.items():
            (Path(folder) / copy).write_bytes((EXAMPLES / ORIGINALS[name]).read_bytes())
        commands = [line for line in block.split("\n") if line.startswith(PROMPT)]
        return "".join(f"{command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: str) -> str:
    from context_guard_effects.cli import main

    line = command.removeprefix(PROMPT).replace("$DIR", folder)
    for name, copy in COPIES.items():
        line = line.replace(name, f"{folder}/{copy}")
    shortened = SHORTENED.search(line)
    run = CliRunner().invoke(main, shlex.split(SHORTENED.sub("", line)), env={"COLUMNS": "120"})
    output = run.output
    for name, copy in COPIES.items():
        output = output.replace(f"{folder}/{copy}", name)
    lines = output.replace(folder, "$DIR").splitlines()
    if shortened is not None:
        count = int(shortened[2])
        lines = lines[:count] if shortened[1] == "head" else lines[-count:]
    return SECONDS.sub("(0.1 s;", "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects")]
    os.chdir(ROOT)
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
