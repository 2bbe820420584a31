"""The cases in `tests/cases`; how one is written: `context_guard_effects.testing.cases`."""

import tomllib
from pathlib import Path
from typing import Any

from context_guard.stages import Plan, Settlement
from context_guard.transcript import Transcript
from context_guard_effects.testing import cases

CASES = Path(__file__).resolve().parent / "cases"
SMALL = cases.SMALL


def case_names() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/case.toml"))


def load_case(name: str) -> dict[str, Any]:
    return tomllib.loads((CASES / name / "case.toml").read_text(encoding="utf-8"))


def run_case(name: str) -> tuple[Transcript, Plan, Settlement]:
    return cases.run_case(load_case(name))
