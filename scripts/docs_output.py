"""Writes what the commands in the pages of docs/ print now below them, and the settings into docs/configuration.md.

    python scripts/docs_output.py

A block of ```console holds commands, each behind `$ `, and what they print; `| head -n N` and `| tail -n N` shorten it.
$SESSION and $BROKEN are copies of pi-search.jsonl and pi-broken.jsonl in docs/examples, made anew for each block, and
$DIR the folder that they lie in. $SESSIONS is a folder with pi-search.jsonl and two sessions of the cost benchmark. The
store holds what a pass over $SESSION keeps. The test `tests/test_docs.py` fails where a page is out of date.
"""

import gzip
import os
import re
import shlex
import sys
import tempfile
from functools import cache
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(ROOT / "docs" / f"{name}.md" for name in ("cli", "audit", "how-it-decides", "configuration"))
RECORDED = ROOT / "benchmarks" / "cost" / "sessions"
EXAMPLES = ROOT / "docs" / "examples"
COPIES = {"$SESSION": "session.jsonl", "$BROKEN": "broken.jsonl"}
ORIGINALS = {"$SESSION": "pi-search.jsonl", "$BROKEN": "pi-broken.jsonl"}
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS = re.compile(r"(?<=<!-- settings:begin -->\n).*?(?=<!-- settings:end -->)", re.DOTALL)
PROMPT = "$ context-guard "
SHORTENED = re.compile(r" \| (head|tail) -n (\d+)$")
SECONDS = re.compile(r"\(\d+\.\d s;")
JUDGED = re.compile(r"embedded judge took [\d.]+ s")
STORED = re.compile(r"the store takes [\d.]+ kB")
"""How many pages a store takes is SQLite's, and differs between its versions."""
KEPT_AT = 1_750_000_000_000


def refreshed(page: str) -> str:
    """The page with the output of every command as it is now. The working directory has to be the repository's root."""
    from context_guard.settings_table import settings_table

    with_settings = SETTINGS.sub(lambda _: f"\n{settings_table()}\n", page)
    return BLOCK.sub(lambda found: f"```console\n{_session(found[1])}```", with_settings)


def _session(block: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for name, copy in COPIES.items():
            (Path(folder) / copy).write_bytes((EXAMPLES / ORIGINALS[name]).read_bytes())
        if "$SESSIONS" in block:
            _sessions(Path(folder) / "sessions")
        store = Path(folder) / "store.db"
        store.write_bytes(_store())
        store.chmod(0o600)
        commands = [line for line in block.split("\n") if line.startswith(PROMPT)]
        return "".join(f"{command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: str) -> str:
    from context_guard_effects.cli import main

    line = command.removeprefix(PROMPT).replace("$SESSIONS", f"{folder}/sessions").replace("$DIR", folder)
    for name, copy in COPIES.items():
        line = line.replace(name, f"{folder}/{copy}")
    shortened = SHORTENED.search(line)
    variables = {"COLUMNS": "120", "CONTEXT_GUARD_STORE": f"{folder}/store.db"}
    run = CliRunner().invoke(main, shlex.split(SHORTENED.sub("", line)), env=variables)
    output = run.output
    for name, copy in COPIES.items():
        output = output.replace(f"{folder}/{copy}", name)
    lines = output.replace(f"{folder}/sessions", "$SESSIONS").replace(folder, "$DIR").splitlines()
    if shortened is not None:
        count = int(shortened[2])
        lines = lines[:count] if shortened[1] == "head" else lines[-count:]
    text = "".join(f"{line}\n" for line in lines)
    text = JUDGED.sub("embedded judge took 1.0 s", text)
    return STORED.sub("the store takes 69.6 kB", SECONDS.sub("(0.1 s;", text))


def _sessions(folder: Path) -> None:
    folder.mkdir()
    (folder / "pi-search.jsonl").write_bytes((EXAMPLES / "pi-search.jsonl").read_bytes())
    for name in ("bug-hunt", "errands"):
        (folder / f"{name}.jsonl").write_bytes(gzip.decompress((RECORDED / f"{name}.jsonl.gz").read_bytes()))


@cache
def _store() -> bytes:
    """A store with the pass that the local judge makes over the example, as a host would keep it."""
    from context_guard.drafts import Append, Replace
    from context_guard.edit_log import LoggedPass, RawOutput, Replaced
    from context_guard.formats import pi
    from context_guard.recall import recall
    from context_guard_effects.cli.judging import judge_transcript
    from context_guard_effects.store import open_store

    transcript = pi.read((EXAMPLES / "pi-search.jsonl").read_bytes()).unwrap()
    distilled = judge_transcript(
        transcript, judge=None, config_file=None, settings=(), last_run=False, phase="run-end", now=None
    )
    drafts = distilled.settlement.drafts
    edits = tuple(Replaced(draft.target, draft.texts) for draft in drafts if isinstance(draft, Replace))
    (record,) = (draft.record for draft in drafts if isinstance(draft, Append))
    raws = tuple(RawOutput(id=edit.target, text=recall(transcript, edit.target).unwrap().raw) for edit in edits)
    pass_ = LoggedPass(witness="", edits=edits, record=record, session=transcript.session, time=KEPT_AT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with open_store(path, lambda: KEPT_AT) as store:
            store.keep(pass_, raws)
        return path.read_bytes()


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "pipeline"), str(ROOT / "effects")]
    os.chdir(ROOT)
    for page in PAGES:
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
