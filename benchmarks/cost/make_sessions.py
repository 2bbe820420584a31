"""Makes the long sessions in `sessions/` anew, by runs of real Pi with a scripted model.

    python -m benchmarks.cost.make_sessions [FOLDER]

    bug-hunt    one long run over a generated project with a defect in each of its modules, then two short prompts
    research    ten questions about a copy of this repository, by broad searches and long reads
    errands     many small prompts about both, with pauses between them

Pi, its tools, their outputs and all sizes are real. What the model says and calls is written below, and so are the
times: a scripted model answers at once, so afterwards every answer is taken to have needed 8 s, every call 3 s, and
every prompt came after the pause that its script gives. Paths of the machine become paths below /home/user.
"""

import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("pipeline", "tests")]

from docs.examples.make_pi_search import bash, copy_sources, machine_paths, neutral, read, work_folder  # noqa: E402
from outside.pi_driver import Pi, PiHome, install_pi  # noqa: E402
from outside.scripted_provider import Call, ScriptedProvider, Turn  # noqa: E402

FOLDER = Path(__file__).with_name("sessions")
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
ANSWER_SECONDS = 8
CALL_SECONDS = 3
LONGEST_RUN_SECONDS = 600.0
MODULES = 24
TESTS = 12


class Prompt(Struct, frozen=True):
    text: str
    turns: tuple[Turn, ...]
    pause: float = 1.0
    """Minutes since the answer before it."""


Script = Callable[[Path], tuple[Prompt, ...]]


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pi = install_pi()
    for name, script in {"bug-hunt": bug_hunt, "research": research, "errands": errands}.items():
        text = make_session(pi, script)
        target = folder / f"{name}.jsonl.gz"
        target.write_bytes(gzip.compress(text.encode(), mtime=0))
        requests = sum(1 for line in text.splitlines() if '"role":"assistant"' in line)
        print(f"{name}: {requests} requests, {len(text):,} characters, {target.stat().st_size:,} bytes")


def make_session(pi: Pi, script: Script) -> str:
    with work_folder() as folder, ScriptedProvider() as provider:
        project = folder / "work"
        make_project(project)
        copy_sources(project / "context-guard")
        home = PiHome(folder / ".pi", pi, provider.url)
        prompts = script(project)
        with home.start(project) as process:
            for prompt in prompts:
                provider.play(*prompt.turns)
                process.command("prompt", message=prompt.text)
                process.wait_for(lambda event: event.get("type") == "agent_settled", LONGEST_RUN_SECONDS)
                if provider.turns_left:
                    raise SystemExit(f"{provider.turns_left} turns were not asked for: {prompt.text}")
        (session,) = home.session_files()
        text = neutral(session.read_text(encoding="utf-8"), machine_paths(folder, pi))
    return with_times(text, [prompt.pause for prompt in prompts])


def with_times(session: str, pauses: Sequence[float]) -> str:
    """The session as a slower model and a user with pauses would have left it."""
    waits = iter(pauses)
    now = int(START.timestamp() * 1_000)
    lines = []
    for line in session.splitlines():
        entry = json.loads(line)
        message = entry.get("message", {})
        match message.get("role"):
            case "user":
                now += int(next(waits) * 60_000)
            case "assistant":
                now += ANSWER_SECONDS * 1_000
            case "toolResult":
                now += CALL_SECONDS * 1_000
        entry["timestamp"] = datetime.fromtimestamp(now / 1_000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
        if "timestamp" in message:
            message["timestamp"] = now
        lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def make_project(project: Path) -> None:
    """A package of modules that are all alike and all wrong in one place, with tests that show it."""
    (project / "shop").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "shop" / "__init__.py").write_text("")
    for number in range(MODULES):
        (project / "shop" / f"{module(number)}.py").write_text(module_text(number))
        (project / "tests" / f"test_{module(number)}.py").write_text(test_text(number))
    (project / "conftest.py").write_text("")


def module(number: int) -> str:
    return f"{('order', 'stock', 'price', 'route', 'label', 'claim')[number % 6]}_{number:02}"


