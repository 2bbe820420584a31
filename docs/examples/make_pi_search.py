"""Makes `pi-search.jsonl` anew: a session of real Pi over a copy of this repository.

    python docs/examples/make_pi_search.py                  a question and a short follow-up
    python docs/examples/make_pi_search.py --one-prompt     the question alone

Pi, its tools and their outputs are real; the model is not: what it says and which tools it calls is written below. Line
numbers in its answers are looked up in the files when the script runs, and the script fails when an answer cites what
no tool showed. Afterwards the paths of the machine become paths below /home/user; nothing else is changed or left out.

Needs npm (once, for Pi) and an environment with the `test` extra.
"""

import json
import platform
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / folder) for folder in ("pipeline", "tests")]

from outside.pi_driver import Pi, PiHome, install_pi  # noqa: E402
from outside.scripted_provider import Call, ScriptedProvider, Turn  # noqa: E402

from context_guard.config import Config  # noqa: E402  (needs the path above)

OUTPUT = Path(__file__).with_name("pi-search.jsonl")
NEUTRAL = "/home/user"

SEARCHED = ("pipeline", "effects", "tests", "docs")
TERMS = ("edit|config|setting|result", "edit|config|setting", "edit|config", "edit|exclude|raw", "edit|exclude", "edit")
LARGEST_SHOWN = 50 * 1024
"""Bytes of a shell output that Pi shows; of a longer one it shows the end, and the search's hits would be gone."""
SMALLEST_BROAD = 30 * 1024

QUESTION = "Where is decided whether a tool output may be edited, and which settings play a part?"
FOLLOW_UP = "And what happens with a value out of range, or a settings file that is no JSON object?"

CANDIDATES = "pipeline/context_guard/candidates.py"
SPAN = "pipeline/context_guard/span.py"
CONFIG = "pipeline/context_guard/config.py"


def main(arguments: list[str]) -> None:
    if arguments not in ([], ["--one-prompt"]):
        raise SystemExit(__doc__)
    prompts = [QUESTION] if arguments else [QUESTION, FOLLOW_UP]
    pi = install_pi()
    with work_folder() as folder:
        project = folder / "context-guard"
        copy_sources(project)
        session = run_session(pi, folder / ".pi", project, prompts)
        text = neutral(session.read_text(encoding="utf-8"), machine_paths(folder, pi))
        check_citations(text, project_lines(project))
    OUTPUT.write_text(text, encoding="utf-8")
    print(f"{OUTPUT.relative_to(REPO)}: {len(text.encode()):,} bytes, {len(text.splitlines())} lines")


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder with a path as long as its neutral name, where that can be: sizes in the session stay true."""
    parent = Path(tempfile.gettempdir()).resolve()
    folder = parent / secrets.token_hex(8)[: max(5, len(NEUTRAL) - len(f"{parent}/"))]
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def copy_sources(project: Path) -> None:
    """The files that git knows or would add, without the examples: they would find themselves."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPO,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (REPO / name).is_file() and not name.startswith("docs/examples/"):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPO / name, project / name)


def run_session(pi: Pi, home_folder: Path, project: Path, prompts: list[str]) -> Path:
    """The file of the session in which Pi was given the prompts, one after the other."""
    runs = {QUESTION: first_run, FOLLOW_UP: second_run}
    with ScriptedProvider() as provider:
        home = PiHome(home_folder, pi, provider.url)
        with home.start(project) as process:
            for prompt in prompts:
                provider.play(*runs[prompt](project))
                process.prompt(prompt)
                if provider.turns_left:
                    raise SystemExit(f"{provider.turns_left} turns were not asked for: {prompt}")
    (session,) = home.session_files()
    return session


def first_run(project: Path) -> list[Turn]:
    defaults = Config()
    may_edit = cite(project, CANDIDATES, r"^def may_edit\(")
    is_large = cite(project, CANDIDATES, r"^def is_large\(")
    pick = cite(project, CANDIDATES, r"^def pick_candidates\(")
    is_raw = cite(project, SPAN, r"^\s+is_raw=")
    excluded = ", ".join(f"`{tool}`" for tool in defaults.exclude_tools)
    tests = [name for name in ("tests/test_candidates.py", "tests/test_config.py") if (project / name).is_file()]
    answer = f"""\
`may_edit` decides it ({may_edit}). An output may be edited when all of this holds:

- The model sees it as the host stored it: no edit is in force on it, so that recall can give all of it back ({is_raw}).
- It is text only.
- Its tool is not in `excludeTools` ({setting(project, "exclude_tools")}; by default {excluded}).
- It is no error, unless `distillErrors` is on ({setting(project, "distill_errors")}; it is on by default).

Two more settings decide whether such an output is judged in chunks: `is_large` ({is_large}) wants at least \
`minResultChars` ({setting(project, "min_result_chars")}; {defaults.min_result_chars:,}) characters, and \
`pick_candidates` ({pick}) returns none when the large outputs of the run together have fewer than `minRunChars` \
({setting(project, "min_run_chars")}; {defaults.min_run_chars:,})."""
    return [
        Turn("I'll search broadly first.", [bash(broad_search(project))]),
        Turn(
            "The candidates and the settings look right. Reading both, and what else there is.",
            [bash("ls pipeline/context_guard effects/context_guard_effects"), read(CANDIDATES), read(CONFIG)],
        ),
        Turn("Where does `is_raw` come from?", [read(SPAN)]),
        *(
            [Turn("Checking against the tests.", [bash(f"python -m pytest -v {' '.join(tests)} 2>&1")])]
            if tests
            else []
        ),
        Turn(answer),
    ]


