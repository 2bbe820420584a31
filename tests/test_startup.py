"""What starting up loads: only what the work at hand needs. Times are for `benchmarks/startup.py`."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "pi-search.jsonl"


def loaded(code: str) -> set[str]:
    """The modules, and above them the packages, that the code leaves loaded in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")])},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = done.stderr.split()
    return {*names, *(name.partition(".")[0] for name in names)}


def command(*words: str) -> str:
    return (
        "from context_guard_effects.cli import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit as ended:\n    assert ended.code == 0"
    )


def test_the_package_loads_the_stages_and_msgspec() -> None:
    """No I/O, no command line, no regular expressions in C++, no images, no format and no judge."""
    found = loaded("import context_guard")
    assert found.isdisjoint({"trio", "httpx", "click", "rich", "re2", "imagesize", "asyncio", "returns"})
    assert found.isdisjoint({"context_guard.formats", "context_guard.local_judge", "context_guard.trace"})
    assert {"context_guard.stages", "msgspec"} <= found


def test_distill_with_the_embedded_judge_loads_no_client() -> None:
    """Nothing for a network is there, so nothing can go out; no pattern is matched."""
    assert loaded(command("distill", str(EXAMPLE))).isdisjoint({"httpx", "httpcore", "re2", "asyncio"})


def test_commands_that_judge_nothing_load_no_loop() -> None:
    for words in (["status", str(EXAMPLE)], ["recall", str(EXAMPLE), "a25606b9"], ["stage", "span", str(EXAMPLE)]):
        assert loaded(command(*words)).isdisjoint({"trio", "httpx", "rich", "ssl"}), words