def module_text(number: int) -> str:
    name = module(number)
    helpers = "\n\n".join(
        f"def {name}_step_{step}(values: list[int]) -> list[int]:\n"
        f'    """Step {step} of {step_count(number)}: keeps what is above {step * 3} and adds {step + number}."""\n'
        f"    kept = [value for value in values if value > {step * 3}]\n"
        f"    return [value + {step + number} for value in kept]\n"
        for step in range(step_count(number))
    )
    return (
        f'"""Part {number} of the shop: {name.replace("_", " ")}."""\n\nLIMIT = {10 + number}\n\n\n'
        f"def {name}_window(values: list[int]) -> list[int]:\n"
        f'    """The last LIMIT values, oldest first."""\n'
        f"    return values[-LIMIT + 1 :]\n\n\n{helpers}"
    )


def step_count(number: int) -> int:
    return 14 + number % 5


def test_text(number: int) -> str:
    name = module(number)
    tests = "\n\n".join(
        f"def test_{name}_window_of_{size}() -> None:\n"
        f"    values = list(range({size}))\n"
        f"    assert {name}_window(values) == values[-LIMIT:]\n"
        for size in range(number % 3, number % 3 + TESTS * 4, 4)
    )
    return f"from shop.{name} import LIMIT, {name}_window\n\n\n{tests}"


def bug_hunt(project: Path) -> tuple[Prompt, ...]:
    return (
        Prompt("Many tests fail. Find out why and fix all of them, module by module.", tuple(fix_all())),
        Prompt(
            "Which modules did you change, and is the whole suite green?",
            (
                Turn("Running everything once more.", [bash("python -m pytest -q 2>&1 | tail -n 40")]),
                Turn(f"All {MODULES} modules in shop/: each *_window function. The suite is green."),
            ),
            pause=2,
        ),
        Prompt(
            "Add a line on LIMIT to the docstring of shop/order_00.py.",
            (
                Turn("", [read("shop/order_00.py")]),
                Turn(
                    "",
                    [
                        edit(
                            "shop/order_00.py",
                            '"""The last LIMIT values, oldest first."""',
                            '"""The last LIMIT (10)."""',
                        )
                    ],
                ),
                Turn("Done: the docstring of order_00_window names LIMIT."),
            ),
            pause=3,
        ),
    )


def fix_all() -> Iterator[Turn]:
    yield Turn("First the state of things.", [bash("ls -R shop tests"), bash("python -m pytest -v 2>&1")])
    for number in range(MODULES):
        name = module(number)
        yield Turn(f"Next: {name}.", [read(f"shop/{name}.py"), read(f"tests/test_{name}.py")])
        yield Turn(
            "The slice drops one value too many: -LIMIT + 1 has to be -LIMIT.",
            [edit(f"shop/{name}.py", "return values[-LIMIT + 1 :]", "return values[-LIMIT:]")],
        )
        yield Turn("", [bash(f"python -m pytest -v tests/test_{name}.py 2>&1")])
        if number % 6 == 5:
            yield Turn("How far are we?", [bash("python -m pytest -v 2>&1")])
    yield Turn(
        "All tests pass now. In every module the *_window function cut with `values[-LIMIT + 1 :]`, one value short; "
        "it is `values[-LIMIT:]` now."
    )


TOPICS = (
    ("candidate", "candidates.py", "span.py", "small.py"),
    ("cache", "cache/layout.py", "cache/costs.py", "cache/prices.py"),
    ("threshold", "config.py", "keep_sets.py", "decisions.py"),
    ("exchange", "exchanges.py", "gates.py", "whole.py"),
    ("chunk", "chunks.py", "segments.py", "render.py"),
    ("recall", "recall.py", "pages.py", "savings.py"),
    ("judge", "requests.py", "answers.py", "wording.py"),
    ("redact|secret", "redact.py", "secret_rules.py", "fence.py"),
    ("image", "images.py", "sizes.py", "transcript.py"),
    ("checkpoint", "checkpoint.py", "items.py", "memory.py"),
)
CODE = "context-guard/pipeline/context_guard"


