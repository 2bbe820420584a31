"""How long the guard takes to start: `import context_guard`, and `distill` of a 250 KB session, start-up included.

    python benchmarks/startup.py [--rounds 10] [--kilobytes 250]

Every round is a process of its own. Prints the best and the median, in wall time and in CPU time, beside a Python that
does nothing, and what the import is made of. The aims are 100 ms for the import (as `python -X importtime` counts it)
and 1 s of CPU for `distill`.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "docs" / "examples" / "pi-search.jsonl"
LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")
SHOWN = 12


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=10)
    arguments.add_argument("--kilobytes", type=int, default=250)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Compiled files of its own: an environment that writes none would compile the sources each time.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "pipeline"), str(ROOT / "effects")]),
            "PYTHONPYCACHEPREFIX": folder,
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        session = Path(folder) / "session.jsonl"
        session.write_bytes(long_session(given.kilobytes * 1_000))
        distill = ["-m", "context_guard_effects.cli", "distill", str(session)]
        commands = {"python -c pass": ["-c", "pass"], "import context_guard": ["-c", "import context_guard"]}
        commands[f"distill {session.stat().st_size / 1_000:.0f} KB"] = distill
        print(f"{'':24} {'wall best':>10} {'median':>8} {'CPU best':>10} {'median':>8}")
        for name, command in commands.items():
            times = [run(command, environment) for _ in range(given.rounds + 1)][1:]
            figures = [f(column) * 1_000 for column in zip(*times, strict=True) for f in (min, median)]
            print(f"{name:24} {figures[0]:7.0f} ms {figures[1]:5.0f} ms {figures[2]:7.0f} ms {figures[3]:5.0f} ms")
        print_imports(environment, given.rounds)


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def print_imports(environment: dict[str, str], rounds: int) -> None:
    """Each module's best time by itself, with what it imports in brackets."""
    own: dict[str, int] = {}
    all_in: dict[str, int] = {}
    for _ in range(rounds):
        command = [sys.executable, "-X", "importtime", "-c", "import context_guard"]
        listed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
        for found in LINE.finditer(listed):
            name = found[4]
            own[name] = min(own.get(name, sys.maxsize), int(found[1]))
            all_in[name] = min(all_in.get(name, sys.maxsize), int(found[2]))
    print(f"\nimport context_guard by -X importtime: {all_in['context_guard'] / 1_000:.1f} ms, of which")
    ours = sum(took for name, took in own.items() if name.startswith("context_guard"))
    print(f"  {ours / 1_000:5.1f} ms  our own modules")
    others = sorted((name for name in own if not name.startswith("context_guard")), key=lambda name: -own[name])
    for name in others[:SHOWN]:
        print(f"  {own[name] / 1_000:5.1f} ms  {name} ({all_in[name] / 1_000:.1f})")


def long_session(size: int) -> bytes:
    """The example session over and over, each copy chained to the one before."""
    header, *entries = map(json.loads, EXAMPLE.read_text(encoding="utf-8").splitlines())
    lines, written, parent = [json.dumps(header)], 0, None
    for copy in range(size):
        for entry in entries:
            line = json.dumps({**entry, "id": f"{entry['id']}-{copy}", "parentId": parent}, ensure_ascii=False)
            parent = f"{entry['id']}-{copy}"
            lines.append(line)
            written += len(line.encode()) + 1
            if written >= size:
                return "".join(f"{line}\n" for line in lines).encode()
    return b""


if __name__ == "__main__":
    main()