def second_run(project: Path) -> list[Turn]:
    key = "minResultChars"
    out_of_range = (
        f"from context_guard.settings import parse_config; print(parse_config('{{\\\"{key}\\\": -1}}').unwrap())"
    )
    no_object = "from context_guard.settings import parse_config; print(parse_config('[]').unwrap())"
    convert = cite(project, CONFIG, r"^def apply_settings\(")
    fails = cite(project, CONFIG, r"^def _read_object\(")
    answer = f"""\
A value out of range costs only itself: `apply_settings` ({convert}) keeps the default and adds a warning that names \
the key, the value and the range; above, `{key}` stayed {Config().min_result_chars:,}. A text that is no JSON object \
fails as a whole: `_read_object` ({fails}) returns a `Failure` with a `ConfigError`, which `unwrap` raised on."""
    return [
        Turn(
            "Trying both.",
            [
                bash(f'PYTHONPATH=pipeline python -c "{out_of_range}"'),
                bash(f'PYTHONPATH=pipeline python -c "{no_object}"'),
            ],
        ),
        Turn(answer),
    ]


def broad_search(project: Path) -> str:
    """The broadest search that Pi shows whole, as the code is now."""
    present = [folder for folder in SEARCHED if (project / folder).is_dir()]
    for folders in (present[:count] for count in range(len(present), 0, -1)):
        for terms in TERMS:
            command = f"grep -rniE '{terms}' --include='*.py' --include='*.md' {' '.join(folders)}"
            found = subprocess.run(["bash", "-c", command], cwd=project, check=False, capture_output=True).stdout
            if SMALLEST_BROAD <= len(found) < LARGEST_SHOWN and found.count(b"\n") < 2_000:
                return command
    raise SystemExit("no search is broad and yet shown whole: change TERMS")


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


def read(path: str) -> Call:
    return Call("read", {"path": path})


def cite(project: Path, path: str, pattern: str) -> str:
    """`path:line` of the one line of a file that has the pattern."""
    lines = (project / path).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, start=1) if re.search(pattern, line))
    return f"{path}:{found}"


def setting(project: Path, name: str) -> str:
    return cite(project, CONFIG, rf"^    {name}: ")


def machine_paths(folder: Path, pi: Pi) -> dict[str, str]:
    """What stands for the places of this machine; a place inside another one comes first."""
    installed = next(parent for parent in pi.cli.parents if parent.name == "node_modules").parent
    places = {str(folder): NEUTRAL, str(installed): f"{NEUTRAL}/.cache/context-guard/{installed.name}"}
    if sys.prefix != sys.base_prefix:
        places[sys.prefix] = f"{NEUTRAL}/context-guard/.venv"
    places[sys.base_prefix] = "/usr"
    return dict(sorted(places.items(), key=lambda place: -len(place[0])))


def neutral(session: str, places: dict[str, str]) -> str:
    for place, stand_in in places.items():
        session = re.sub(rf"{re.escape(place)}(?=[/\"\\\s])", stand_in, session)
    traces = [f"{Path.home()}/", f"{REPO}/", *(f"{place}/" for place in places if place not in places.values())]
    left = [trace for trace in (*traces, platform.node()) if len(trace) > 3 and trace in session]
    if left:
        raise SystemExit(f"the session still names places of this machine: {left}")
    return session


def check_citations(session: str, lines: dict[str, str]) -> None:
    """Every `path:line` of an answer must be a line that a tool output of the session holds."""
    messages = [entry["message"] for entry in map(json.loads, session.splitlines()) if entry["type"] == "message"]
    shown = "\n".join(text_of(message) for message in messages if message["role"] == "toolResult")
    said = "\n".join(text_of(message) for message in messages if message["role"] == "assistant")
    cited = set(re.findall(r"[\w./]+\.py:\d+", said))
    if missing := sorted(place for place in cited if lines[place] not in shown):
        raise SystemExit(f"cited, but shown by no tool: {missing}")


def project_lines(project: Path) -> dict[str, str]:
    return {
        f"{path.relative_to(project)}:{number}": line
        for path in project.glob("pipeline/**/*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    }


def text_of(message: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


if __name__ == "__main__":
    main(sys.argv[1:])