def research(project: Path) -> tuple[Prompt, ...]:
    return tuple(
        Prompt(
            f"How does this code base deal with: {topic.split('|')[0]}? Name the functions.", ask(project, topic, files)
        )
        for topic, *files in TOPICS
    )


def ask(project: Path, topic: str, files: list[str]) -> tuple[Turn, ...]:
    paths = [f"{CODE}/{name}" for name in files if (project / CODE / name).is_file()]
    return (
        Turn(
            "Searching broadly.",
            [bash(f"grep -rniE '{topic}' --include='*.py' context-guard | cut -c1-160 | head -n 400")],
        ),
        Turn(
            "Now where it is defined.", [bash(f"grep -rnE '^(class|def) .*({topic})' --include='*.py' context-guard")]
        ),
        *(Turn(f"Reading {path.rpartition('/')[2]}.", [read(path)]) for path in paths),
        Turn("And what the tests say.", [bash(f"grep -rliE '{topic}' context-guard/tests | head -n 30")]),
        Turn("", [bash(f"grep -rnE 'def test_.*({topic})' context-guard/tests | head -n 60")]),
        Turn(f"In short: {'; '.join(found for path in paths for found in definitions(project, path))}."),
    )


def definitions(project: Path, path: str) -> list[str]:
    """The first public functions of a file, as an answer cites them."""
    lines = (project / path).read_text(encoding="utf-8").splitlines()
    found = [(number, match[1]) for number, line in enumerate(lines, 1) if (match := re.match(r"def ([a-z]\w+)", line))]
    return [f"`{name}` ({path}:{number})" for number, name in found[:3]]


PAUSES = (1, 2, 12, 1, 3, 45, 1, 2, 7, 4, 1, 1, 90, 2, 1, 8, 3, 1, 20, 1, 2, 1, 6, 1)


def errands(project: Path) -> tuple[Prompt, ...]:
    return tuple(errand(project, number, pause) for number, pause in enumerate(PAUSES))


def errand(project: Path, number: int, pause: float) -> Prompt:
    name = module(number)
    topic, *files = TOPICS[number % len(TOPICS)]
    path = f"{CODE}/{files[number % len(files)]}"
    match number % 4:
        case 0:
            return Prompt(
                f"Does {name} pass its tests?",
                (
                    Turn("", [bash(f"python -m pytest -v tests/test_{name}.py 2>&1")]),
                    Turn("", [read(f"shop/{name}.py")]),
                    Turn(f"No: {name}_window returns one value too few; it cuts with -LIMIT + 1."),
                ),
                pause,
            )
        case 1:
            return Prompt(
                f"Where is {topic.split('|')[0]} mentioned most?",
                (
                    Turn("", [bash(f"{search(topic)} | cut -c1-140 | head -n 250")]),
                    Turn("", [bash(f"{search(topic, '-rciE')} | sort -t: -k2 -nr | head -n 8")]),
                    Turn(f"In {files[0]}, by far."),
                ),
                pause,
            )
        case 2:
            return Prompt(
                f"What are the public functions of {path}?",
                (Turn("", [read(path)]), Turn(f"{'; '.join(definitions(project, path))}.")),
                pause,
            )
        case _:
            return Prompt(
                f"Fix {name}.",
                (
                    Turn("", [read(f"shop/{name}.py")]),
                    Turn("", [edit(f"shop/{name}.py", "return values[-LIMIT + 1 :]", "return values[-LIMIT:]")]),
                    Turn("", [bash(f"python -m pytest -v tests/test_{name}.py 2>&1")]),
                    Turn(f"{name}_window returns the last LIMIT values now; its tests pass."),
                ),
                pause,
            )


def search(topic: str, options: str = "-rniE") -> str:
    return f"grep {options} '{topic}' --include='*.py' context-guard/pipeline"


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "edits": [{"oldText": old, "newText": new}]})


if __name__ == "__main__":
    main(sys.argv[1:])
