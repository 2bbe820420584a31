"""Takes docs/pi.svg: real Pi in a terminal with the guard in it, after a run and `/guard`.

    python scripts/pi_picture.py [FILE]

Needs tmux and what scripts/install_pi.sh needs. Pi, its tools and the guard are real; the words of its model are
scripted, and the project is made up.
"""

import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("pipeline", "effects", "tests")]

from outside.pi_driver import PiHome, install_pi  # noqa: E402
from outside.scripted_provider import Call, Request, Script, ScriptedProvider, Turn  # noqa: E402
from outside.shop import make_shop  # noqa: E402

WIDTH, HEIGHT = 118, 46
SESSION = "context-guard-picture"
QUESTION = "Where is the default timeout of the HTTP client set, and to what?"
SEARCH = "grep -rn timeout shop | sort"
ANSWER = "`shop/http/defaults.py:3` sets it: `DEFAULT_TIMEOUT = 12.5`, in seconds."


def tmux(*words: str) -> str:
    return subprocess.run(["tmux", *words], check=True, capture_output=True, text=True).stdout


def screen() -> str:
    return tmux("capture-pane", "-p", "-e", "-t", SESSION)


def wait_for(text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in screen():
        if time.monotonic() > deadline:
            raise SystemExit(f"{text!r} never came:\n{screen()}")
        time.sleep(0.2)


def type_in(text: str) -> None:
    tmux("send-keys", "-t", SESSION, "-l", text)
    time.sleep(0.3)
    tmux("send-keys", "-t", SESSION, "Enter")


def run(home: PiHome, project: Path) -> str:
    environment = [f"{name}={value}" for name, value in home.environment().items()]
    command = home.command("--session-dir", str(home.sessions))
    tmux(
        *("new-session", "-d", "-s", SESSION, "-x", str(WIDTH), "-y", str(HEIGHT), "-c", str(project)),
        *("env", "-i", "TERM=tmux-256color", "COLORTERM=truecolor", *environment, *command),
    )
    try:
        wait_for("0 saved")
        type_in(QUESTION)
        wait_for("−")
        time.sleep(1)
        type_in("Is it set anywhere else?")
        wait_for("one line sets it")
        time.sleep(1)
        type_in("/guard")
        wait_for("Last run by")
        time.sleep(1)
        return screen()
    finally:
        tmux("kill-session", "-t", SESSION)


def recall_it(request: Request) -> Turn:
    """The model asks for what the note in its context offers."""
    (note,) = request.results().values()
    entry = re.findall(r'"entryId":"(\w+)"', note)[0]
    call = Call("recall", {"entryId": entry, "pattern": "DEFAULT_TIMEOUT =", "limit": 5})
    return Turn("I'll look at the full search again.", [call])


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pi.svg"
    with tempfile.TemporaryDirectory() as name:
        project = make_shop(Path(name) / "project")
        turns: list[Script] = [
            Turn("I'll search for it.", [Call("bash", {"command": SEARCH})]),
            Turn(ANSWER),
            recall_it,
            Turn("No, only one line sets it."),
        ]
        with ScriptedProvider(turns) as provider:
            home = PiHome(Path(name) / "home", install_pi(), provider.url)
            home.install_guard()
            shown = run(home, project)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(shown.replace(name, "~").rstrip()))
    # Without the font that rich would fetch from elsewhere when somebody looks at the picture.
    plain = re.sub(r"@font-face \{\{.*?\n    \}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(str(target), title="Pi with the context guard", code_format=plain)


if __name__ == "__main__":
    main()
